// What has no code for the card yet, in the words of an error.
#include "device.h"
#include "spectra/ops.h"

namespace mica::codegen {

const char *card_cannot(const spectra::Kernel &kernel) {
  auto is_half = [](const Type *type) { return type->scalar == Scalar::f16 || type->scalar == Scalar::bf16; };
  using spectra::KernelForm;
  switch (kernel.form) {
  case KernelForm::map: return nullptr;
  case KernelForm::product:
    if (is_half(kernel.params[0]) || is_half(kernel.params[1]) || is_half(kernel.results[0]))
      return "products of halves";
    return nullptr;
  case KernelForm::rows: return "operations on rows";
  case KernelForm::reduce: return "reductions";
  case KernelForm::multi: return "operations on many tensors at once";
  }
  return nullptr;
}

bool card_can_run(const Op &op) {
  std::string name = op.text(spectra::Attr::name);
  if (name == "normal" || name == "uniform")
    return op.operands.back()->type->element->scalar >= Scalar::f32; // no halves yet
  if (name == "transpose" || name == "concat") return true;
  if (name == "permute") return op.operands[0]->type->element->rank() <= 8;
  if (name == "slice" || name == "slice_rows" || name == "row" || name == "put")
    return op.operands[1]->type->is_scalar(); // where from, the host knows
  return false;
}

} // namespace mica::codegen
