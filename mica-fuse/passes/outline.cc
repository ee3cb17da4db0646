#include "outline.h"

#include "spectra/text.h"

#include <algorithm>
#include <numeric>

namespace mica::fuse {
namespace {

using spectra::Attr;
using spectra::Kernel;
using spectra::KernelForm;

bool on_card(const spectra::List<const Type *> &types) {
  return std::any_of(types.begin(), types.end(), [](const Type *t) { return t->gpu; });
}

} // namespace

Kernel *Outliner::begin(const Op &op, KernelForm form, const char *verb) {
  Kernel *kernel = module_.new_kernel(module_.keep("k" + std::to_string(count_) + "_" + verb));
  kernel->form = form;
  kernel->places.assign(op.places.begin(), op.places.end());
  return kernel;
}

Value *Outliner::parameter(Kernel *kernel, const Type *full, const Type *item, std::string_view name) {
  Value *v = module_.new_value(item, name);
  v->region = kernel->body;
  kernel->params.push_back(full);
  kernel->body->args.push_back(v);
  return v;
}

/// The kernel itself, or an earlier one with the same text, whose places then stand for both.
Kernel *Outliner::finish(Kernel *kernel) {
  kernel->gpu |= on_card(kernel->results);
  spectra::unique_names(module_, *kernel->body);
  spectra::Module alone;
  alone.level = spectra::Level::fused;
  alone.name = "k";
  // The printer shows what it is given; a borrowed pointer in a module of its own prints just this kernel.
  spectra::Kernel copy = *kernel;
  copy.name = "k";
  copy.places.clear();
  alone.kernels.push_back(&copy);
  std::vector<std::pair<Op *, std::vector<spectra::Place>>> places;
  for (Op *op : kernel->body->ops) {
    places.emplace_back(op, std::vector<spectra::Place>(op->places.begin(), op->places.end()));
    op->places.clear();
  }
  std::string text = spectra::print_module(alone);
  for (auto &[op, list] : places) op->places.assign(list.begin(), list.end());
  auto [it, fresh] = known_.emplace(std::move(text), kernel);
  if (fresh) {
    ++count_;
    return kernel;
  }
  std::erase(module_.kernels, kernel);
  return it->second;
}

Outlined Outliner::outline(const Node &node, const std::function<bool(const Value *)> &needed) {
  bool rows = node.kind == Node::Kind::rows;
  const Op *name_giver = node.ops.back();
  for (const Op *op : node.ops) // a row operation says best what the kernel is
    if (is_row_work(*op)) name_giver = op;
  Outlined out;
  Kernel *kernel =
      begin(*name_giver, rows ? KernelForm::rows : KernelForm::map, spectra::info(name_giver->code).name);
  kernel->space = node.space;
  kernel->places.clear();
  std::map<const Value *, Value *> inside;
  std::map<std::pair<const Value *, const Type *>, Value *> parameters;
  spectra::Builder build(module_, kernel->body);
  spectra::TypeTable &types = module_.types;

  auto item_of = [&](const Type *type, Level at) -> const Type * {
    if (!rows || at == Level::scalar) return types.scalar(type->scalar);
    return types.whole(type->scalar, {type->sizes.back()});
  };
  auto pass = [&](Value *v, const Type *item) {
    Value *&p = parameters[{v, item}];
    if (!p) {
      p = parameter(kernel, v->type, item, v->name);
      out.inputs.push_back(v);
    }
    return p;
  };
  // A constant, or a scalar of the card that depends on nothing there, is computed where it is used.
  std::function<Value *(Value *)> take_in = [&](Value *v) -> Value * {
    if (auto it = inside.find(v); it != inside.end()) return it->second;
    if (!is_constant(v) && !is_uniform(v)) return pass(v, types.scalar(v->type->scalar));
    Op *copy = module_.new_op(v->def->code);
    for (const spectra::Attribute &a : v->def->attributes) copy->attributes.push_back(a);
    for (Value *operand : v->def->operands) copy->operands.push_back(take_in(operand));
    kernel->body->ops.push_back(copy);
    Value *result =
        module_.new_value(v->type->is_scalar() ? types.scalar(v->type->scalar) : v->type, v->name);
    result->def = copy;
    copy->results.push_back(result);
    return inside[v] = result;
  };
  for (const Op *op : node.ops) {
    Level at = rows ? level_of(op->result()->type->sizes, node.space, node.length) : Level::none;
    for (spectra::Place p : op->places)
      if (std::find(kernel->places.begin(), kernel->places.end(), p) == kernel->places.end())
        kernel->places.push_back(p);
    Op *copy = module_.new_op(op->code);
    copy->places.assign(op->places.begin(), op->places.end());
    for (const spectra::Attribute &a : op->attributes) copy->attributes.push_back(a);
    // A cell knows its row and column from its place among all cells and this.
    if (op->code == OpCode::dropout) copy->set(Attr::columns, op->result()->type->columns());
    for (size_t i = 0; i < op->operands.size(); ++i) {
      Value *v = op->operands[i];
      if (auto it = inside.find(v); it != inside.end()) {
        copy->operands.push_back(it->second);
        continue;
      }
      if (is_constant(v) || is_uniform(v)) { // travel into the kernel, where they fold
        copy->operands.push_back(take_in(v));
        continue;
      }
      const Type *item = v->type;
      if (v->type->is_whole()) {
        Level seen = at;
        bool numbers = (op->code == OpCode::row_pick || op->code == OpCode::row_put) && i == 1;
        if (is_row_work(*op))
          seen = numbers || (op->code == OpCode::row_put && i == 0) ? Level::scalar : Level::row;
        item = item_of(v->type, seen);
      } else if (v->type->is_scalar()) {
        item = types.scalar(v->type->scalar);
      }
      copy->operands.push_back(pass(v, item));
    }
    kernel->body->ops.push_back(copy);
    Value *result = module_.new_value(item_of(op->result()->type, at), op->result()->name);
    result->def = copy;
    copy->results.push_back(result);
    inside[op->result()] = result;
    if (needed(op->result())) out.outputs.push_back(op->result());
  }
  Op *yield = build.append(OpCode::yield);
  yield->places.clear();
  for (Value *v : out.outputs) {
    yield->operands.push_back(inside[v]);
    kernel->results.push_back(v->type);
  }
  out.kernel = finish(kernel);
  return out;
}

Kernel *Outliner::reduce(const Op &op, const Type *from, const Type *result, const char *kind,
                         const std::vector<int64_t> &over) {
  Kernel *kernel = begin(op, KernelForm::reduce, spectra::info(op.code).name);
  kernel->space = from->sizes;
  kernel->attributes.push_back({Attr::kind, std::string(kind)});
  kernel->attributes.push_back({Attr::over, over});
  Value *x = parameter(kernel, from, module_.types.scalar(from->scalar), "x");
  spectra::Builder build(module_, kernel->body);
  build.append(OpCode::yield)->operands.push_back(x);
  kernel->results.push_back(result);
  return finish(kernel);
}

Kernel *Outliner::count_from_zero(const Op &op) {
  const Type *from = op.arg(0)->type;
  Kernel *kernel = begin(op, KernelForm::reduce, "count");
  kernel->space = from->sizes;
  std::vector<int64_t> over(from->sizes.size());
  std::iota(over.begin(), over.end(), 0);
  kernel->attributes.push_back({Attr::kind, std::string("sum")});
  kernel->attributes.push_back({Attr::over, over});
  Value *x = parameter(kernel, from, module_.types.scalar(from->scalar), "t");
  spectra::Builder build(module_, kernel->body);
  Value *zero = build.constant(x->type, 0, "zero");
  Value *counts = build.make(OpCode::ge, {x, zero});
  Value *one = build.make_typed(OpCode::cast, {counts}, module_.types.scalar(op.result()->type->scalar));
  build.append(OpCode::yield)->operands.push_back(one);
  kernel->results.push_back(op.result()->type);
  return finish(kernel);
}

Kernel *Outliner::product(const Op &op) {
  const Type *a = op.arg(0)->type;
  const Type *b = op.arg(1)->type;
  Kernel *kernel = begin(op, KernelForm::product, "product");
  kernel->space = op.result()->type->sizes;
  bool transposed = op.flag(Attr::transpose_a);
  int64_t k = transposed && a->rank() > 1 ? a->sizes[a->sizes.size() - 2] : a->sizes.back();
  kernel->attributes.push_back({Attr::k, k});
  for (Attr flag : {Attr::transpose_a, Attr::transpose_b})
    if (op.flag(flag)) kernel->attributes.push_back({flag, true});
  parameter(kernel, a, a, "a");
  parameter(kernel, b, b, "b");
  Value *acc = module_.new_value(module_.types.scalar(op.result()->type->scalar), "z");
  acc->region = kernel->body;
  kernel->body->args.push_back(acc);
  spectra::Builder build(module_, kernel->body);
  build.append(OpCode::yield)->operands.push_back(acc);
  kernel->results.push_back(op.result()->type);
  return finish(kernel);
}

Kernel *
Outliner::scalar(const Op &op, const std::vector<const Type *> &params, const Type *result,
                 const std::function<Value *(spectra::Builder &, const std::vector<Value *> &)> &body) {
  Kernel *kernel = begin(op, KernelForm::map, spectra::info(op.code).name);
  std::vector<Value *> arguments;
  for (const Type *type : params)
    arguments.push_back(parameter(kernel, type, module_.types.scalar(type->scalar), "s"));
  spectra::Builder build(module_, kernel->body);
  Value *answer = body(build, arguments);
  build.append(OpCode::yield)->operands.push_back(answer);
  kernel->results.push_back(result);
  return finish(kernel);
}

Kernel *Outliner::multi(
    const Op &op, const Type *cell, bool gpu, const std::vector<const Type *> &scalars, int members,
    std::vector<int64_t> writes,
    const std::function<std::vector<Value *>(spectra::Builder &, const std::vector<Value *> &)> &body) {
  Kernel *kernel = begin(op, KernelForm::multi, spectra::info(op.code).name);
  kernel->gpu = gpu;
  kernel->attributes.push_back({Attr::scalars, static_cast<int64_t>(scalars.size())});
  kernel->attributes.push_back({Attr::writes, std::move(writes)});
  std::vector<Value *> arguments;
  for (const Type *type : scalars)
    arguments.push_back(parameter(kernel, type, module_.types.scalar(type->scalar), "s"));
  for (int i = 0; i < members; ++i) arguments.push_back(parameter(kernel, cell, cell, "x"));
  spectra::Builder build(module_, kernel->body);
  for (Value *&s : arguments)
    if (s->type != cell) s = build.make_typed(OpCode::cast, {s}, cell);
  build.set_place(op.place());
  std::vector<Value *> results = body(build, arguments);
  build.set_place({});
  Op *yield = build.append(OpCode::yield);
  yield->operands.assign(results.begin(), results.end());
  return finish(kernel);
}

} // namespace mica::fuse
