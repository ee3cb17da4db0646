#pragma once
#include "spectra/build.h"

namespace mica::grad {

/// Paths behind pointers whose target is known become paths to it: see addresses.cc.
void fold_addresses(spectra::Module &module);

} // namespace mica::grad
