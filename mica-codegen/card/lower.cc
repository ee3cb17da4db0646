// The card's side. This version generates code for the processor alone, and says so with the way out.
#include "card.h"
#include "spectra/ops.h"

namespace mica::codegen {

bool lower_card_kernels(Unit &unit, spectra::Diag &diag) {
  if (unit.spectra.options.device != "gpu") return true;
  for (const spectra::Kernel *kernel : unit.spectra.kernels)
    if (kernel->gpu) {
      diag.error(kernel->places.empty() ? Place{} : kernel->places[0],
                 "this version generates code for the processor alone, and this is computed on the card",
                 "compile with --device cpu: `on gpu` then means the processor");
      return false;
    }
  return true;
}

llvm::Value *emit_card_op(Unit &, Builder &, const Op &op, llvm::ArrayRef<llvm::Value *>) {
  if (op.code == OpCode::wait) return nullptr; // nothing is under way
  throw std::logic_error(std::string("no lowering of `") + spectra::info(op.code).name + "` on the card");
}

} // namespace mica::codegen
