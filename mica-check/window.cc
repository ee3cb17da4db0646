// The tape: windows, Backward and Gradient as they stand; the rules over the whole text are in
// windows_check.cc.
#include "whole_parts.h"

namespace mica::check {

using spectra::OpCode;

void check_tape(Checker &c, const Node &node) {
  if (c.window >= 0) {
    c.error(node.place, "windows don't nest: this `tape` stands inside another");
    return;
  }
  c.build.set_place(node.place);
  spectra::Op *op = c.build.append(OpCode::tape);
  const int outer_loops = c.loops;
  c.window = state(c).windows++;
  c.loops = 0;
  op->set(spectra::Attr::id, static_cast<int64_t>(c.window)); // numbered in the text's order at the end
  c.fill(op, [&](spectra::Region *) { c.statement(*node.first); });
  c.loops = outer_loops;
  c.window = -1;
}

Operand gradient_of(Checker &c, const Operand &place, spectra::Place at) {
  if (place.is_poison()) return place;
  if (!place.is_place())
    return c.error(at, "`Gradient` is of a tracked variable, not of a value",
                   "assign the value to a tracked variable inside the window");
  if (!place.type->tracked)
    return c.error(at, "`Gradient` is of a tracked variable, and this is " + c.types.name(place.type),
                   "declare it `tracked " + c.types.name(place.type) + "`");
  c.build.set_place(at);
  spectra::Op *op = c.path_op(OpCode::gradient, place.path, {});
  return c.value_operand(c.build.add_result(op, c.types.lower_value(place.type)),
                         c.types.with_tracked(place.type, false), at);
}

Operand check_window_verb(Checker &c, Verb verb, const Node &call) {
  const spectra::Place at = call.first->place;
  const Node &node = argument(call, 1);
  if (verb == Verb::Matrices || verb == Verb::Vectors) {
    c.check_arguments_only(call);
    return c.error(at, "`" + std::string(verb_name(verb)) + "` stands where a verb takes several tensors",
                   "AdamWSteps(..., Matrices(model), ...)");
  }
  Operand place = c.check(node);
  if (place.is_poison()) return place;
  if (verb == Verb::Gradient) {
    if (place.type && place.type->is_aggregate())
      return c.error(at, "the gradient of a whole aggregate stands where several tensors may",
                     "g := Gradient(model), or AdamWSteps(..., Gradient(model), ...)");
    if (place.kind == Operand::Kind::procedure || !place.type) return as_value(c, std::move(place));
    return gradient_of(c, place, at);
  }
  if (place.kind == Operand::Kind::procedure || !place.type) return as_value(c, std::move(place));
  if (!place.is_place() || !place.type->is_scalar() || !place.type->tracked)
    return c.error(node.place,
                   "`Backward` needs a tracked scalar variable, not " +
                       (place.is_place() ? c.types.name(place.type) : std::string("a value")),
                   "var loss : tracked float32; assign it inside the window");
  if (c.window >= 0)
    return c.error(at, "`Backward` stands behind its window, not inside one",
                   "close the window with `end` first");
  c.build.set_place(at);
  spectra::Op *op = c.path_op(OpCode::backward, place.path, {});
  op->set(spectra::Attr::windows, std::vector<int64_t>{}); // filled in at the end
  return Checker::nothing(at);
}

} // namespace mica::check
