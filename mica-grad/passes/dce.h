#pragma once
#include "spectra/build.h"
#include <set>
#include <string_view>
#include <unordered_set>

namespace mica::grad {

/// Removes operations of `root` whose results nobody reads and that do nothing else, results of branches and
/// values carried by loops that nobody reads, and writes to the locals in `own` that nobody reads. `wanted`:
/// values that are read from outside.
void remove_dead(spectra::Region &root, const std::unordered_set<const spectra::Value *> &wanted,
                 const std::set<std::string_view> &own = {});

} // namespace mica::grad
