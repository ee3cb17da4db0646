// Attention. Its gradient is one operation too, which computes the probabilities again from what the forward
// kept of each row (its greatest score, its sum): nothing that grows with queries times keys is kept.
#include "rules/rules.h"

namespace mica::grad {
using namespace spectra;

bool attention_rule(const Adjoint &a) {
  const Op &op = a.op();
  if (op.code != OpCode::attention) return false;
  Op *back = a.builder().append(OpCode::attention_gradient);
  back->operands = {a.moved_seed(0), op.results[0], op.results[1]};
  back->operands.insert(back->operands.end(), op.operands.begin(), op.operands.end());
  for (const Attribute &attribute : op.attributes) back->attributes.push_back(attribute);
  std::vector<const Type *> types;
  std::string why;
  if (!infer_types(a.builder().module(), nullptr, *back, types, why)) throw std::logic_error(why);
  for (const Type *type : types) a.builder().add_result(back, type);
  for (size_t i = 0; i < types.size(); ++i) a.give(static_cast<int>(i), back->results[i]);
  return true;
}

} // namespace mica::grad
