// What every stage's main shares: the command line, stdin and stdout, exit codes, output written beside and
// renamed.
#pragma once
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
} // namespace CLI

namespace spectra {

/// Exit codes of design: what a shell or `micac` can rely on.
enum ExitCode : int {
  kExitOk = 0,
  kExitInput = 1,  ///< the input is wrong; errors were printed
  kExitUsage = 2,  ///< the command line is wrong
  kExitCutOff = 3, ///< the text ended before its `end`, or its reader left: the neighbour has said why
  kExitFault = 70, ///< a fault of the stage itself
};

inline constexpr const char *kVersion = "7.7.0";

struct StageInfo {
  const char *name;       ///< "mica-check"
  const char *summary;    ///< one line for --help
  const char *input_name; ///< the positional argument's meaning, such as "FILE"
  bool alone = false;     ///< never behind a stage that has already said what was wrong
};

/// What a stage's body gets: the bytes read, the name to show for them, and where to put the output.
struct StageInput {
  std::string name; ///< as the user gave it; "<stdin>" for standard input
  std::string text;
};

/// Parses the command line (`[FILE] [-o FILE] --help --version` plus what `add_options` adds), reads the
/// input, calls `body(input, output)`, and writes `output` whole where the body returned kExitOk and nothing
/// otherwise. Exceptions become exit code 70 with one line on stderr. Returns the process's exit code.
int run_stage(int argc, char **argv, const StageInfo &info,
              const std::function<void(CLI::App &)> &add_options,
              const std::function<int(const StageInput &, std::string &output)> &body);

/// What a command line that could not be parsed ends with: the help or the version where it asked for one
/// (kExitInput where standard output does not take it), else one error and kExitUsage.
int end_of_parse(const CLI::App &app, const CLI::ParseError &error);

/// Reads a file, or standard input for `-`. False with a message on stderr where it can't be read.
bool read_whole(const std::string &path, std::string &bytes, const char *program);

/// A text without its last line: said where nobody else has. The stage before that failed has, so nothing is
/// said of a pipe, but where the program stands `alone`; a file was cut off by other means. Returns
/// kExitCutOff.
int tell_cut_off(const std::string &path, bool alone);

/// Writes `bytes` beside `path` and renames; "-" is stdout. False with a message on stderr where it can't be
/// written. A reader of standard output that left early is no error to tell: the result is false in silence.
bool write_whole(const std::string &path, const std::string &bytes, const char *program);

} // namespace spectra
