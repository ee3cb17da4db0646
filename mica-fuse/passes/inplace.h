// The in-place verbs: many tensors at once, as `multi` kernels whose bodies are the lines of numerics.md 10
// and 11.
#pragma once
#include "outline.h"

namespace mica::fuse {

/// What lowering offers while it stands at the operation.
struct InplaceHost {
  virtual ~InplaceHost() = default;
  virtual spectra::Builder &build() = 0;
  virtual Outliner &outliner() = 0;
  virtual spectra::Module &module() = 0;
  virtual Value *pointer_to(Value *v) = 0; ///< where a whole value lies; others themselves
  virtual Value *scratch(const Type *type, std::string_view name) = 0; ///< memory for this operation alone
  virtual void lies_at(Value *v, Value *pointer) = 0;                  ///< says where a new value lies
  virtual void launch(const spectra::Kernel *kernel, const std::vector<Value *> &operands) = 0;
  virtual Op *run_routine(const char *name, const std::vector<Value *> &operands) = 0;
  virtual Value *read_scalar(Value *pointer, Value *result) = 0;
};

/// Whether `op` was one of them; then it has been lowered.
bool lower_inplace(InplaceHost &host, Op &op);

} // namespace mica::fuse
