// The last two arguments of the verbs that drop cells, `p, address r`: a probability, checked, and the draw
// that it reserves.
#include "whole_parts.h"

namespace mica::check {

using spectra::OpCode;

bool drop_arguments(Checker &c, Verb verb, const Node &call, uint32_t first, DropArguments &arguments) {
  const Node &node = argument(call, first);
  const std::string purpose = purpose_of(verb, first);
  Operand p = value_of(c, node);
  arguments.random =
      c.pointer_argument(argument(call, first + 1), c.types.random(), purpose_of(verb, first + 1));
  if (p.is_poison() || !arguments.random) return false;
  const Type *type = Types::base(p.type);
  auto wrong = [&](const std::string &what, const char *hint) {
    c.error(node.place, purpose + what, hint);
    return false;
  };
  if (!type->is_scalar() || type->is_unicode() || type->is_bool())
    return wrong(" needs a probability, not " + c.types.name(p.type), "a number from 0.0 to 1.0");
  if (type->gpu)
    return wrong(" lives on the card, and a probability on the host", "ToHost(...) brings it down and waits");
  if (type->tracked)
    return wrong(" is tracked, and no gradient flows to it", "Detach(...) ends the gradient");
  p = c.convert(c.settle(std::move(p)), c.types.f64(), purpose);
  if (p.is_poison()) return false;
  if (p.is_constant()) {
    if (!(p.constant.real >= 0 && p.constant.real <= 1))
      return wrong(" is " + text_of(p.constant) + ", and a probability lies from 0 to 1", "");
    arguments.never = p.constant.real == 0;
  }
  const bool sure = p.is_constant();
  arguments.chance = c.load(p);
  if (!sure) {
    c.build.set_place(node.place);
    spectra::Op *check = c.build.append(OpCode::check_chance);
    check->operands.push_back(arguments.chance);
    check->set(spectra::Attr::what, std::string(verb_name(verb)));
    arguments.chance = c.build.finish(check, "p");
  }
  return arguments.chance != nullptr;
}

spectra::Value *reserve_draws(Checker &c, const DropArguments &arguments, int64_t cells, spectra::Place at) {
  c.build.set_place(at);
  spectra::Op *draw = c.build.append(OpCode::draw);
  draw->operands.push_back(arguments.random);
  draw->operands.push_back(arguments.chance);
  draw->set(spectra::Attr::cells, cells);
  return c.build.finish(draw, "draw");
}

} // namespace mica::check
