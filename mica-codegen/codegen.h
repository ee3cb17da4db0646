// Spectra level `fused` to level `target`.
#pragma once
#include "spectra/module.h"

namespace mica::codegen {

/// Replaces functions and kernels by sections of assembly and PTX. False where an error was reported.
bool generate(spectra::Module &module, spectra::Diag &diag);

/// kernel_rules.cc: what the generators of kernels rely on. False where an error was reported.
bool check_kernels(const spectra::Module &module, spectra::Diag &diag);

} // namespace mica::codegen
