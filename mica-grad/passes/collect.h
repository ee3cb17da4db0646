#pragma once
#include "window.h"

namespace mica::grad {

/// Finds every window, Backward and Gradient, and decides which walks are spliced in and which gradients are
/// their values. False where errors were reported.
bool collect_tapes(spectra::Module &module, spectra::Diag &diag, Tapes &tapes);

} // namespace mica::grad
