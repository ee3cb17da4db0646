#pragma once
#include "spectra/build.h"

#include <set>

namespace mica::grad {

/// Rewrites the region of a `tape` of `func` for differentiation: see specialize.cc. False where errors were
/// reported. Locals that it made are appended to `made`, functions that it inlined to `inlined`.
bool specialize_window(spectra::Module &module, spectra::Func &func, spectra::Op &tape, spectra::Diag &diag,
                       std::vector<std::string_view> &made, std::set<const spectra::Func *> &inlined);

} // namespace mica::grad
