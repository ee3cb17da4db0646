// Verbs that change variables in place, many tensors at once: the optimizers' steps, clipping, scaling,
// adding.
//
// In the text: `sgd_steps` and `scale_tensors`, `add_tensors`, `clip_grad_norms` take their number in the
// cells' type where all tensors have one, else as float64; `adamw_steps` takes the step as int64 and its
// other numbers as float64. A number on the card is passed as it is. Numbers come first, then groups; what is
// changed is a pointer, what is read a value.
#include "whole_parts.h"

namespace mica::check {

using spectra::OpCode;
using spectra::Scalar;

namespace {

struct Step {
  Verb verb;
  OpCode code;
  uint32_t numbers;    ///< leading scalars
  const char *members; ///< a group: `w` what is changed, `r` what is read
};

const Step kSteps[] = {
    {Verb::SgdStep, OpCode::sgd_steps, 1, "wr"},
    {Verb::SgdSteps, OpCode::sgd_steps, 1, "wr"},
    {Verb::AdamWStep, OpCode::adamw_steps, 6, "wrww"},
    {Verb::AdamWSteps, OpCode::adamw_steps, 6, "wrww"},
    {Verb::ScaleTensors, OpCode::scale_tensors, 1, "w"},
    {Verb::AddTensors, OpCode::add_tensors, 1, "wr"},
    {Verb::ClipGradNorm, OpCode::clip_grad_norms, 1, "w"},
    {Verb::ClipGradNorms, OpCode::clip_grad_norms, 1, "w"},
};

} // namespace

Operand check_steps(Checker &c, Verb verb, const Node &call) {
  const Step *step = nullptr;
  for (const Step &s : kSteps)
    if (s.verb == verb) step = &s;
  const std::string name = verb_name(verb), members = step->members;
  const spectra::Place at = call.first->place;
  const uint32_t groups = call.count - 1 - step->numbers;
  if (groups % members.size() != 0) {
    c.check_arguments_only(call);
    return c.error(at, "`" + name + "` takes its tensors in groups of " + std::to_string(members.size()) +
                           ", and " + std::to_string(groups) + " are left over a group");
  }

  // The numbers' type depends on the tensors, but they are computed first, as they stand.
  std::vector<Operand> numbers;
  for (uint32_t i = 1; i <= step->numbers; ++i) numbers.push_back(value_of(c, argument(call, i)));
  bool wrong = false;
  for (const Operand &n : numbers) wrong = wrong || n.is_poison();

  std::vector<std::vector<Leaf>> lists;
  for (uint32_t i = step->numbers + 1; i < call.count; ++i) {
    lists.emplace_back();
    if (!tensor_list(c, argument(call, i), purpose_of(verb, i), lists.back())) wrong = true;
  }
  if (wrong) return Operand{};

  std::vector<spectra::Value *> tensors;
  std::optional<Scalar> cell;
  bool mixed = false, on_card = false;
  const Operand *some = nullptr;
  for (size_t g = 0; g < lists.size(); g += members.size()) {
    for (size_t m = 1; m < members.size(); ++m)
      if (lists[g + m].size() != lists[g].size())
        return c.error(argument(call, static_cast<uint32_t>(step->numbers + g + m + 1)).place,
                       purpose_of(verb, static_cast<uint32_t>(step->numbers + g + m + 1)) + " has " +
                           std::to_string(lists[g + m].size()) + " tensors, argument " +
                           std::to_string(step->numbers + g + 1) + " has " + std::to_string(lists[g].size()));
    for (size_t k = 0; k < lists[g].size(); ++k) {
      const Operand &first = lists[g][k].operand;
      for (size_t m = 0; m < members.size(); ++m) {
        const uint32_t number = static_cast<uint32_t>(step->numbers + g + m + 1);
        Operand &o = lists[g + m][k].operand;
        const spectra::Place where = argument(call, number).place;
        if (!o.type->is_float())
          return c.error(where, purpose_of(verb, number) + " needs floats, not " + c.types.name(o.type));
        if (o.type->sizes != first.type->sizes || o.type->scalar != first.type->scalar ||
            o.type->is_whole() != first.type->is_whole())
          return c.error(where, purpose_of(verb, number) + " needs " +
                                    c.types.name(c.types.with_tracked(first.type, false)) + " as argument " +
                                    std::to_string(step->numbers + g + 1) + ", not " + c.types.name(o.type));
        if (o.type->gpu != first.type->gpu || (some && o.type->gpu != some->type->gpu))
          return c.error(where,
                         "`" + name + "` mixes the host and the card: " +
                             c.types.name((some ? *some : first).type) + " and " + c.types.name(o.type),
                         "ToGpu(...) copies to the card");
        some = &first;
        on_card = on_card || o.type->gpu;
        mixed = mixed || (cell && *cell != o.type->scalar);
        cell = o.type->scalar;
        if (members[m] == 'w') {
          if (!o.is_place() || !o.assignable)
            return c.error(where, purpose_of(verb, number) + " is changed in place and needs a variable",
                           o.is_place() ? "" : "assign the value to a variable first");
          c.mark_changed(o);
          tensors.push_back(c.address_of(o));
        } else {
          tensors.push_back(c.load(o));
        }
      }
    }
  }
  const Scalar common = !cell ? Scalar::f32 : mixed ? Scalar::f64 : *cell;
  std::vector<spectra::Value *> operands;
  for (uint32_t i = 1; i <= step->numbers; ++i) {
    const bool adam = step->code == OpCode::adamw_steps;
    const Type *to = adam ? i == 1 ? c.types.i64() : c.types.f64() : c.types.scalar(common);
    Operand number = numbers[i - 1];
    const Type *t = Types::base(number.type);
    if (!t->is_scalar() || !(to->is_integer() ? t->is_integer() : t->is_integer() || t->is_float()))
      return c.error(argument(call, i).place, purpose_of(verb, i) + " needs " +
                                                  (to->is_integer() ? "an integer" : "a number") + ", not " +
                                                  c.types.name(number.type));
    if (number.type->gpu && !on_card)
      return c.error(argument(call, i).place,
                     purpose_of(verb, i) + " lives on the card, the tensors on the host",
                     "ToHost(...) brings it down and waits");
    if (!number.type->gpu) {
      number.type = c.types.with_tracked(number.type, false);
      // A rate rounds to the tensors' type: it is a setting, not a value that must be kept.
      number = c.converts(number, to) ? c.convert(std::move(number), to, purpose_of(verb, i))
                                      : c.convert_as(std::move(number), to, argument(call, i).place);
    }
    operands.push_back(c.load(number));
    if (!operands.back()) return Operand{};
  }
  const bool clips = step->code == OpCode::clip_grad_norms;
  const Type *norm = c.types.scalar(common, on_card);
  if (tensors.empty()) { // an aggregate may hold no matrices at all
    if (!clips) return Checker::nothing(at);
    return c.value_operand(c.build.constant_float(c.types.lower(c.types.scalar(common)), 0),
                           c.types.scalar(common), at);
  }
  operands.insert(operands.end(), tensors.begin(), tensors.end());
  return make(c, {step->code, operands, {}, clips ? norm : nullptr, false, {}}, at);
}

} // namespace mica::check
