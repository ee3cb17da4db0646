// What a unit gives to and takes from others, for the link to compare.
#pragma once
#include "spectra/module.h"

namespace mica::codegen {

/// The section `units`: `export NAME SIGNATURE` for each exported function, `import NAME SIGNATURE` for each
/// external one. Empty where the unit stands alone.
spectra::Section units_section(const spectra::Module &module);

} // namespace mica::codegen
