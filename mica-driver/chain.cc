#include "chain.h"
#include "spectra/process.h"
#include "spectra/stage.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <unistd.h>

namespace mica::driver {
namespace {

/// The command of step `at`: only the first names its input; the others read the pipe.
spectra::Command command_of(const Step &step, bool first, const std::string &input) {
  spectra::Command command;
  command.words = step.words;
  if (first) command.words.insert(command.words.begin() + 1, input);
  return command;
}

/// Standard input that was given as `-` can't be read again.
bool repeatable(const std::string &input) { return input != "-"; }

} // namespace

int run_chain(const std::vector<Step> &steps, const std::string &input, bool verbose, int *faulty) {
  *faulty = -1;
  std::vector<pid_t> programs;
  int read_end = -1;
  if (verbose) { // before anything runs, so that nothing else stands in the line
    std::string line;
    for (size_t i = 0; i < steps.size(); ++i)
      line += (i ? " | " : "") + spectra::shell_line(command_of(steps[i], i == 0, input).words);
    std::cerr << line + "\n";
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    spectra::Command command = command_of(steps[i], i == 0, input);
    int ends[2] = {-1, -1};
    const bool last = i + 1 == steps.size();
    if (!last && pipe2(ends, O_CLOEXEC) != 0) {
      complain(std::string("no pipe: ") + std::strerror(errno));
      spectra::wait_for(programs, false);
      return spectra::kExitFault;
    }
    command.input_fd = read_end;
    command.output_fd = ends[1];
    programs.push_back(spectra::start(command));
    if (read_end >= 0) close(read_end);
    if (ends[1] >= 0) close(ends[1]);
    read_end = ends[0];
  }
  // A stage that stops early closes its pipe; those after it see a text that is cut off and end by themselves
  // (exit code 3), those before it at their next write. So nobody has to be ended from here but on a signal.
  const std::vector<spectra::Ended> ended = spectra::wait_for(programs, false);
  if (spectra::interrupted()) return spectra::kExitFault;
  int result = spectra::kExitOk;
  for (size_t i = 0; i < ended.size(); ++i) {
    if (ended[i].ok()) continue;
    if (ended[i].signal || ended[i].code == spectra::kExitFault || ended[i].code > 125) {
      if (ended[i].signal)
        complain(steps[i].words[0] + " was ended by a signal: " + strsignal(ended[i].signal));
      *faulty = static_cast<int>(i);
      return spectra::kExitFault;
    }
    if (result == spectra::kExitOk || result == spectra::kExitCutOff) result = ended[i].code;
    if (result != spectra::kExitCutOff) break;
  }
  return result;
}

void keep_reproduction(const std::vector<Step> &steps, const std::string &input, int faulty) {
  const Step &step = steps[static_cast<size_t>(faulty)];
  std::string kept = input;
  if (faulty > 0) {
    if (!repeatable(input)) return;
    spectra::TempFolder folder("mica-fault");
    kept = folder.file(std::string(stage_name(step.stage - 1)) + ".spectra");
    std::vector<Step> before(steps.begin(), steps.begin() + faulty);
    before.back().words.insert(before.back().words.end(), {"-o", kept});
    int ignored = -1;
    if (run_chain(before, input, false, &ignored) != spectra::kExitOk) return;
    folder.keep();
  }
  std::vector<std::string> words = step.words;
  for (size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "-o") words[i + 1] = "/dev/null";
  words.insert(words.begin() + 1, kept);
  std::cerr << "micac: this is a fault of the compiler, not of the program; to see it again:\n  "
            << spectra::shell_line(words) << '\n';
}

} // namespace mica::driver
