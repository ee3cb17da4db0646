// Rows, cells and rows a..b of whole values.
#include "whole_parts.h"

namespace mica::check {

using spectra::NodeKind;
using spectra::OpCode;
using spectra::Path;

namespace {

/// One index as a host integer; constants are checked against the size at once.
Operand index_operand(Checker &c, const Node &node, int64_t size, const Type *of) {
  Operand index = value_of(c, node);
  if (index.is_poison()) return index;
  const Type *t = Types::base(index.type);
  if (t->is_scalar() && t->gpu)
    return c.error(node.place, "an index lives on the host, not on the card",
                   "ToHost(...) brings it down and waits");
  if (!t->is_host_scalar() || !t->is_integer())
    return c.error(node.place, "an index needs an integer, not " + c.types.name(index.type));
  if (index.is_constant() && (index.constant.integer < 0 || index.constant.integer >= size))
    return c.error(node.place,
                   "index " + text_of(index.constant.integer) + " is outside 0.." + std::to_string(size - 1) +
                       " of " + c.types.name(of),
                   size == 0 ? "it has no rows" : "elements count from 0");
  return c.settle(std::move(index));
}

/// `x[a..b]`: the rows a to b, both constants.
Operand rows_between(Checker &c, Operand base, const Node &range, spectra::Place at) {
  __int128 from = 0, upto = 0;
  if (!c.constant_integer(*range.first, "rows a..b", from) ||
      !c.constant_integer(*range.last, "rows a..b", upto))
    return Operand{};
  const int64_t size = base.type->sizes[0];
  if (from < 0 || upto >= size || upto < from - 1)
    return c.error(range.place,
                   "rows " + text_of(from) + ".." + text_of(upto) + " are outside 0.." +
                       std::to_string(size - 1) + " of " + c.types.name(base.type),
                   upto < from ? "the last row comes second" : "");
  const bool tracked = base.type->tracked;
  spectra::Value *value = c.load(base);
  c.build.set_place(at);
  spectra::Value *first =
      c.build.constant(c.module.types.scalar(spectra::Scalar::i64), static_cast<int64_t>(from));
  return make(c,
              {OpCode::slice_rows,
               {value, first},
               {{spectra::Attr::count, static_cast<int64_t>(upto - from + 1)}},
               nullptr,
               tracked,
               {}},
              at);
}

} // namespace

Operand check_index_whole(Checker &c, Operand base, const Node *subscript, spectra::Place at) {
  if (base.type->is(Kind::open)) return Operand{};
  const Type *type = base.type;
  uint32_t count = 0;
  for (const Node *s = subscript; s; s = s->next) ++count;
  if (subscript->is(NodeKind::range)) {
    if (count > 1)
      return c.error(subscript->next->place, "rows a..b stand alone in the brackets", "write x[a..b][i, j]");
    return rows_between(c, std::move(base), *subscript, at);
  }
  if (count > static_cast<uint32_t>(type->rank))
    return c.error(at, c.types.name(type) + " has " + std::to_string(type->rank) +
                           (type->rank == 1 ? " index, not " : " indices, not ") + std::to_string(count));
  std::vector<Operand> indices;
  bool wrong = false;
  for (const Node *s = subscript; s; s = s->next) {
    if (s->is(NodeKind::range))
      return c.error(s->place, "rows a..b stand alone in the brackets",
                     "Slice(x, from, count) takes columns");
    indices.push_back(index_operand(c, *s, type->sizes[indices.size()], type));
    wrong = wrong || indices.back().is_poison();
  }
  if (wrong) return Operand{};

  // A cell of a variable on the host stays a place: it may be assigned.
  if (base.is_place() && !type->gpu && count == static_cast<uint32_t>(type->rank)) {
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i].is_constant()) {
        base.path.steps.push_back(
            {Path::Step::Kind::constant, static_cast<int64_t>(indices[i].constant.integer), nullptr});
        continue;
      }
      spectra::Value *number = c.index_value(indices[i]);
      c.build.set_place(at);
      if (c.checked_tier()) {
        spectra::Op *op = c.build.append(OpCode::check_index);
        op->operands.push_back(number);
        op->set(spectra::Attr::low, int64_t{0});
        op->set(spectra::Attr::high, type->sizes[i] - 1);
        number = c.build.add_result(op, number->type);
      }
      base.path.steps.push_back({Path::Step::Kind::dynamic, 0, number});
    }
    base.type = c.types.scalar(type->scalar, false, type->tracked);
    base.at = at;
    return base;
  }
  const bool cells = count == static_cast<uint32_t>(type->rank);
  Operand result = base;
  if (cells) {
    std::vector<spectra::Value *> operands{c.load(base)};
    for (Operand &index : indices) operands.push_back(c.index_value(index));
    result = make(c, {OpCode::cell, operands, {}, nullptr, type->tracked, {}}, at);
  } else {
    for (Operand &index : indices) {
      spectra::Value *value = c.load(result);
      result = make(c, {OpCode::row, {value, c.index_value(index)}, {}, nullptr, type->tracked, {}}, at);
    }
  }
  result.assignable = false;
  result.why_not = type->gpu ? "lives on the card" : cells ? "is no variable" : "is a row";
  return result;
}

} // namespace mica::check
