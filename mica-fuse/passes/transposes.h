#pragma once
#include "../fuse.h"

namespace mica::fuse {

/// product(transpose(a), b) reads a by columns: the transpose becomes a flag and is no work. Both matrices
/// only.
void fold_transposes(spectra::Module &module, const Options &options);

} // namespace mica::fuse
