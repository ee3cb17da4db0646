// The card's half: PTX to cubins for each generation, cubins to a fat binary, the fat binary into an object
// file.
#pragma once
#include "link.h"

namespace mica::link {

/// The generations that a program's kernels are compiled for.
inline constexpr const char *kGenerations[] = {"sm_80", "sm_86", "sm_89", "sm_90", "sm_120"};

/// Does nothing where no unit has PTX; else appends an object file that defines `mica_fatbin`, the fat
/// binary's first byte, and the absolute symbol `mica_fatbin_size`.
bool embed_kernels(const Job &job, const std::string &folder, std::vector<std::string> &objects);

} // namespace mica::link
