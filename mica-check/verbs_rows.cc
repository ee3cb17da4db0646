// Verbs that pair rows with numbers: Gather, RowPick, CrossEntropy.
#include "whole_parts.h"

namespace mica::check {

using spectra::OpCode;

Operand check_rows(Checker &c, Verb verb, const Node &call) {
  const spectra::Place at = call.first->place;
  const std::string name = verb_name(verb);
  Operand x = value_of(c, argument(call, 1));
  Operand ids = value_of(c, argument(call, 2));
  const bool loss = verb == Verb::CrossEntropy || verb == Verb::CrossEntropySum;
  __int128 classes = -1;
  if (call.count > 3 && !c.constant_integer(argument(call, 3), purpose_of(verb, 3), classes))
    return Operand{};
  if (x.is_poison() || ids.is_poison() || x.type->is(Kind::open) || ids.type->is(Kind::open))
    return Operand{};
  if (!x.type->is_whole())
    return c.error(argument(call, 1).place, purpose_of(verb, 1) +
                                                " needs a vector, a matrix or a tensor, not " +
                                                c.types.name(x.type));
  if (verb == Verb::Gather && x.type->rank != 2)
    return c.error(argument(call, 1).place,
                   "argument 1 of `Gather` needs a matrix, a row for each number, not " +
                       c.types.name(x.type));
  if (loss && !x.type->is_float())
    return c.error(argument(call, 1).place,
                   purpose_of(verb, 1) + " needs floats, not " + c.types.name(x.type));
  // One number or one for each row.
  const bool one_row = x.type->rank == 1 && verb != Verb::Gather;
  const Type *numbers = Types::base(ids.type);
  if (!numbers->is_integer() || !(numbers->is_whole() || (one_row && numbers->is_scalar())))
    return c.error(argument(call, 2).place,
                   purpose_of(verb, 2) + " needs a vector, a matrix or a tensor of integers, not " +
                       c.types.name(ids.type),
                   numbers->is_float() ? "`as int32` makes integers of floats" : "");
  if (!one_place(c, {&x, &ids}, name, at)) return Operand{};
  if (verb != Verb::Gather) {
    std::vector<int64_t> leading(x.type->sizes.begin(), x.type->sizes.end() - 1);
    if (leading != numbers->sizes)
      return c.error(
          at, "`" + name + "` needs one number a row: " + shape(c, x.type) + " and " + shape(c, ids.type),
          describe(c, x) + ", so its numbers are " +
              (leading.empty() ? "one integer"
                               : spectra::shape_text(c.module.types.whole(spectra::Scalar::i32, leading))));
  }
  std::vector<spectra::Attribute> attributes;
  if (loss && classes >= 0) {
    if (classes < 1 || classes > x.type->sizes.back())
      return c.error(argument(call, 3).place, "`" + name + "` over " + text_of(classes) + " classes, and " +
                                                  shape(c, x.type) + " has " +
                                                  std::to_string(x.type->sizes.back()) + " columns");
    attributes.push_back({spectra::Attr::classes, static_cast<int64_t>(classes)});
  }
  OpCode code = verb == Verb::Gather         ? OpCode::gather
                : verb == Verb::RowPick      ? OpCode::row_pick
                : verb == Verb::CrossEntropy ? OpCode::cross_entropy
                                             : OpCode::cross_entropy_sum;
  ids = c.settle(std::move(ids));
  if (ids.type->is_scalar() && x.type->gpu && !ids.type->gpu) ids = to_card(c, std::move(ids), at);
  return make(c, {code, {x.value, c.load(ids)}, attributes, nullptr, x.type->tracked, {}}, at);
}

} // namespace mica::check
