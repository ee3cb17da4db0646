// libm: Mica's own mathematical functions, each for float64 and, with `f`, for float32.
#include "checker.h"

namespace mica::check {

using spectra::OpCode;
using spectra::Value;

namespace {

OpCode operation(Verb verb) {
  switch (verb) {
  case Verb::MathSqrt: return OpCode::sqrt;
  case Verb::MathSin: return OpCode::sin;
  case Verb::MathCos: return OpCode::cos;
  case Verb::MathTan: return OpCode::tan;
  case Verb::MathArcsin: return OpCode::arcsin;
  case Verb::MathArccos: return OpCode::arccos;
  case Verb::MathArctan: return OpCode::arctan;
  case Verb::MathLn: return OpCode::ln;
  case Verb::MathLog10: return OpCode::log10;
  case Verb::MathExp: return OpCode::exp;
  case Verb::MathPow: return OpCode::pow;
  case Verb::MathAbs: return OpCode::abs;
  case Verb::MathRound: return OpCode::round;
  case Verb::MathTrunc: return OpCode::trunc;
  case Verb::MathFloor: return OpCode::floor;
  case Verb::MathCeil: return OpCode::ceil;
  case Verb::MathFmod: return OpCode::fmod;
  case Verb::MathFma: return OpCode::fma;
  case Verb::MathTanh: return OpCode::tanh;
  default: return OpCode::erf;
  }
}

/// The verb that does the same cell by cell, for the hint.
const char *cell_verb(Verb verb) {
  switch (verb) {
  case Verb::MathSqrt: return "Sqrt";
  case Verb::MathSin: return "Sin";
  case Verb::MathCos: return "Cos";
  case Verb::MathLn: return "Ln";
  case Verb::MathExp: return "Exp";
  case Verb::MathPow: return "Pow";
  case Verb::MathAbs: return "Abs";
  case Verb::MathFma: return "Fma";
  case Verb::MathTanh: return "Tanh";
  case Verb::MathErf: return "Erf";
  default: return nullptr;
  }
}

} // namespace

Operand Checker::check_math(const Builtin &builtin, const Node &call) {
  const bool single = builtin.real == spectra::Scalar::f32;
  const std::string name = std::string(verb_name(builtin.verb)) + (single ? "f" : "");
  const Type *type = types.scalar(builtin.real);
  size_t wanted = builtin.verb == Verb::MathFma                                     ? 3
                  : builtin.verb == Verb::MathPow || builtin.verb == Verb::MathFmod ? 2
                                                                                    : 1;
  if (!count_arguments(call, name, wanted, wanted)) return check_arguments_only(call);
  std::vector<Value *> operands;
  bool tracked = false, wrong = false;
  int i = 0;
  for (const Node *node = call.first->next; node; node = node->next) {
    std::string purpose = "argument " + std::to_string(++i) + " of `" + name + "`";
    Operand operand = check(*node);
    if (operand.type && operand.type->is_device_or_whole()) {
      const char *verb = cell_verb(builtin.verb);
      operand =
          error(node->place,
                "`" + name + "` takes a " + source_name(builtin.real) + ", not " + types.name(operand.type),
                verb ? "`" + std::string(verb) + "` works cell by cell and on the card" : "");
    } else if (!operand.is_poison() && single && operand.type == types.f64() && !operand.gives_way()) {
      operand = error(node->place, purpose + " needs float32, not float64",
                      "`" + std::string(verb_name(builtin.verb)) + "` takes a float64");
    }
    const bool records = operand.type && operand.type->tracked;
    tracked = tracked || records;
    operands.push_back(load(convert(std::move(operand), types.with_tracked(type, records), purpose)));
    wrong = wrong || !operands.back();
  }
  if (wrong) return Operand{};
  build.set_place(call.place);
  spectra::Op *op = build.append(operation(builtin.verb));
  op->operands.assign(operands.begin(), operands.end());
  return value_operand(build.finish(op), types.with_tracked(type, tracked), call.place);
}

} // namespace mica::check
