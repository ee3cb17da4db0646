#pragma once
#include "spectra/module.h"

namespace mica::grad {

/// Replaces every composite verb of the module by its lines.
void inline_verbs(spectra::Module &module);

} // namespace mica::grad
