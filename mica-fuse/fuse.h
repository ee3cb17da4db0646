// Spectra level `grad` to level `fused`: groups become kernels, whole values become memory.
#pragma once
#include "remarks.h"
#include "spectra/module.h"

namespace mica::fuse {

struct Options {
  bool fuse = true; ///< false: one operation a kernel; the bits are the same
  Remarks *remarks = nullptr;
  bool report_memory = false;
};

/// False where an error was reported.
bool fuse(spectra::Module &module, spectra::Diag &diag, const Options &options);

} // namespace mica::fuse
