// Running other programs: what micac and mica-link share. Nothing here touches a Spectra text.
#pragma once
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <vector>

namespace spectra {

/// What the machine refuses, such as a temporary folder: nobody's fault here, and no fault of the program.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A temporary folder (below $TMPDIR, else /tmp) that goes with the object.
class TempFolder {
public:
  explicit TempFolder(const std::string &prefix);
  ~TempFolder();
  TempFolder(const TempFolder &) = delete;
  TempFolder &operator=(const TempFolder &) = delete;
  std::string file(const std::string &name) const { return path_ + "/" + name; }
  const std::string &path() const { return path_; }
  /// The folder stays where it is.
  void keep() { kept_ = true; }

private:
  std::string path_;
  bool kept_ = false;
};

/// A program to run. `words[0]` is a path, or a name to find along PATH. Empty files: the caller's own
/// streams.
struct Command {
  std::vector<std::string> words;
  std::string input, output, errors;
  int input_fd = -1,
      output_fd = -1; ///< instead of the files: ends of pipes, which stay the caller's to close
};

/// How a program ended.
struct Ended {
  int code = 0;   ///< its exit code; 127 where it could not be started
  int signal = 0; ///< the signal that ended it, or 0
  bool ok() const { return code == 0 && signal == 0; }
};

/// Starts a program; -1 with a message on stderr where that is impossible.
pid_t start(const Command &command);
/// Waits for the programs, in any order. When one fails the others are ended where `end_others` is set; when
/// this process is asked to end (SIGINT, SIGTERM, SIGHUP), all of them are.
std::vector<Ended> wait_for(const std::vector<pid_t> &programs, bool end_others);
/// Runs commands, at most `limit` at once; after one failed no further one is started.
std::vector<Ended> run_commands(const std::vector<Command> &commands, int limit);

/// Makes SIGINT, SIGTERM and SIGHUP end the programs waited for, instead of this one, so that it can clean
/// up.
void catch_interrupts();
/// The signal that asked this process to end, or 0.
int interrupted();

/// The path of a program along PATH, or empty.
std::string find_program(const std::string &name);
/// The folder of this program's own file.
std::string own_folder();
/// How many processors this process may use.
int processors();
/// The words as a shell would take them.
std::string shell_line(const std::vector<std::string> &words);

} // namespace spectra
