// Across the border of the card, the end of a gradient, and sizes as constants.
#include "whole_parts.h"

namespace mica::check {

using spectra::OpCode;

Operand check_across(Checker &c, Verb verb, const Node &call) {
  const spectra::Place at = call.first->place;
  Operand x = value_of(c, argument(call, 1));
  if (x.is_poison() || x.type->is(Kind::open)) return Operand{};
  const Type *t = Types::base(x.type);
  if (!t->has_cells() || t->is_unicode())
    return c.error(argument(call, 1).place,
                   purpose_of(verb, 1) + " needs a number or a whole value, not " + c.types.name(x.type),
                   t->is_aggregate() ? "name its tensors one by one" : "");
  if (x.type->is(Kind::subrange)) x = c.convert(std::move(x), t, verb_name(verb));
  if (verb == Verb::ToHost) return to_host(c, std::move(x), at);
  if (verb == Verb::ToGpu) return to_card(c, std::move(x), at);
  if (x.is_constant()) return x;
  if (!x.type->tracked) return x;
  return make(c, {OpCode::detach, {x.value}, {}, nullptr, false, {}}, at);
}

Operand check_sizes(Checker &c, Verb verb, const Node &call) {
  const Type *type = c.type_of_expression(argument(call, 1));
  if (type->is_poison() || type->is(Kind::open)) return Operand{};
  if (!type->is_whole())
    return c.error(argument(call, 1).place,
                   purpose_of(verb, 1) + " needs a vector, a matrix or a tensor, not " + c.types.name(type),
                   "Length(x) is for arrays and strings");
  const spectra::Type *lowered = c.types.lower(type);
  Constant size;
  size.adapts = true;
  if (verb == Verb::Rows) {
    size.integer = lowered->rows();
  } else if (verb == Verb::Columns) {
    size.integer = lowered->columns();
  } else {
    __int128 d = 0;
    if (!c.constant_integer(argument(call, 2), "argument 2 of `Size`", d)) return Operand{};
    if (d < 0 || d >= type->rank)
      return c.error(argument(call, 2).place,
                     "`Size` of dimension " + text_of(d) + ", and " + shape(c, type) + " has " +
                         std::to_string(type->rank),
                     "dimensions count from 0");
    size.integer = type->sizes[static_cast<size_t>(d)];
  }
  size.type = type_of_integer(c.types, size.integer);
  return c.constant_operand(std::move(size), call.first->place);
}

} // namespace mica::check
