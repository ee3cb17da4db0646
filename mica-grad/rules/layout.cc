// Operations that move cells, and makers.
#include "rules/rules.h"

namespace mica::grad {
using namespace spectra;

namespace {

/// Zeros of `type`'s shape with `value` put in at `index`, along the last dimension or the first.
Value *put(const Adjoint &a, Value *value, Value *index, const std::vector<int64_t> &sizes, bool rows) {
  Builder &b = a.builder();
  Op *op = b.append(OpCode::put);
  op->operands.push_back(value);
  op->operands.push_back(index);
  if (rows) op->set(Attr::rows, true);
  return b.add_result(op, b.module().types.with_sizes(value->type, sizes));
}

} // namespace

bool layout_rule(const Adjoint &a) {
  const Op &op = a.op();
  switch (op.code) {
  case OpCode::filled:
  case OpCode::broadcast:
    if (a.wants(0)) a.give(0, a.moved_seed(0));
    return true;
  case OpCode::reshape:
    if (a.wants(0)) a.give(0, a.reshape(a.moved_seed(0), a.operand_type(0)->sizes));
    return true;
  case OpCode::transpose:
    if (a.wants(0)) a.give(0, a.make(OpCode::transpose, a.moved_seed(0)));
    return true;
  case OpCode::permute: {
    if (!a.wants(0)) return true;
    const std::vector<int64_t> &order = *op.integers(Attr::order);
    std::vector<int64_t> inverse(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    Value *seed = a.moved_seed(0);
    Op *back = a.builder().append(OpCode::permute);
    back->operands.push_back(seed);
    back->set(Attr::order, inverse);
    a.give(0, a.builder().finish(back));
    return true;
  }
  case OpCode::concat: {
    int64_t column = 0;
    for (int i = 0; i < op.arg_count(); ++i) {
      int64_t width = a.operand_type(i)->columns();
      if (a.wants(i)) {
        Value *seed = a.moved_seed(i), *from = a.integer(column);
        Op *part = a.builder().append(OpCode::slice);
        part->operands.push_back(seed);
        part->operands.push_back(from);
        part->set(Attr::count, width);
        a.give(i, a.builder().finish(part));
      }
      column += width;
    }
    return true;
  }
  case OpCode::slice:
    if (a.wants(0)) a.give(0, put(a, a.moved_seed(0), op.arg(1), a.operand_type(0)->sizes, false));
    return true;
  case OpCode::slice_rows:
    if (a.wants(0)) a.give(0, put(a, a.moved_seed(0), op.arg(1), a.operand_type(0)->sizes, true));
    return true;
  case OpCode::row: {
    if (!a.wants(0)) return true;
    std::vector<int64_t> one = a.operand_type(0)->sizes;
    one[0] = 1;
    a.give(0, put(a, a.reshape(a.moved_seed(0), one), op.arg(1), a.operand_type(0)->sizes, true));
    return true;
  }
  case OpCode::cell: {
    if (!a.wants(0)) return true;
    // One cell, then one row of it, and so on outward.
    const std::vector<int64_t> &sizes = a.operand_type(0)->sizes;
    Value *d = a.reshape(a.moved_seed(0), {1});
    for (size_t i = sizes.size(); i-- > 0;) {
      std::vector<int64_t> inner(sizes.begin() + static_cast<long>(i), sizes.end());
      std::vector<int64_t> one = inner;
      one[0] = 1;
      if (d->type->sizes != one) d = a.reshape(d, one);
      d = put(a, d, op.arg(static_cast<int>(i) + 1), inner, true);
    }
    a.give(0, d);
    return true;
  }
  case OpCode::gather: {
    if (!a.wants(0)) return true;
    Value *dy = a.moved_seed(0);
    a.give(0, a.builder().make_typed(OpCode::scatter_rows, {dy, op.arg(1)},
                                     a.sized(dy, a.operand_type(0)->sizes)));
    return true;
  }
  default: return false;
  }
}

} // namespace mica::grad
