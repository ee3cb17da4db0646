#pragma once
#include "window.h"

namespace mica::grad {

/// Finds the values of `window` that depend on the places in `asked`. False where an operation has no
/// gradient.
bool find_activity(spectra::Module &module, const Window &window, const std::vector<Location> &asked,
                   spectra::Diag &diag, Activity &activity);

} // namespace mica::grad
