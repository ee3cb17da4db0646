// Operators of whole values and of scalars on the card: cell by cell with broadcasting, scaling, the product.
#include "whole_parts.h"

namespace mica::check {

using spectra::OpCode;

namespace {

/// The product by rank: matrix and vector, rows and columns, batches.
Operand product(Checker &c, Operand a, Operand b, spectra::Place at) {
  const Type *left = a.type, *right = b.type;
  if (left->rank == 1 && right->rank == 1)
    return c.error(at, "a vector times a vector is no product: " + shape(c, left) + " and " + shape(c, right),
                   "Sum(a .* b) is the inner product, a .* b multiplies cell by cell");
  if (!unify_cells(c, {&a, &b}, "*", at)) return Operand{};
  if (!one_place(c, {&a, &b}, "*", at)) return Operand{};
  std::string hint = describe(c, a) + ", " + describe(c, b);
  const int64_t inner = left->sizes.back();
  const size_t rows = right->rank == 1 ? 0 : static_cast<size_t>(right->rank - 2);
  if (right->rank >= 2 && right->sizes[rows] != inner && right->sizes.back() == inner)
    hint += "; Transpose the right one";
  else if (right->sizes[rows] != inner && left->rank >= 2 &&
           left->sizes[left->sizes.size() - 2] == right->sizes[rows])
    hint += "; Transpose the left one";
  else if (left->sizes == right->sizes)
    hint += "; `.*` multiplies cell by cell";
  return make(c,
              {OpCode::product,
               {c.load(a), c.load(b)},
               {},
               nullptr,
               left->tracked || right->tracked,
               std::move(hint)},
              at);
}

/// What the operator takes, as messages say it; null where the operand's type is right.
const char *wants(OpCode code, const Type *t) {
  switch (code) {
  case OpCode::and_:
  case OpCode::or_:
  case OpCode::xor_: return t->is_integer() || t->is_bool() ? nullptr : "integers or bools";
  case OpCode::mod:
  case OpCode::shl:
  case OpCode::shr: return t->is_integer() ? nullptr : "integers";
  default:
    if (is_comparison(code)) return t->is_unicode() ? "numbers or bools" : nullptr;
    return t->is_integer() || t->is_float() ? nullptr : "numbers";
  }
}

} // namespace

Operand check_whole_binary(Checker &c, OpCode code, std::string_view sign, Operand a, Operand b,
                           spectra::Place at) {
  const std::string word(sign);
  for (Operand *o : {&a, &b}) {
    const Type *t = Types::base(o->type);
    if (t->is(Kind::open)) return Operand{};
    if (!t->has_cells())
      return c.error(at, "`" + word + "` has operands of different types: " + c.types.name(a.type) + " and " +
                             c.types.name(b.type));
    if (const char *what = wants(code, t)) {
      std::string hint;
      if (t->is_bool() && !is_comparison(code)) hint = "`as int32` makes numbers of bools";
      return c.error(at, "`" + word + "` needs " + what + ", not " + c.types.name(o->type), hint);
    }
    if (o->type->is(Kind::subrange)) *o = c.convert(std::move(*o), t, word);
    *o = as_value(c, std::move(*o));
    if (o->is_poison()) return *o;
  }
  const bool both_whole = a.type->is_whole() && b.type->is_whole();
  if (sign == "*" && both_whole) return product(c, std::move(a), std::move(b), at);
  if (sign == "/" && b.type->is_whole())
    return c.error(at, "`/` divides by a scalar, not by " + c.types.name(b.type),
                   "`./` divides cell by cell");
  if (sign == "/" && both_whole) return c.error(at, "`/` is for scalars", "`./` divides cell by cell");

  if (code == OpCode::shl || code == OpCode::shr) {
    if (!one_place(c, {&a, &b}, word, at)) return Operand{};
    if (b.is_constant() && b.constant.integer < 0)
      return c.error(b.at, "a shift by " + text_of(b.constant.integer));
    if (b.type->is_whole() && a.type->sizes != b.type->sizes)
      return c.error(at, "`" + word + "` needs one shape or a scalar on the right: " + shape(c, a.type) +
                             " and " + shape(c, b.type));
    a = c.settle(std::move(a));
    b = c.settle(std::move(b));
    if (b.type->gpu && !a.type->gpu) a = to_card(c, std::move(a), at);
    return make(c, {code, {c.load(a), c.load(b)}, {}, nullptr, false, {}}, at);
  }
  if (!one_place(c, {&a, &b}, word, at) || !shapes_fit(c, {&a, &b}, word, at)) return Operand{};
  if (!unify_cells(c, {&a, &b}, word, at)) return Operand{};
  if ((code == OpCode::div || code == OpCode::mod) && b.is_constant() && b.type->is_integer() &&
      b.constant.integer == 0)
    return c.error(at, "division by zero");
  const bool tracked = a.type->tracked || b.type->tracked;
  spectra::Value *left = c.load(a), *right = c.load(b);
  return make(c, {code, {left, right}, {}, nullptr, tracked && !is_comparison(code), {}}, at);
}

Operand check_whole_unary(Checker &c, OpCode code, Operand a, spectra::Place at) {
  const Type *t = a.type;
  if (t->is(Kind::open)) return Operand{};
  if (code == OpCode::neg && !t->is_float() && !t->is_integer())
    return c.error(at, "unary `-` needs numbers, not " + c.types.name(t));
  if (code == OpCode::not_ && !t->is_bool() && !t->is_integer())
    return c.error(at, "`not` needs bools or integers, not " + c.types.name(t));
  return make(c, {code, {c.load(a)}, {}, nullptr, t->tracked, {}}, at);
}

} // namespace mica::check
