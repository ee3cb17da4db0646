#pragma once
#include "window.h"

namespace mica::grad {

/// Rewrites a window's region for differentiation: see specialize.cc. False where errors were reported.
/// Locals that it made are appended to `made`, functions that it inlined to `inlined`; twins of recursive
/// procedures are found and written anew likewise.
bool specialize_window(spectra::Module &module, Window &window, spectra::Diag &diag,
                       std::map<const spectra::Func *, std::vector<std::string_view>> &made,
                       std::set<const spectra::Func *> &inlined);

} // namespace mica::grad
