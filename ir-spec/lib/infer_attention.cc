// The attention's types: q, k and v, or one operand with their columns side by side; then, where it drops, a
// probability and a draw.
#include "infer.h"

#include <algorithm>

namespace spectra {
namespace {

using Sizes = std::vector<int64_t>;

struct Parts {
  const Type *q = nullptr, *k = nullptr, *v = nullptr; ///< all three the same where they are one operand
  bool packed = false;
  Sizes leading;
  int64_t queries = 0, columns = 0, heads = 0;
};

bool fail(std::string &why, std::string text) {
  why = std::move(text);
  return false;
}

/// Operands from `first` on.
bool take_parts(const Op &op, int first, Parts &parts, std::string &why) {
  const std::string name = info(op.code).name;
  int whole = 0;
  while (first + whole < op.arg_count() && op.arg(first + whole)->type->is_whole()) ++whole;
  int rest = op.arg_count() - first - whole;
  if (whole != 1 && whole != 3)
    return fail(why, name + " needs one whole value, or queries, keys and values, not " +
                         std::to_string(whole) + " whole values");
  if (rest != 0 && (rest != 2 || !op.arg(first + whole)->type->is_scalar() ||
                    op.arg(first + whole)->type->scalar != Scalar::f64 ||
                    op.arg(first + whole + 1)->type->kind != TypeKind::draw))
    return fail(why, name + " needs a probability of type f64 and a draw after its whole values");
  parts.packed = whole == 1;
  parts.q = op.arg(first)->type;
  parts.k = op.arg(first + (parts.packed ? 0 : 1))->type;
  parts.v = op.arg(first + (parts.packed ? 0 : 2))->type;
  for (const Type *t : {parts.q, parts.k, parts.v}) {
    if (!t->is_float()) return fail(why, name + " needs floats, not " + to_source(t));
    if (t->rank() < 2) return fail(why, name + " needs rows, so a matrix or a tensor, not " + to_source(t));
    if (t->scalar != parts.q->scalar)
      return fail(why, name + " needs one cell type: " + to_source(parts.q) + " and " + to_source(t));
    if (t->gpu != parts.q->gpu)
      return fail(why,
                  name + " needs all operands in one place: " + to_source(parts.q) + " and " + to_source(t));
  }
  if (parts.packed && parts.q->columns() % 3 != 0)
    return fail(why, name + " needs queries, keys and values side by side, so columns in threes: " +
                         shape_text(parts.q));
  parts.leading.assign(parts.q->sizes.begin(), parts.q->sizes.end() - 2);
  parts.queries = parts.q->sizes[parts.q->sizes.size() - 2];
  parts.columns = parts.q->columns() / (parts.packed ? 3 : 1);
  if (parts.k->sizes != parts.v->sizes)
    return fail(why, name + " needs as many values as keys: " + shape_text(parts.k) + " and " +
                         shape_text(parts.v));
  if (!std::equal(parts.leading.begin(), parts.leading.end(), parts.k->sizes.begin(),
                  parts.k->sizes.end() - 2) ||
      (!parts.packed && parts.k->columns() != parts.columns))
    return fail(why, name + " needs queries and keys to differ in their rows alone: " + shape_text(parts.q) +
                         " and " + shape_text(parts.k));
  parts.heads = op.integer(Attr::heads, 0);
  if (parts.heads < 1) return fail(why, name + " needs a head at least, not " + std::to_string(parts.heads));
  if (parts.columns % parts.heads != 0)
    return fail(why, std::to_string(parts.heads) + " heads don't divide the " +
                         std::to_string(parts.columns) + " columns" +
                         (parts.packed ? " that queries, keys and values each have in " : " of ") +
                         shape_text(parts.q));
  return true;
}

const Type *answer(Module &module, const Parts &p) {
  Sizes sizes = p.leading;
  sizes.insert(sizes.end(), {p.queries, p.columns});
  return module.types.with_sizes(p.q, sizes);
}

const Type *rows(Module &module, const Parts &p) {
  Sizes sizes = p.leading;
  sizes.insert(sizes.end(), {p.heads, p.queries, 2});
  const Type *type = module.types.with_sizes(p.q, sizes);
  bool half = type->scalar == Scalar::f16 || type->scalar == Scalar::bf16;
  return half ? module.types.with_scalar(type, Scalar::f32) : type;
}

} // namespace

bool infer_attention(Module &module, const Op &op, std::vector<const Type *> &types, std::string &why) {
  Parts p;
  if (!take_parts(op, 0, p, why)) return false;
  types = {answer(module, p), rows(module, p)};
  return true;
}

bool infer_attention_gradient(Module &module, const Op &op, std::vector<const Type *> &types,
                              std::string &why) {
  Parts p;
  if (!take_parts(op, 3, p, why)) return false;
  const Type *wanted[] = {answer(module, p), answer(module, p), rows(module, p)};
  for (int i = 0; i < 3; ++i)
    if (op.arg(i)->type != wanted[i])
      return fail(why, "operand " + std::to_string(i + 1) + " of attention_gradient is " +
                           to_text(op.arg(i)->type) + ", not " + to_text(wanted[i]));
  types = {p.q};
  if (!p.packed) types.insert(types.end(), {p.k, p.v});
  return true;
}

bool attention_run_fits(Module &module, const Op &op, OpCode code, std::string &why) {
  auto is_pointer = [&](size_t i) { return op.operands[i]->type->kind == TypeKind::pointer; };
  const size_t count = op.operands.size(), before = code == OpCode::attention ? 0 : 3;
  size_t pointers = 0;
  for (size_t i = 0; i < count; ++i) pointers += is_pointer(i);
  if (pointers < before + 2) return fail(why, "takes the operands of " + std::string(info(code).name));
  // Two or three pointers belong to one operand and its results, four and more to three.
  size_t inputs = before + (pointers - before < 4 ? 1 : 3);
  if (inputs < count && !is_pointer(inputs)) inputs += 2;
  if (inputs >= count) return fail(why, "its last operands are pointers to the results");
  std::vector<Value> values(inputs);
  Op like = op;
  like.code = code;
  like.operands.clear();
  like.results.clear();
  for (size_t i = 0; i < inputs; ++i) {
    const Type *t = op.operands[i]->type;
    values[i].type = t->kind == TypeKind::pointer ? module.types.untracked(t->element) : t;
    like.operands.push_back(&values[i]);
  }
  std::vector<const Type *> types;
  if (code == OpCode::attention ? !infer_attention(module, like, types, why)
                                : !infer_attention_gradient(module, like, types, why))
    return false;
  if (code == OpCode::attention && count - inputs == 1) types.pop_back();
  if (count - inputs != types.size())
    return fail(why, "has " + std::to_string(count - inputs) + " pointers to its " +
                         std::to_string(types.size()) + " results");
  for (size_t i = 0; i < types.size(); ++i) {
    const Type *t = op.operands[inputs + i]->type;
    if (t->kind != TypeKind::pointer || module.types.untracked(t->element) != types[i])
      return fail(why, "operand " + std::to_string(inputs + i + 1) + " is " + to_text(t) +
                           ", not a pointer to " + to_text(types[i]));
  }
  return true;
}

} // namespace spectra
