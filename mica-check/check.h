// From a parsed tree to a module of level `checked`.
#pragma once
#include "spectra/diag.h"
#include "spectra/module.h"
#include "spectra/tree.h"
#include <string>

namespace mica::check {

struct Flags {
  std::string device;             ///< cpu, gpu; empty: gpu where the program says `on gpu`
  std::string optimize = "debug"; ///< the tier and further words, separated by commas
  bool promote_only = false;      ///< the text is checked already: its last pass alone, for its tests
};

/// Reads a text of level `parsed` and gives one of level `checked`. The answer is an exit code.
int check_text(const std::string &name, const std::string &text, const Flags &flags, std::string &output);

/// The tier and words of `--optimize`; false where a word is unknown.
bool read_optimize(const std::string &words, spectra::Options &options, std::string &wrong);

} // namespace mica::check
