// Reading the units and holding what they share against each other.
#pragma once
#include "link.h"

namespace mica::link {

/// Reads and verifies every input; an exit code.
int read_units(Job &job);

/// Exactly one unit is a program, and what a unit imports is what another exports, type by type. Units say so
/// in sections `section units NAME`, a line each: `export NAME SIGNATURE` or `import NAME UNIT SIGNATURE`.
bool units_agree(const Job &job);

} // namespace mica::link
