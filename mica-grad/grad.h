// The passes of mica-grad, level `checked` to level `grad`.
#pragma once
#include "spectra/module.h"

namespace mica::grad {

/// False where errors were reported.
bool run(spectra::Module &module, spectra::Diag &diag);

} // namespace mica::grad
