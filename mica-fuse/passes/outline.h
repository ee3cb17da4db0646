// Outlining: a group of operations becomes a kernel's body over items (SPECTRA.md "fused: kernels").
#pragma once
#include "group.h"
#include "spectra/build.h"

#include <functional>

namespace mica::fuse {

/// A kernel and what its launches pass: values of the program, in the order of its parameters and results.
struct Outlined {
  spectra::Kernel *kernel = nullptr;
  std::vector<Value *> inputs;  ///< whole values and host scalars
  std::vector<Value *> outputs; ///< the group's values that are needed outside
};

/// Makes kernels and shares those that are alike.
class Outliner {
public:
  explicit Outliner(spectra::Module &module) : module_(module) {}

  /// `needed(value)`: whether a value of the group is used outside it.
  Outlined outline(const Node &node, const std::function<bool(const Value *)> &needed);
  /// reduce: one whole value over dimensions `over` to `result`.
  spectra::Kernel *reduce(const Op &op, const Type *from, const Type *result, const char *kind,
                          const std::vector<int64_t> &over);
  /// Counts the cells that are 0 or more.
  spectra::Kernel *count_from_zero(const Op &op);
  spectra::Kernel *product(const Op &op);
  /// One scalar of the card, computed by `body` from scalars: of the processor, passed by value, or of the
  /// card.
  spectra::Kernel *
  scalar(const Op &op, const std::vector<const Type *> &params, const Type *result,
         const std::function<Value *(spectra::Builder &, const std::vector<Value *> &)> &body);
  /// multi over cells of `cell` type: `body` gets scalars, as `cell`, then members and gives the new cells.
  /// A scalar's type says whether a launch passes it (the processor's) or its address (the card's).
  spectra::Kernel *
  multi(const Op &op, const Type *cell, bool gpu, const std::vector<const Type *> &scalars, int members,
        std::vector<int64_t> writes,
        const std::function<std::vector<Value *>(spectra::Builder &, const std::vector<Value *> &)> &body);

private:
  spectra::Kernel *finish(spectra::Kernel *kernel);
  spectra::Kernel *begin(const Op &op, spectra::KernelForm form, const char *verb);
  Value *parameter(spectra::Kernel *kernel, const Type *full, const Type *item, std::string_view name);

  spectra::Module &module_;
  std::map<std::string, spectra::Kernel *> known_; ///< by text without name and places
  int count_ = 0;
};

} // namespace mica::fuse
