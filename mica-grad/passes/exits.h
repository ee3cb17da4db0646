#pragma once
#include "spectra/build.h"

namespace mica::grad {

/// Rewrites `return`, `break` and `continue` inside `body` into flags, so that every region ends with
/// `yield`. New locals (the flags, the answer) are appended to `locals`. `answer` becomes the local that
/// holds the function's answer, or stays empty where the one `return` at the end gives it. A window's region
/// is passed with `returns` false: none may be there.
void lower_exits(spectra::Module &module, spectra::Region &body, const spectra::Type *result,
                 std::vector<spectra::Variable> &locals, std::string_view &answer);

/// Whether a `return`, or a `break` or `continue` of a loop around the region, stands in it.
bool leaves_region(const spectra::Region &region);

} // namespace mica::grad
