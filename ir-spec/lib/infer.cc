// Type rules: one small function a rule of ops.yaml. They serve the verifier (does the text keep the rule?),
// the builder (what does the result look like?) and mica-check's messages (why doesn't it fit?).
#include "infer.h"

#include <algorithm>

namespace spectra {
namespace {

using Sizes = std::vector<int64_t>;

struct Context {
  Module &module;
  const Func *func;
  const Op &op;
  std::vector<const Type *> &types;
  std::string &why;

  TypeTable &table() const { return module.types; }
  const Type *arg(int i) const { return op.arg(i)->type; }
  bool fail(std::string text) const {
    why = std::move(text);
    return false;
  }
  bool one(const Type *type) const {
    types.assign(1, type);
    return true;
  }
  bool fits(const Type *type) const { return type->is_scalar() || type->is_whole(); }
};

bool alike(Context &c, int i, int j) {
  const Type *a = c.arg(i);
  const Type *b = c.arg(j);
  if (!c.fits(a) || !c.fits(b)) return c.fail("needs numbers, not " + to_source(c.fits(a) ? b : a));
  if (a->scalar != b->scalar)
    return c.fail("needs operands of one type: " + to_source(a) + " and " + to_source(b));
  return true;
}

/// The place of a result: on the card where an operand that is a whole value or a device scalar is.
bool broadcast_all(Context &c, int first, const Type *&shape) {
  Sizes sizes;
  bool gpu = false;
  for (int i = first; i < c.op.arg_count(); ++i) {
    const Type *t = c.arg(i);
    gpu |= t->gpu;
    if (!broadcast_sizes(sizes, t->sizes, sizes))
      return c.fail(std::string(info(c.op.code).name) +
                    " needs shapes that fit, one a suffix of the other or stretched from 1: " +
                    shape_text(c.arg(first)) + " and " + shape_text(t));
  }
  Scalar cell = c.arg(first)->scalar;
  shape = sizes.empty() ? c.table().scalar(cell, gpu) : c.table().whole(cell, sizes, gpu);
  return true;
}

bool broadcast(Context &c) {
  for (int i = 1; i < c.op.arg_count(); ++i)
    if (!alike(c, 0, i)) return false;
  const Type *shape = nullptr;
  return broadcast_all(c, 0, shape) && c.one(shape);
}

bool compare(Context &c) {
  if (!alike(c, 0, 1)) return false;
  const Type *shape = nullptr;
  return broadcast_all(c, 0, shape) && c.one(c.table().with_scalar(shape, Scalar::boolean));
}

bool shift(Context &c) {
  if (!c.arg(0)->is_integer() || !c.arg(1)->is_integer())
    return c.fail("a shift needs integers: " + to_source(c.arg(0)) + " and " + to_source(c.arg(1)));
  return c.one(c.arg(0));
}

bool select(Context &c) {
  if (c.arg(1) == c.arg(2) && c.arg(0)->is_scalar() && c.arg(0)->is_bool() && !c.arg(0)->gpu)
    return c.one(c.arg(1));
  if (!c.arg(0)->is_bool()) return c.fail("needs a bool first, not " + to_source(c.arg(0)));
  if (!alike(c, 1, 2)) return false;
  Sizes sizes;
  bool gpu = false;
  for (int i = 0; i < 3; ++i) {
    gpu |= c.arg(i)->gpu;
    if (!broadcast_sizes(sizes, c.arg(i)->sizes, sizes))
      return c.fail("select needs shapes that fit: " + shape_text(c.arg(0)) + ", " + shape_text(c.arg(1)) +
                    " and " + shape_text(c.arg(2)));
  }
  Scalar cell = c.arg(1)->scalar;
  return c.one(sizes.empty() ? c.table().scalar(cell, gpu) : c.table().whole(cell, sizes, gpu));
}

bool given(Context &c, const char *what) {
  if (c.types.size() == 1 && c.types[0]) return true;
  return c.fail(std::string(info(c.op.code).name) + " needs its " + what + " stated");
}

bool same_shape(Context &c) {
  if (!given(c, "type")) return false;
  const Type *from = c.arg(0);
  const Type *to = c.types[0];
  if (!c.fits(from) || !c.fits(to) || from->sizes != to->sizes || from->gpu != to->gpu)
    return c.fail("cast keeps the shape and the place: " + to_text(from) + " and " + to_text(to));
  return true;
}

bool whole_arg(Context &c, int i, int rank_at_least = 1) {
  if (c.arg(i)->is_whole() && c.arg(i)->rank() >= rank_at_least) return true;
  return c.fail(std::string(info(c.op.code).name) + " needs " +
                (rank_at_least > 1 ? "a matrix or a tensor" : "a vector, a matrix or a tensor") + ", not " +
                to_source(c.arg(i)));
}

bool integer_arg(Context &c, int i) {
  if (c.arg(i)->is_integer()) return true;
  return c.fail(std::string(info(c.op.code).name) + " needs integers, not " + to_source(c.arg(i)));
}

bool product(Context &c) {
  const Type *a = c.arg(0);
  const Type *b = c.arg(1);
  if (!whole_arg(c, 0) || !whole_arg(c, 1)) return false;
  if (a->scalar != b->scalar)
    return c.fail("product needs one cell type: " + to_source(a) + " and " + to_source(b));
  if (a->is_bool()) return c.fail("product needs numbers, not " + to_source(a));
  if (a->gpu != b->gpu)
    return c.fail("product needs both operands in one place: " + to_source(a) + " and " + to_source(b));
  Sizes as = a->sizes;
  Sizes bs = b->sizes;
  const bool row = as.size() == 1;
  const bool column = bs.size() == 1;
  if (row && column) return c.fail("a vector times a vector is no product");
  if (row) as.insert(as.begin(), 1);
  if (column) bs.push_back(1);
  if (c.op.flag(Attr::transpose_a)) std::swap(as[as.size() - 1], as[as.size() - 2]);
  if (c.op.flag(Attr::transpose_b)) std::swap(bs[bs.size() - 1], bs[bs.size() - 2]);
  if (as.back() != bs[bs.size() - 2])
    return c.fail("product needs inner sizes to agree: " + std::to_string(as.back()) + " and " +
                  std::to_string(bs[bs.size() - 2]));
  Sizes result(as.begin(), as.end() - 1);
  if (bs.size() > 2) { // batches: the same leading sizes on both sides
    if (bs.size() != as.size() || !std::equal(as.begin(), as.end() - 2, bs.begin()))
      return c.fail("product needs the leading sizes to agree: " + shape_text(a) + " and " + shape_text(b));
  }
  result.push_back(bs.back());
  if (row) result.erase(result.end() - 2);
  if (column) result.pop_back();
  return c.one(c.table().with_sizes(a, result));
}

bool reshape(Context &c) {
  if (!given(c, "shape")) return false;
  if (!c.fits(c.arg(0)) || !c.fits(c.types[0]) || c.arg(0)->cells() != c.types[0]->cells())
    return c.fail("reshape keeps the number of cells: " + shape_text(c.arg(0)) + " and " +
                  shape_text(c.types[0]));
  if (c.arg(0)->scalar != c.types[0]->scalar || c.arg(0)->gpu != c.types[0]->gpu)
    return c.fail("reshape keeps type and place: " + to_text(c.arg(0)) + " and " + to_text(c.types[0]));
  return true;
}

bool permute(Context &c) {
  const std::vector<int64_t> *order = c.op.integers(Attr::order);
  const Sizes &from = c.arg(0)->sizes;
  if (!whole_arg(c, 0)) return false;
  Sizes sorted = order ? *order : Sizes();
  std::sort(sorted.begin(), sorted.end());
  bool good = order && order->size() == from.size();
  for (size_t i = 0; good && i < sorted.size(); ++i) good = sorted[i] == static_cast<int64_t>(i);
  if (!good) return c.fail("permute needs every dimension of " + shape_text(c.arg(0)) + " once");
  Sizes result;
  for (int64_t d : *order) result.push_back(from[static_cast<size_t>(d)]);
  return c.one(c.table().with_sizes(c.arg(0), result));
}

bool concat(Context &c) {
  Sizes result;
  for (int i = 0; i < c.op.arg_count(); ++i) {
    if (!whole_arg(c, i)) return false;
    Sizes sizes = c.arg(i)->sizes;
    if (i == 0) {
      result = sizes;
      continue;
    }
    if (c.arg(i)->scalar != c.arg(0)->scalar || sizes.size() != result.size() ||
        !std::equal(sizes.begin(), sizes.end() - 1, result.begin()))
      return c.fail("concat needs all but the last sizes to agree: " + shape_text(c.arg(0)) + " and " +
                    shape_text(c.arg(i)));
    result.back() += sizes.back();
  }
  return c.one(c.table().with_sizes(c.arg(0), result));
}

bool slice(Context &c, bool first_dimension) {
  if (!whole_arg(c, 0) || !integer_arg(c, 1)) return false;
  Sizes sizes = c.arg(0)->sizes;
  int64_t count = c.op.integer(Attr::count, -1);
  int64_t &size = first_dimension ? sizes.front() : sizes.back();
  if (count < 0 || count > size)
    return c.fail("a slice of " + std::to_string(count) + " doesn't fit into " + shape_text(c.arg(0)));
  size = count;
  return c.one(c.table().with_sizes(c.arg(0), sizes));
}

bool cell(Context &c, bool whole_row) {
  if (!whole_arg(c, 0)) return false;
  size_t indices = static_cast<size_t>(c.op.arg_count() - 1);
  if (!whole_row && indices != c.arg(0)->sizes.size())
    return c.fail(shape_text(c.arg(0)) + " has " + std::to_string(c.arg(0)->sizes.size()) + " indices, not " +
                  std::to_string(indices));
  for (size_t i = 1; i <= indices; ++i)
    if (!integer_arg(c, static_cast<int>(i))) return false;
  const Sizes &sizes = c.arg(0)->sizes;
  return c.one(
      c.table().with_sizes(c.arg(0), Sizes(sizes.begin() + static_cast<long>(indices), sizes.end())));
}

bool gather(Context &c) {
  if (!whole_arg(c, 0) || !integer_arg(c, 1)) return false;
  if (c.arg(0)->rank() != 2) return c.fail("gather needs a matrix as its table, not " + to_source(c.arg(0)));
  Sizes sizes = c.arg(1)->sizes;
  sizes.push_back(c.arg(0)->columns());
  return c.one(c.table().with_sizes(c.arg(0), sizes));
}

bool rows_match(Context &c, const Type *rows, const Type *numbers) {
  Sizes leading(rows->sizes.begin(), rows->sizes.end() - 1);
  if (leading == numbers->sizes) return true;
  return c.fail(std::string(info(c.op.code).name) + " needs one number a row: " + shape_text(rows) + " and " +
                shape_text(numbers));
}

bool row_pick(Context &c) {
  if (!whole_arg(c, 0) || !integer_arg(c, 1) || !rows_match(c, c.arg(0), c.arg(1))) return false;
  return c.one(c.table().with_sizes(c.arg(0), c.arg(1)->sizes));
}

/// x, then a vector of its columns each, then one number.
bool norm(Context &c) {
  if (!whole_arg(c, 0)) return false;
  const Type *x = c.arg(0);
  int last = c.op.arg_count() - 1;
  for (int i = 0; i < last; ++i) {
    if (!c.arg(i)->is_float()) return c.fail("a normalization works on floats, not " + to_source(c.arg(i)));
    if (i && c.arg(i)->sizes != Sizes{x->columns()})
      return c.fail("a normalization needs a vector of a cell for each column: " + shape_text(x) + " and " +
                    shape_text(c.arg(i)));
    if (c.arg(i)->gpu != x->gpu) return c.fail("operands live on the host and on the card");
  }
  if (!c.arg(last)->is_scalar()) return c.fail("an epsilon is one number, not " + to_source(c.arg(last)));
  return c.one(x);
}

bool loss(Context &c) {
  if (!whole_arg(c, 0) || !integer_arg(c, 1) || !rows_match(c, c.arg(0), c.arg(1))) return false;
  if (!c.arg(0)->is_float()) return c.fail("cross_entropy needs float logits, not " + to_source(c.arg(0)));
  // The loss of half logits is float32.
  const Type *one = c.table().with_sizes(c.arg(0), {});
  bool half = one->scalar == Scalar::f16 || one->scalar == Scalar::bf16;
  return c.one(half ? c.table().with_scalar(one, Scalar::f32) : one);
}

bool all_cells(Context &c) {
  if (!whole_arg(c, 0)) return false;
  return c.one(c.table().with_sizes(c.arg(0), {}));
}

bool rows_keep(Context &c) {
  if (!whole_arg(c, 0)) return false;
  Sizes sizes = c.arg(0)->sizes;
  sizes.back() = 1;
  return c.one(c.table().with_sizes(c.arg(0), sizes));
}

bool row_arg(Context &c) {
  if (!whole_arg(c, 0)) return false;
  Sizes sizes = c.arg(0)->sizes;
  sizes.pop_back();
  return c.one(c.table().with_scalar(c.table().with_sizes(c.arg(0), sizes), Scalar::i32));
}

bool broadcast_to(Context &c) {
  Sizes sizes;
  if (!given(c, "shape")) return false;
  if (!c.fits(c.arg(0)) || c.arg(0)->scalar != c.types[0]->scalar ||
      !broadcast_sizes(c.arg(0)->sizes, c.types[0]->sizes, sizes) || sizes != c.types[0]->sizes)
    return c.fail("broadcast can't stretch " + to_text(c.arg(0)) + " to " + to_text(c.types[0]));
  return true;
}

bool sum_to(Context &c) {
  Sizes sizes;
  if (!given(c, "shape")) return false;
  if (!c.fits(c.arg(0)) || c.arg(0)->scalar != c.types[0]->scalar ||
      !broadcast_sizes(c.types[0]->sizes, c.arg(0)->sizes, sizes) || sizes != c.arg(0)->sizes)
    return c.fail("sum_to can't sum " + to_text(c.arg(0)) + " to " + to_text(c.types[0]));
  return true;
}

bool path_value(Context &c, bool pointer) {
  const Type *type = path_type(c.module, c.func, c.op, &c.why);
  if (!type) return false;
  if (pointer) return c.one(c.table().pointer(type));
  if (type->kind == TypeKind::record || type->kind == TypeKind::array)
    return c.fail("a " + to_text(type) + " is reached by its address, not read as a value");
  return c.one(c.table().untracked(type));
}

bool path_store(Context &c) {
  const Type *type = path_type(c.module, c.func, c.op, &c.why);
  if (!type) return false;
  if (c.table().untracked(type) != c.arg(0))
    return c.fail("the place has type " + to_text(type) + ", the value " + to_text(c.arg(0)));
  c.types.clear();
  return true;
}

bool call(Context &c) {
  const Func *callee = c.module.find_func(c.op.symbol);
  if (!callee) return c.fail("no function @" + std::string(c.op.symbol));
  if (callee->body->args.size() != c.op.operands.size())
    return c.fail("@" + std::string(c.op.symbol) + " takes " + std::to_string(callee->body->args.size()) +
                  " operands, not " + std::to_string(c.op.operands.size()));
  for (size_t i = 0; i < c.op.operands.size(); ++i)
    if (callee->body->args[i]->type != c.op.operands[i]->type)
      return c.fail("operand " + std::to_string(i + 1) + " of @" + std::string(c.op.symbol) + " is " +
                    to_text(callee->body->args[i]->type) + ", not " + to_text(c.op.operands[i]->type));
  c.types.clear();
  if (callee->result) c.types.push_back(callee->result);
  return true;
}

bool call_value(Context &c) {
  const Type *f = c.arg(0);
  if (f->kind != TypeKind::function) return c.fail("call_value needs a procedure value, not " + to_text(f));
  if (f->parameters.size() + 1 != c.op.operands.size())
    return c.fail("takes " + std::to_string(f->parameters.size()) + " operands");
  for (size_t i = 0; i < f->parameters.size(); ++i)
    if (f->parameters[i] != c.arg(static_cast<int>(i) + 1))
      return c.fail("operand " + std::to_string(i + 1) + " is " + to_text(f->parameters[i]) + ", not " +
                    to_text(c.arg(static_cast<int>(i) + 1)));
  c.types.clear();
  if (f->element) c.types.push_back(f->element);
  return true;
}

bool closure(Context &c) {
  const Func *callee = c.module.find_func(c.op.symbol);
  if (!callee) return c.fail("no function @" + std::string(c.op.symbol));
  std::vector<const Type *> parameters;
  size_t hidden = c.op.operands.size();
  for (size_t i = hidden; i < callee->body->args.size(); ++i)
    parameters.push_back(callee->body->args[i]->type);
  return c.one(c.table().function(parameters, callee->result));
}

bool launch(Context &c) {
  const Kernel *kernel = c.module.find_kernel(c.op.symbol);
  if (!kernel) return c.fail("no kernel @" + std::string(c.op.symbol));
  c.types.clear();
  if (kernel->form == KernelForm::multi) return true;
  size_t count = kernel->params.size() + kernel->results.size();
  if (c.op.operands.size() != count)
    return c.fail("@" + std::string(kernel->name) + " takes " + std::to_string(count) + " operands, not " +
                  std::to_string(c.op.operands.size()));
  for (size_t i = 0; i < count; ++i) {
    const Type *want =
        i < kernel->params.size() ? kernel->params[i] : kernel->results[i - kernel->params.size()];
    const Type *got = c.op.operands[i]->type;
    bool scalar = i < kernel->params.size() && (want->is_scalar() || want->kind == TypeKind::draw);
    if (scalar && got == want) continue;
    if (got->kind == TypeKind::pointer && c.table().untracked(got->element) == want) continue;
    return c.fail("operand " + std::to_string(i + 1) + " of @" + std::string(kernel->name) + " is " +
                  to_text(got) + ", not " + (scalar ? "" : "a pointer to ") + to_text(want));
  }
  return true;
}

} // namespace

bool infer_types(Module &module, const Func *func, const Op &op, std::vector<const Type *> &types,
                 std::string &why) {
  Context c{module, func, op, types, why};
  TypeTable &table = module.types;
  switch (info(op.code).rule) {
  case TypeRule::explicit_: return true;
  case TypeRule::none: types.clear(); return true;
  case TypeRule::same: return c.one(c.arg(0));
  case TypeRule::second: return c.one(c.arg(1));
  case TypeRule::broadcast: return broadcast(c);
  case TypeRule::compare: return compare(c);
  case TypeRule::shift: return shift(c);
  case TypeRule::select: return select(c);
  case TypeRule::cast: return same_shape(c);
  case TypeRule::finite: return c.one(table.with_scalar(c.arg(0), Scalar::boolean));
  case TypeRule::path_value: return path_value(c, false);
  case TypeRule::path_pointer: return path_value(c, true);
  case TypeRule::path_store: return path_store(c);
  case TypeRule::i64: return c.one(table.scalar(Scalar::i64));
  case TypeRule::i32: return c.one(table.scalar(Scalar::i32));
  case TypeRule::f64: return c.one(table.scalar(Scalar::f64));
  case TypeRule::bool_: return c.one(table.scalar(Scalar::boolean));
  case TypeRule::unicode: return c.one(table.scalar(Scalar::unicode));
  case TypeRule::string: return c.one(table.string());
  case TypeRule::draw: return c.one(table.draw());
  case TypeRule::frame: return c.one(table.frame());
  case TypeRule::slice_u8: return c.one(table.slice(table.scalar(Scalar::u8)));
  case TypeRule::slice_u16: return c.one(table.slice(table.scalar(Scalar::u16)));
  case TypeRule::regions: return true;
  case TypeRule::loop: return true;
  case TypeRule::call: return call(c);
  case TypeRule::call_value: return call_value(c);
  case TypeRule::closure: return closure(c);
  case TypeRule::launch: return launch(c);
  case TypeRule::filled:
    if (!given(c, "shape")) return false;
    if (!c.arg(0)->is_scalar() || c.arg(0)->scalar != c.types[0]->scalar)
      return c.fail("filled needs a scalar of the cell's type: " + to_text(c.arg(0)) + " and " +
                    to_text(c.types[0]));
    return true;
  case TypeRule::broadcast_to: return broadcast_to(c);
  case TypeRule::sum_to: return sum_to(c);
  case TypeRule::reshape: return reshape(c);
  case TypeRule::transpose: {
    if (!whole_arg(c, 0, 2)) return false;
    Sizes sizes = c.arg(0)->sizes;
    std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    return c.one(table.with_sizes(c.arg(0), sizes));
  }
  case TypeRule::permute: return permute(c);
  case TypeRule::concat: return concat(c);
  case TypeRule::slice: return slice(c, false);
  case TypeRule::slice_rows: return slice(c, true);
  case TypeRule::row: return cell(c, true);
  case TypeRule::cell: return cell(c, false);
  case TypeRule::product: return product(c);
  case TypeRule::gather: return gather(c);
  case TypeRule::row_pick: return row_pick(c);
  case TypeRule::loss: return loss(c);
  case TypeRule::norm: return norm(c);
  case TypeRule::attention: return infer_attention(module, op, types, why);
  case TypeRule::attention_gradient: return infer_attention_gradient(module, op, types, why);
  case TypeRule::all: return all_cells(c);
  case TypeRule::arg_all: return whole_arg(c, 0) && c.one(table.scalar(Scalar::i32, c.arg(0)->gpu));
  case TypeRule::rows_keep: return rows_keep(c);
  case TypeRule::row_arg: return row_arg(c);
  case TypeRule::columns: return whole_arg(c, 0) && c.one(table.with_sizes(c.arg(0), {c.arg(0)->columns()}));
  case TypeRule::to_host: {
    Type host = *c.arg(0);
    return c.one(host.is_whole() ? table.whole(host.scalar, host.sizes) : table.scalar(host.scalar));
  }
  case TypeRule::to_gpu: {
    Type host = *c.arg(0);
    return c.one(host.is_whole() ? table.whole(host.scalar, host.sizes, true)
                                 : table.scalar(host.scalar, true));
  }
  }
  return true;
}

} // namespace spectra
