// Reductions to one value, to columns, and back to a smaller shape.
#include "rules/rules.h"

namespace mica::grad {
using namespace spectra;

namespace {

/// The adjoint of a whole maximum: all of it to the first of the largest cells.
Value *to_first(const Adjoint &a, Value *x) {
  Builder &b = a.builder();
  int64_t cells = a.operand_type(0)->cells();
  Value *where = a.reshape(a.make(OpCode::arg_max, x), {1});
  Value *dy = a.reshape(a.moved_seed(0), {1});
  Value *flat = b.make_typed(OpCode::row_put, {dy, where}, a.sized(dy, {1, cells}));
  return a.reshape(flat, a.operand_type(0)->sizes);
}

} // namespace

bool reductions_rule(const Adjoint &a) {
  if (a.op().arg_count() < 1) return false;
  auto stretched = [&](Value *v) { a.give(0, a.stretch(v, a.operand_type(0))); };
  auto divided = [&](int64_t n) { return a.div(a.seed(0), a.number(static_cast<double>(n), 0)); };
  switch (a.op().code) {
  case OpCode::sum:
  case OpCode::sum_to:
  case OpCode::column_sum: stretched(a.moved_seed(0)); return true;
  case OpCode::mean: stretched(divided(a.operand_type(0)->cells())); return true;
  case OpCode::column_mean: stretched(divided(a.operand_type(0)->rows())); return true;
  case OpCode::max: a.give(0, to_first(a, a.op().arg(0))); return true;
  case OpCode::min: a.give(0, to_first(a, a.neg(a.op().arg(0)))); return true;
  case OpCode::norm: {
    // (x / norm) * dy, and 0 where the norm is 0.
    Value *n = a.result(0);
    Value *none = a.make(OpCode::eq, n, a.number(0, 0));
    Value *dy = a.select(none, a.number(0, 0), a.seed(0));
    Value *by = a.select(none, a.number(1, 0), n);
    a.give(0, a.mul(a.div(a.operand(0, 0), by), dy));
    return true;
  }
  default: return false;
  }
}

} // namespace mica::grad
