// The last pass of mica-check, on a module of level checked: whole values of variables become values.
#pragma once
#include "spectra/module.h"

namespace mica::check {

void promote(spectra::Module &);

} // namespace mica::check
