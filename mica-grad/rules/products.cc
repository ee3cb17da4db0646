// The matrix product. For c = op(a) op(b): da = dc op(b)', db = op(a)' dc, each written so that no operand is
// transposed in memory. Vectors are matrices of one row or column; leading sizes over a matrix on the right
// are rows.
#include "rules/rules.h"

namespace mica::grad {
using namespace spectra;

namespace {

Value *product(const Adjoint &g, Value *a, Value *b, bool transpose_a, bool transpose_b) {
  Op *op = g.builder().append(OpCode::product);
  op->operands.push_back(a);
  op->operands.push_back(b);
  if (transpose_a) op->set(Attr::transpose_a, true);
  if (transpose_b) op->set(Attr::transpose_b, true);
  return g.builder().finish(op);
}

} // namespace

bool products_rule(const Adjoint &g) {
  const Op &op = g.op();
  if (op.code != OpCode::product) return false;
  const Type *at = g.operand_type(0), *bt = g.operand_type(1), *ct = op.result()->type;
  std::vector<int64_t> as = at->sizes, bs = bt->sizes, cs = ct->sizes;
  bool ta = op.flag(Attr::transpose_a), tb = op.flag(Attr::transpose_b);
  if (as.size() == 1) {
    as.insert(as.begin(), 1);
    cs.insert(cs.end() - 1, 1);
  }
  if (bs.size() == 1) {
    bs.push_back(1);
    cs.push_back(1);
  }
  // Leading sizes are rows where the right operand is a matrix. There a transposed left operand is transposed
  // in memory.
  std::vector<int64_t> turned;
  if (as.size() > 2 && bs.size() == 2) {
    if (ta) {
      std::swap(as[as.size() - 1], as[as.size() - 2]);
      turned = as;
      ta = false;
    }
    int64_t count = 1;
    for (size_t i = 0; i + 1 < as.size(); ++i) count *= as[i];
    as = {count, as.back()};
    cs = {count, cs.back()};
  }
  auto shaped = [&](Value *v, const std::vector<int64_t> &sizes) {
    return v->type->sizes == sizes ? v : g.reshape(v, sizes);
  };
  for (int i = 0; i < 2; ++i) {
    if (!g.wants(i)) continue;
    Value *a = nullptr, *b = nullptr;
    Value *d = shaped(g.moved_seed(i), cs);
    Value *gradient = nullptr;
    if (i == 0) {
      b = shaped(g.moved(op.arg(1), i), bs);
      gradient = ta ? product(g, b, d, tb, true) : product(g, d, b, false, !tb);
      if (!turned.empty()) gradient = g.make(OpCode::transpose, shaped(gradient, turned));
    } else {
      a = g.moved(op.arg(0), i);
      a = shaped(turned.empty() ? a : g.make(OpCode::transpose, a), as);
      gradient = tb ? product(g, d, a, true, ta) : product(g, a, d, !ta, false);
    }
    g.give(i, shaped(gradient, g.operand_type(i)->sizes));
  }
  return true;
}

} // namespace mica::grad
