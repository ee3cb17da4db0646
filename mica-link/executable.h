// The host's half: assembly to objects, objects and libmicart to an executable.
#pragma once
#include "link.h"

namespace mica::link {

/// Assembles every unit's host section; appends the object files' paths.
bool assemble(const Job &job, const std::string &folder, std::vector<std::string> &objects);

/// Whether the program can stand where it is wanted: asked before any work, and in mica-link's own words. A
/// device or a pipe can't be a program, and renaming onto it would take it away.
bool can_write_output(const std::string &output);

/// Links into a file beside the output and renames it, so that there never is a part of a program.
bool link_objects(const Job &job, const std::string &folder, const std::vector<std::string> &objects);

/// Writes a section's lines.
bool write_lines(const std::string &path, const std::vector<std::string> &lines);

} // namespace mica::link
