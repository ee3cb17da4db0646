// mica-link: from texts of level target to an executable.
#pragma once
#include "spectra/module.h"

#include <string>
#include <vector>

namespace mica::link {

struct Flags {
  std::vector<std::string> inputs; ///< `-` is standard input
  std::string output = "a.out";
  std::vector<std::string> archs;     ///< card generations; empty: all of kGenerations
  std::vector<std::string> libraries; ///< -l NAME
  std::vector<std::string> folders;   ///< -L FOLDER
  bool verbose = false;               ///< print each command before it runs
};

/// A unit of the program: one text.
struct Unit {
  std::string file; ///< as given, for messages
  spectra::Module module;
};

/// What the steps share.
struct Job {
  const Flags &flags;
  std::vector<Unit> units;
};

/// The whole link; the result is an exit code.
int run(const Flags &flags);

/// One line on stderr, `mica-link: error: ...`, with its way out where there is one.
void complain(const std::string &message, const std::string &hint = {});
/// Runs commands, a few at once; false after the first failure, which is reported with what the program said.
bool run_tools(const Flags &flags, const std::string &folder,
               const std::vector<std::vector<std::string>> &commands);

} // namespace mica::link
