// Which operations of level fused are the card's.
#include "card.h"

namespace mica::codegen {

bool is_card_op(const Unit &unit, const Op &op) {
  if (unit.spectra.options.device != "gpu") return false;
  switch (op.code) {
  case OpCode::wait: return true;
  case OpCode::arena: return op.flag(spectra::Attr::gpu);
  case OpCode::launch: {
    const spectra::Kernel *kernel = unit.spectra.find_kernel(op.symbol);
    return kernel && kernel->gpu;
  }
  case OpCode::copy:
  case OpCode::run:
    for (const Value *v : op.operands)
      if (v->type->gpu || (v->type->kind == TypeKind::pointer && v->type->element->gpu)) return true;
    return false;
  default: return false;
  }
}

} // namespace mica::codegen
