// Reading the units and holding what they share against each other.
#pragma once
#include "link.h"

namespace mica::link {

/// Reads and verifies every input; an exit code.
int read_units(Job &job);

/// What a unit imports is what another exports, type by type. Units say so in `section units NAME`, a line
/// each: `export NAME SIGNATURE` or `import NAME SIGNATURE`. A name that no unit exports is a C library's:
/// the linker finds it.
bool units_agree(const Job &job);

} // namespace mica::link
