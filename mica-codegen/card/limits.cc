// What has no code for the card yet, in the words of an error.
#include "device.h"
#include "spectra/ops.h"

namespace mica::codegen {

const char *card_cannot(const spectra::Kernel &kernel) {
  auto is_half = [](const Type *type) { return type->scalar == Scalar::f16 || type->scalar == Scalar::bf16; };
  using spectra::KernelForm;
  switch (kernel.form) {
  case KernelForm::map:
  case KernelForm::rows:
  case KernelForm::reduce:
  case KernelForm::multi: return nullptr;
  case KernelForm::product:
    if (is_half(kernel.params[0]) || is_half(kernel.params[1]) || is_half(kernel.results[0]))
      return "products of halves";
    return nullptr;
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
  auto pointee = [&](size_t i) {
    const Type *t = op.operands[i]->type;
    return t->kind == TypeKind::pointer ? t->element : t;
  };
  auto is_number = [](const Type *t) { return t->scalar == Scalar::f32 || t->scalar == Scalar::f64; };
  auto is_id = [](const Type *t) {
    return t->scalar == Scalar::i32 || t->scalar == Scalar::i64 || t->scalar == Scalar::u8;
  };
  if (name == "gather") return is_id(pointee(1));
  if (name == "scatter_rows") return is_id(pointee(1)) && is_number(pointee(2));
  if (name == "check_targets") return is_id(pointee(0));
  if (name == "adamw_scalars") return is_number(pointee(5));
  if (name == "attention" || name == "attention_gradient") {
    // A warp's lanes hold eight columns each (libmicart/device/attention.cc).
    size_t pointers = 0;
    for (const Value *v : op.operands) pointers += v->type->kind == TypeKind::pointer;
    const bool forward = name == "attention", packed = pointers < (forward ? 4 : 7);
    const Type *q = pointee(forward ? 0 : 3);
    const int64_t heads = std::max<int64_t>(op.integer(spectra::Attr::heads, 1), 1);
    return is_number(q) && q->columns() / (packed ? 3 : 1) / heads <= 256;
  }
  if (name == "norm" || name == "joint_norm") {
    for (size_t i = 0; i < op.operands.size(); ++i)
      if (!is_number(pointee(i)) || pointee(i)->scalar != pointee(0)->scalar) return false;
    return true;
  }
  return false;
}

} // namespace mica::codegen
