// micac: the stages in a row, with good manners.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace mica::driver {

struct Flags {
  std::vector<std::string> inputs;   ///< sources, or texts to go on from; `-` is standard input
  std::optional<std::string> output; ///< not said: a.out, or standard output with `emit`
  std::string emit;                  ///< the last stage to run; empty: link
  std::string device, optimize, archs;
  std::vector<std::string> reports;
  std::vector<std::string> libraries, folders;
  bool no_fuse = false;
  std::string remarks = "none";
  bool save_temps = false;
  bool verbose = false;
};

/// The stages before mica-link, in order.
enum Stage : int { kParse, kCheck, kGrad, kFuse, kCodegen, kStages };

/// What `--emit` calls a stage, and the program that it is.
const char *stage_name(int stage);
std::string stage_program(int stage);
/// The words of a stage's command, without its input and output.
std::vector<std::string> stage_words(int stage, const Flags &flags);

/// Compiles and links, or stops after `flags.emit`; the result is an exit code.
int run(const Flags &flags);

/// One line on stderr, `micac: error: ...`.
void complain(const std::string &message, const std::string &hint = {});

} // namespace mica::driver
