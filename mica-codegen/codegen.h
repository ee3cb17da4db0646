// Spectra level `fused` to level `target`.
#pragma once
#include "spectra/module.h"

namespace mica::codegen {

/// What a text asks for and no generator has, such as an operation in a kernel of a form that can't hold it.
struct Refused {
  spectra::Place place;
  std::string why;
};

/// Replaces functions and kernels by sections of assembly and PTX. False where an error was reported.
bool generate(spectra::Module &module, spectra::Diag &diag);

/// units.cc: what the unit exports and imports, where there is any.
void append_units_section(spectra::Module &module);

/// kernel_rules.cc: what the generators of kernels rely on. False where an error was reported.
bool check_kernels(const spectra::Module &module, spectra::Diag &diag);

} // namespace mica::codegen
