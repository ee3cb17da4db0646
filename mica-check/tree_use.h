// How mica-check sees the parsed tree (ir-spec/PARSED.md).
#pragma once
#include "spectra/tree.h"

namespace mica::check {
using Node = spectra::Node;
} // namespace mica::check
