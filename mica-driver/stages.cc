// The static table of the stages and which of micac's options each of them takes.
#include "driver.h"
#include "spectra/process.h"

#include <unistd.h>

namespace mica::driver {

const char *stage_name(int stage) {
  static const char *const names[] = {"parse", "check", "grad", "fuse", "codegen"};
  return names[stage];
}

/// Beside micac itself, so that a build is never mixed with another one along PATH.
std::string stage_program(int stage) {
  return spectra::own_folder() + "/mica-" + (stage == kStages ? "link" : stage_name(stage));
}

std::vector<std::string> stage_words(int stage, const Flags &flags) {
  std::vector<std::string> words = {stage_program(stage)};
  auto add = [&](const char *option, const std::string &value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  switch (stage) {
  case kCheck:
    add("--device", flags.device);
    add("--optimize", flags.optimize);
    break;
  case kFuse:
    if (flags.no_fuse) words.push_back("--no-fuse");
    add("--remarks", flags.remarks);
    for (const std::string &report : flags.reports) add("--report", report);
    break;
  case kStages:
    add("--arch", flags.archs);
    for (const std::string &name : flags.libraries) add("-l", name);
    for (const std::string &name : flags.folders) add("-L", name);
    if (flags.verbose) words.push_back("-v");
    break;
  default: break;
  }
  return words;
}

} // namespace mica::driver
