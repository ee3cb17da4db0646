#pragma once
#include "passes/reverse.h"

namespace mica::grad {

/// Gives the backward operations the forward values that they read from inside their forward twins: see
/// save.cc. `roots`: the regions that hold the forward and the backward code. False where errors were
/// reported.
bool keep_values(spectra::Module &module, spectra::Func &func, const std::vector<spectra::Region *> &roots,
                 const std::vector<Mirror> &mirrors, spectra::Diag &diag,
                 std::vector<std::string_view> &made);

} // namespace mica::grad
