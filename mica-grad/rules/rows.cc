// Operations by rows: the last dimension.
#include "rules/rules.h"

namespace mica::grad {
using namespace spectra;

bool rows_rule(const Adjoint &a) {
  if (a.op().arg_count() < 1) return false;
  const Op &op = a.op();
  switch (op.code) {
  case OpCode::row_sum: a.give(0, a.stretch(a.moved_seed(0), a.operand_type(0))); return true;
  case OpCode::row_mean: {
    Value *n = a.number(static_cast<double>(a.operand_type(0)->columns()), 0);
    a.give(0, a.stretch(a.div(a.seed(0), n), a.operand_type(0)));
    return true;
  }
  case OpCode::row_max: {
    // All of it to the first of the largest cells of the row.
    std::vector<int64_t> leading = a.operand_type(0)->sizes;
    leading.pop_back();
    Value *where = a.make(OpCode::row_arg_max, op.arg(0));
    Value *dy = a.moved_seed(0);
    if (leading.empty()) { // a vector is one row
      Value *flat = a.builder().make_typed(OpCode::row_put, {dy, a.reshape(where, {1})},
                                           a.sized(dy, {1, a.operand_type(0)->columns()}));
      a.give(0, a.reshape(flat, a.operand_type(0)->sizes));
      return true;
    }
    dy = a.reshape(dy, leading);
    a.give(0, a.builder().make_typed(OpCode::row_put, {dy, where}, a.sized(dy, a.operand_type(0)->sizes)));
    return true;
  }
  case OpCode::row_pick: {
    Value *dy = a.moved_seed(0);
    a.give(0,
           a.builder().make_typed(OpCode::row_put, {dy, op.arg(1)}, a.sized(dy, a.operand_type(0)->sizes)));
    return true;
  }
  case OpCode::softmax: {
    Value *y = a.result(0), *dy = a.seed(0);
    a.give(0, a.mul(y, a.sub(dy, a.make(OpCode::row_sum, a.mul(dy, y)))));
    return true;
  }
  case OpCode::log_softmax: {
    Value *y = a.result(0), *dy = a.seed(0);
    a.give(0, a.sub(dy, a.mul(a.make(OpCode::exp, y), a.make(OpCode::row_sum, dy))));
    return true;
  }
  default: return false;
  }
}

} // namespace mica::grad
