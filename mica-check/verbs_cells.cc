// Verbs that work cell by cell, on whole values and on scalars: functions of one, two and three operands,
// Select.
#include "whole_parts.h"

namespace mica::check {

using spectra::OpCode;

namespace {

OpCode code_of(Verb verb) {
  switch (verb) {
  case Verb::Exp: return OpCode::exp;
  case Verb::Ln: return OpCode::ln;
  case Verb::Sqrt: return OpCode::sqrt;
  case Verb::Rsqrt: return OpCode::rsqrt;
  case Verb::Abs: return OpCode::abs;
  case Verb::Sin: return OpCode::sin;
  case Verb::Cos: return OpCode::cos;
  case Verb::Tanh: return OpCode::tanh;
  case Verb::Sigmoid: return OpCode::sigmoid;
  case Verb::Relu: return OpCode::relu;
  case Verb::Silu: return OpCode::silu;
  case Verb::Erf: return OpCode::erf;
  case Verb::Erfc: return OpCode::erfc;
  case Verb::Gelu: return OpCode::gelu;
  case Verb::GeluTanh: return OpCode::gelu_tanh;
  case Verb::Finite: return OpCode::finite;
  case Verb::Pow: return OpCode::pow;
  case Verb::Maximum: return OpCode::maximum;
  case Verb::Minimum: return OpCode::minimum;
  default: return OpCode::fma;
  }
}

/// Maximum and Minimum take integers too; all others are functions of floats.
bool takes_integers(Verb verb) { return verb == Verb::Maximum || verb == Verb::Minimum; }

Operand check_select(Checker &c, std::vector<Operand> &args, const Node &call) {
  const spectra::Place at = call.first->place;
  const Type *condition = Types::base(args[0].type);
  if (!condition->is_bool())
    return c.error(argument(call, 1).place,
                   "argument 1 of `Select` needs bools, not " + c.types.name(args[0].type),
                   "a comparison such as x > 0.0 gives them cell by cell");
  if (!unify_cells(c, {&args[1], &args[2]}, "Select", at)) return Operand{};
  if (!one_place(c, {&args[0], &args[1], &args[2]}, "Select", at)) return Operand{};
  if (!shapes_fit(c, {&args[0], &args[1], &args[2]}, "Select", at)) return Operand{};
  const bool tracked = args[1].type->tracked || args[2].type->tracked;
  args[0] = c.settle(std::move(args[0]));
  return make(
      c, {OpCode::select, {c.load(args[0]), c.load(args[1]), c.load(args[2])}, {}, nullptr, tracked, {}}, at);
}

} // namespace

Operand check_cells(Checker &c, Verb verb, const Node &call) {
  const spectra::Place at = call.first->place;
  const std::string name = verb_name(verb);
  std::vector<Operand> args;
  bool wrong = false;
  for (uint32_t i = 1; i < call.count; ++i) {
    Operand x = value_of(c, argument(call, i));
    if (!x.is_poison()) {
      const Type *t = Types::base(x.type);
      const bool integer_literal = x.is_constant() && x.constant.adapts && t->is_integer();
      const bool fits = verb == Verb::Select
                            ? t->has_cells() && !t->is_unicode()
                            : t->is_float() || integer_literal || (takes_integers(verb) && t->is_integer());
      if (t->is(Kind::open)) {
        x = Operand{};
      } else if (!fits) {
        std::string hint = t->is_integer() || t->is_bool() ? "`as float32` makes floats of them" : "";
        const char *wanted = verb == Verb::Select   ? "numbers or bools"
                             : takes_integers(verb) ? "floats or integers"
                                                    : "floats";
        if (t->is_aggregate()) hint = "name one of its tensors";
        x = c.error(argument(call, i).place,
                    purpose_of(verb, i) + " needs " + wanted + ", not " + c.types.name(x.type), hint);
      } else if (x.type->is(Kind::subrange)) {
        x = c.convert(std::move(x), t, name);
      }
    }
    wrong = wrong || x.is_poison();
    args.push_back(std::move(x));
  }
  if (wrong) return Operand{};
  if (verb == Verb::Select) return check_select(c, args, call);
  std::vector<Operand *> all;
  std::vector<const Operand *> view;
  for (Operand &o : args) {
    // Floats that stand alone are float64.
    if (args.size() == 1 && o.is_constant() && Types::base(o.type)->is_integer())
      o = c.convert(std::move(o), c.types.f64(), name);
    all.push_back(&o);
    view.push_back(&o);
  }
  if (args.size() > 1 &&
      (!one_place(c, view, name, at) || !shapes_fit(c, view, name, at) || !unify_cells(c, all, name, at)))
    return Operand{};
  std::vector<spectra::Value *> values;
  bool tracked = false;
  for (Operand &o : args) {
    o = c.settle(std::move(o));
    tracked = tracked || o.type->tracked;
    values.push_back(c.load(o));
  }
  return make(c, {code_of(verb), values, {}, nullptr, tracked, {}}, at);
}

} // namespace mica::check
