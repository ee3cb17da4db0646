// Makers: Zeros, Filled, Normal, Uniform. Shape and type come from the target, aggregates too.
#include "whole_parts.h"

namespace mica::check {

using spectra::OpCode;

bool maker_arguments(Checker &c, Verb verb, const Node &call, MakerArguments &arguments) {
  const uint32_t wanted = verb == Verb::Zeros ? 0 : verb == Verb::Filled ? 1 : 3;
  if (!c.count_arguments(call, verb_name(verb), wanted, wanted)) {
    c.check_arguments_only(call);
    return false;
  }
  bool right = true;
  const uint32_t numbers = verb == Verb::Zeros ? 0 : verb == Verb::Filled ? 1 : 2;
  for (uint32_t i = 1; i <= numbers; ++i) {
    Operand number = value_of(c, argument(call, i));
    if (!number.is_poison() &&
        (!Types::base(number.type)->is_scalar() || Types::base(number.type)->is_unicode()))
      number = c.error(argument(call, i).place,
                       purpose_of(verb, i) + " needs a number, not " + c.types.name(number.type));
    right = right && !number.is_poison();
    arguments.numbers.push_back(std::move(number));
  }
  if (wanted == 3) {
    arguments.random = c.pointer_argument(argument(call, 3), c.types.random(), purpose_of(verb, 3));
    right = right && arguments.random;
  }
  return right;
}

Operand make_filled(Checker &c, Verb verb, const MakerArguments &arguments, const Type *type,
                    spectra::Place at) {
  const Type *cell = c.types.scalar(type->scalar);
  const Type *plain = c.types.with_tracked(type, false);
  if (type->is_unicode() || (verb != Verb::Zeros && verb != Verb::Filled && !type->is_float()))
    return c.error(at, "`" + std::string(verb_name(verb)) + "` makes floats, not " + c.types.name(type));
  std::vector<spectra::Value *> operands;
  bool tracked = false;
  for (size_t i = 0; i < arguments.numbers.size(); ++i) {
    Operand number = arguments.numbers[i];
    const std::string purpose = purpose_of(verb, static_cast<uint32_t>(i + 1));
    tracked = tracked || number.type->tracked;
    if (number.type->gpu && !type->gpu)
      return c.error(number.at, purpose + " lives on the card, and " + c.types.name(type) + " on the host",
                     "ToHost(...) brings it down and waits");
    // A draw's bounds round to the cell's type; a value in every cell must fit it.
    const Type *to = c.types.with_tracked(c.types.with_gpu(cell, number.type->gpu), number.type->tracked);
    const bool draws = verb != Verb::Filled;
    if (draws && !c.converts(number, to))
      number = c.convert_as(std::move(number), to, at);
    else
      number = c.convert(std::move(number), to, purpose);
    operands.push_back(c.load(number));
    if (!operands.back()) return Operand{};
  }
  if (verb == Verb::Zeros || verb == Verb::Filled) {
    if (type->is_whole())
      return make(c, {verb == Verb::Zeros ? OpCode::zeros : OpCode::filled, operands, {}, plain, tracked, {}},
                  at);
    // A scalar: the number itself.
    spectra::Value *value = verb == Verb::Filled ? operands[0]
                            : type->is_float()   ? c.build.constant_float(c.types.lower(cell), 0)
                                                 : c.build.constant(c.types.lower(cell), 0);
    Operand scalar = c.value_operand(value, c.types.raise(value->type), at);
    scalar.type = c.types.with_tracked(scalar.type, tracked);
    return type->gpu ? to_card(c, std::move(scalar), at) : scalar;
  }
  if (!type->is_whole())
    return c.error(at,
                   "`" + std::string(verb_name(verb)) + "` makes vectors, matrices and tensors, not " +
                       c.types.name(type),
                   "RandomFloat(address r) draws one number");
  Operand draw = make(c,
                      {OpCode::draw,
                       {arguments.random},
                       {{spectra::Attr::cells, c.types.lower(plain)->cells()}},
                       nullptr,
                       false,
                       {}},
                      at);
  operands.push_back(draw.value);
  return make(c, {verb == Verb::Normal ? OpCode::normal : OpCode::uniform, operands, {}, plain, false, {}},
              at);
}

Operand check_maker(Checker &c, Verb verb, const Node &call, const Type *expected) {
  const spectra::Place at = call.first->place;
  const std::string name = verb_name(verb);
  if (!expected || !(expected->is_whole() || (expected->is_scalar() && expected->gpu))) {
    c.check_arguments_only(call);
    if (expected && expected->is_poison()) return Operand{};
    return c.error(at,
                   "`" + name + "` takes its shape from its target, and " +
                       (expected ? c.types.name(expected) + " has none" : "there is none here"),
                   "assign it to a variable first");
  }
  MakerArguments arguments;
  if (!maker_arguments(c, verb, call, arguments)) return Operand{};
  return make_filled(c, verb, arguments, expected, at);
}

} // namespace mica::check
