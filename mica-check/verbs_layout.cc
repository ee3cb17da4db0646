// Layout: Reshape, Transpose, Permute, Concat, Slice, SliceRows.
#include "whole_parts.h"

namespace mica::check {

using spectra::Attr;
using spectra::OpCode;

namespace {

/// An argument that must be a whole value.
Operand whole_argument(Checker &c, Verb verb, const Node &call, uint32_t i) {
  Operand x = value_of(c, argument(call, i));
  if (x.is_poison() || x.type->is_whole()) return x;
  if (x.type->is(Kind::open)) return Operand{};
  return c.error(argument(call, i).place,
                 purpose_of(verb, i) + " needs a vector, a matrix or a tensor, not " + c.types.name(x.type));
}

Operand reshape(Checker &c, const Node &call, const Type *expected) {
  const spectra::Place at = call.first->place;
  Operand x = whole_argument(c, Verb::Reshape, call, 1);
  if (x.is_poison()) return x;
  if (!expected || !expected->is_whole()) {
    if (expected && expected->is_poison()) return Operand{};
    return c.error(at,
                   "`Reshape` takes its shape from its target, and " +
                       (expected ? c.types.name(expected) + " has none" : std::string("there is none here")),
                   "assign it to a variable first");
  }
  const Type *to = c.types.whole(x.type->scalar, expected->sizes, x.type->gpu);
  if (c.types.lower(to)->cells() != c.types.lower(x.type)->cells())
    return c.error(at, "`Reshape` keeps the number of cells: " + shape(c, x.type) + " has " +
                           std::to_string(c.types.lower(x.type)->cells()) + ", " + shape(c, to) + " has " +
                           std::to_string(c.types.lower(to)->cells()));
  return make(c, {OpCode::reshape, {x.value}, {}, to, x.type->tracked, {}}, at);
}

Operand permute(Checker &c, const Node &call) {
  Operand x = whole_argument(c, Verb::Permute, call, 1);
  std::vector<int64_t> order;
  bool right = true;
  for (uint32_t i = 2; i < call.count; ++i) {
    __int128 d = 0;
    right = c.constant_integer(argument(call, i), purpose_of(Verb::Permute, i), d) && right;
    order.push_back(static_cast<int64_t>(std::min<__int128>(std::max<__int128>(d, -1), 1 << 20)));
  }
  if (x.is_poison() || !right) return Operand{};
  const spectra::Place at = call.first->place;
  std::vector<bool> seen(static_cast<size_t>(x.type->rank));
  bool fits = order.size() == seen.size();
  for (int64_t d : order) {
    fits = fits && d >= 0 && d < x.type->rank && !seen[static_cast<size_t>(d)];
    if (fits) seen[static_cast<size_t>(d)] = true;
  }
  if (!fits)
    return c.error(at, "`Permute` names every dimension of " + shape(c, x.type) + " once",
                   "dimensions count from 0 to " + std::to_string(x.type->rank - 1));
  return make(c, {OpCode::permute, {x.value}, {{Attr::order, order}}, nullptr, x.type->tracked, {}}, at);
}

Operand concat(Checker &c, const Node &call) {
  std::vector<Operand> parts;
  for (uint32_t i = 1; i < call.count; ++i) parts.push_back(whole_argument(c, Verb::Concat, call, i));
  for (const Operand &part : parts)
    if (part.is_poison()) return Operand{};
  const spectra::Place at = call.first->place;
  std::vector<Operand *> all;
  std::vector<const Operand *> view;
  for (Operand &part : parts) {
    all.push_back(&part);
    view.push_back(&part);
  }
  if (!one_place(c, view, "Concat", at) || !unify_cells(c, all, "Concat", at)) return Operand{};
  std::vector<spectra::Value *> values;
  bool tracked = false;
  const Type *first = parts[0].type;
  for (const Operand &part : parts) {
    const Type *t = part.type;
    if (t->rank != first->rank || !std::equal(t->sizes.begin(), t->sizes.end() - 1, first->sizes.begin()))
      return c.error(at, "`Concat` needs all sizes but the last to agree: " + shape(c, first) + " and " +
                             shape(c, t));
    tracked = tracked || t->tracked;
    values.push_back(part.value);
  }
  return make(c, {OpCode::concat, values, {}, nullptr, tracked, {}}, at);
}

Operand slice(Checker &c, Verb verb, const Node &call) {
  Operand x = whole_argument(c, verb, call, 1);
  Operand from = value_of(c, argument(call, 2));
  __int128 count = 0;
  const bool counted = c.constant_integer(argument(call, 3), purpose_of(verb, 3), count);
  if (x.is_poison() || from.is_poison() || !counted) return Operand{};
  const spectra::Place at = call.first->place;
  const Type *t = Types::base(from.type);
  if (!t->is_host_scalar() || !t->is_integer())
    return c.error(argument(call, 2).place,
                   purpose_of(verb, 2) + " needs an integer, not " + c.types.name(from.type),
                   t->has_cells() && t->gpu ? "ToHost(...) brings it down and waits" : "");
  const int64_t size = verb == Verb::Slice ? x.type->sizes.back() : x.type->sizes.front();
  const char *what = verb == Verb::Slice ? " columns" : " rows";
  if (count < 0 || count > size)
    return c.error(argument(call, 3).place, "`" + std::string(verb_name(verb)) + "` takes " + text_of(count) +
                                                what + " of " + shape(c, x.type) + ", which has " +
                                                std::to_string(size));
  if (from.is_constant() && (from.constant.integer < 0 || from.constant.integer > size - count))
    return c.error(argument(call, 2).place, "`" + std::string(verb_name(verb)) + "` from " +
                                                text_of(from.constant.integer) + " on takes" + what +
                                                " outside of " + shape(c, x.type));
  from = c.settle(std::move(from));
  spectra::Value *first = c.index_value(from);
  return make(c,
              {verb == Verb::Slice ? OpCode::slice : OpCode::slice_rows,
               {x.value, first},
               {{Attr::count, static_cast<int64_t>(count)}},
               nullptr,
               x.type->tracked,
               {}},
              at);
}

} // namespace

Operand check_layout(Checker &c, Verb verb, const Node &call, const Type *expected) {
  switch (verb) {
  case Verb::Reshape: return reshape(c, call, expected);
  case Verb::Permute: return permute(c, call);
  case Verb::Concat: return concat(c, call);
  case Verb::Slice:
  case Verb::SliceRows: return slice(c, verb, call);
  default: break;
  }
  Operand x = whole_argument(c, verb, call, 1);
  if (x.is_poison()) return x;
  if (x.type->rank < 2)
    return c.error(argument(call, 1).place,
                   "`Transpose` needs a matrix or a tensor, not " + c.types.name(x.type),
                   "a vector stands on either side of a product as it is");
  return make(c, {OpCode::transpose, {x.value}, {}, nullptr, x.type->tracked, {}}, call.first->place);
}

} // namespace mica::check
