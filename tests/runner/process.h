// Running programs with a deadline, their output caught.
#pragma once
#include <string>
#include <vector>

namespace mica::tests {

struct Outcome {
  int exit_code = 0;  ///< 128 + n for signal n
  std::string signal; ///< "killed by signal 11", "ran longer than 60 s", or empty
  std::string out, err;
  bool built = true; ///< false where a program was to be built and could not be
};

/// A folder of its own that goes with the object.
class Scratch {
public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch &) = delete;
  const std::string &path() const { return path_; }

private:
  std::string path_;
};

/// Runs a program (found in build/bin first, then along PATH) in `folder`.
Outcome run_program(const std::vector<std::string> &words, const std::string &input,
                    const std::string &folder, int seconds);

/// Runs `a | b | c` one after the other, so that what they say on stderr comes in order. Like in a pipe,
/// whose later programs stop quietly at a text that was cut off, nothing runs after one that failed, and its
/// exit code is the result.
Outcome run_pipeline(const std::string &command, const std::string &input, const std::string &folder,
                     int seconds);

/// The repository's root and build/bin, from where this program lies.
const std::string &root();
const std::string &programs();

} // namespace mica::tests
