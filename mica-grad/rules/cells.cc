// Arithmetic cell by cell. Operand order is the order of contributions: left before right (language.md 8.8).
#include "rules/rules.h"

namespace mica::grad {
using namespace spectra;

namespace {

/// maximum and minimum: to the operand that was taken, a tie in halves; NaN follows the operands.
void extremum(const Adjoint &a, OpCode wins) {
  for (int i = 0; i < 2; ++i) {
    if (!a.wants(i)) continue;
    Value *mine = a.op().arg(i), *other = a.op().arg(1 - i);
    Value *dy = a.seed(i);
    Value *half = a.mul(dy, a.number(0.5, i));
    Value *loses = a.make(wins, other, mine);
    Value *nothing = a.number(0, i);
    // Neither larger nor smaller: equal, or a NaN, whose gradient is of no consequence.
    Value *tie_or_lost = a.select(loses, nothing, half);
    a.give(i, a.select(a.make(wins, mine, other), dy, tie_or_lost));
  }
}

} // namespace

bool cells_rule(const Adjoint &a) {
  switch (a.op().code) {
  case OpCode::add:
    for (int i = 0; i < 2; ++i)
      if (a.wants(i)) a.give(i, a.moved_seed(i));
    return true;
  case OpCode::sub:
    if (a.wants(0)) a.give(0, a.moved_seed(0));
    if (a.wants(1)) a.give(1, a.neg(a.moved_seed(1)));
    return true;
  case OpCode::mul:
    if (a.wants(0)) a.give(0, a.mul(a.seed(0), a.operand(1, 0)));
    if (a.wants(1)) a.give(1, a.mul(a.seed(1), a.operand(0, 1)));
    return true;
  case OpCode::div:
    if (a.wants(0)) a.give(0, a.div(a.seed(0), a.operand(1, 0)));
    if (a.wants(1)) a.give(1, a.neg(a.div(a.mul(a.seed(1), a.result(1)), a.operand(1, 1))));
    return true;
  case OpCode::neg:
    if (a.wants(0)) a.give(0, a.neg(a.moved_seed(0)));
    return true;
  case OpCode::fma:
    if (a.wants(0)) a.give(0, a.mul(a.seed(0), a.operand(1, 0)));
    if (a.wants(1)) a.give(1, a.mul(a.seed(1), a.operand(0, 1)));
    if (a.wants(2)) a.give(2, a.moved_seed(2));
    return true;
  case OpCode::select:
    for (int i = 1; i < 3; ++i) {
      if (!a.wants(i)) continue;
      Value *zero = a.moved(a.number(0, i), i), *dy = a.moved_seed(i);
      a.give(i, i == 1 ? a.select(a.op().arg(0), dy, zero) : a.select(a.op().arg(0), zero, dy));
    }
    return true;
  case OpCode::cast:
    // Between floats only; the gradient of a narrowed value is in the wide type already (see
    // Reverse::gradient_type).
    if (a.wants(0)) a.give(0, a.moved_seed(0));
    return true;
  case OpCode::dropout:
    // The same draw drops the same cells: the mask is drawn again, never kept.
    if (a.wants(0)) {
      Op *op = a.builder().append(OpCode::dropout);
      for (Value *v : {a.seed(0), a.op().arg(1), a.op().arg(2)}) op->operands.push_back(v);
      a.give(0, a.builder().finish(op));
    }
    return true;
  case OpCode::maximum: extremum(a, OpCode::gt); return true;
  case OpCode::minimum: extremum(a, OpCode::lt); return true;
  case OpCode::fmod:
    // a - b*trunc(a/b)
    if (a.wants(0)) a.give(0, a.moved_seed(0));
    if (a.wants(1))
      a.give(1, a.neg(a.mul(a.seed(1), a.make(OpCode::trunc, a.div(a.operand(0, 1), a.operand(1, 1))))));
    return true;
  case OpCode::pow:
    if (a.wants(0)) {
      // b*x^(b-1), and 0 for b = 0: no infinite power of 0 arises there.
      Value *x = a.operand(0, 0), *b = a.operand(1, 0);
      Value *none = a.make(OpCode::eq, b, a.number(0, 0));
      Value *exponent = a.select(none, a.number(0, 0), a.sub(b, a.number(1, 0)));
      a.give(0, a.mul(a.seed(0), a.mul(b, a.make(OpCode::pow, x, exponent))));
    }
    if (a.wants(1)) {
      // x^b*ln x, and 0 at x = 0, where the power is constant for b > 0.
      Value *x = a.operand(0, 1);
      Value *none = a.make(OpCode::eq, x, a.number(0, 1));
      Value *positive = a.select(none, a.number(1, 1), x);
      a.give(1, a.mul(a.seed(1), a.mul(a.result(1), a.make(OpCode::ln, positive))));
    }
    return true;
  default: return false;
  }
}

} // namespace mica::grad
