// Functions of one operand, cell by cell.
#include "rules/rules.h"

#include <numbers>

namespace mica::grad {
using namespace spectra;

bool functions_rule(const Adjoint &a) {
  if (a.op().results.size() != 1 || a.op().arg_count() != 1) return false;
  auto x = [&] { return a.operand(0, 0); };
  auto y = [&] { return a.result(0); };
  auto dy = [&] { return a.seed(0); };
  auto number = [&](double value) { return a.number(value, 0); };
  auto give = [&](Value *v) {
    a.give(0, v);
    return true;
  };
  switch (a.op().code) {
  case OpCode::abs: {
    // dy*sign(x), and 0 at 0.
    Value *negative = a.select(a.make(OpCode::lt, x(), number(0)), a.neg(dy()), number(0));
    return give(a.select(a.make(OpCode::gt, x(), number(0)), dy(), negative));
  }
  case OpCode::sqrt: return give(a.div(a.mul(number(0.5), dy()), y()));
  case OpCode::rsqrt: {
    Value *cube = a.mul(a.mul(a.mul(number(-0.5), y()), y()), y());
    return give(a.mul(dy(), cube));
  }
  case OpCode::exp: return give(a.mul(dy(), y()));
  case OpCode::ln: return give(a.div(dy(), x()));
  case OpCode::log10: return give(a.div(dy(), a.mul(x(), number(std::numbers::ln10))));
  case OpCode::sin: return give(a.mul(dy(), a.make(OpCode::cos, x())));
  case OpCode::cos: return give(a.neg(a.mul(dy(), a.make(OpCode::sin, x()))));
  case OpCode::tan: return give(a.mul(dy(), a.add(number(1), a.mul(y(), y()))));
  case OpCode::arcsin: return give(a.div(dy(), a.make(OpCode::sqrt, a.sub(number(1), a.mul(x(), x())))));
  case OpCode::arccos:
    return give(a.neg(a.div(dy(), a.make(OpCode::sqrt, a.sub(number(1), a.mul(x(), x()))))));
  case OpCode::arctan: return give(a.div(dy(), a.add(number(1), a.mul(x(), x()))));
  case OpCode::tanh: return give(a.mul(dy(), a.sub(number(1), a.mul(y(), y()))));
  case OpCode::sigmoid: return give(a.mul(dy(), a.mul(y(), a.sub(number(1), y()))));
  case OpCode::silu: {
    Value *s = a.make(OpCode::sigmoid, x());
    Value *slope = a.mul(s, a.add(number(1), a.mul(x(), a.sub(number(1), s))));
    return give(a.mul(dy(), slope));
  }
  case OpCode::erf:
  case OpCode::erfc: {
    double factor = 2 * std::numbers::inv_sqrtpi * (a.op().code == OpCode::erf ? 1 : -1);
    Value *bell = a.make(OpCode::exp, a.neg(a.mul(x(), x())));
    return give(a.mul(dy(), a.mul(number(factor), bell)));
  }
  case OpCode::relu: return give(a.select(a.make(OpCode::gt, x(), number(0)), dy(), number(0)));
  case OpCode::gelu: return give(a.mul(dy(), a.make(OpCode::gelu_slope, x())));
  case OpCode::gelu_tanh: return give(a.mul(dy(), a.make(OpCode::gelu_tanh_slope, x())));
  case OpCode::to_gpu: return give(a.make(OpCode::to_host, a.moved_seed(0)));
  default: return false;
  }
}

} // namespace mica::grad
