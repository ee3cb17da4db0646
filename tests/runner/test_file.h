// A test in one file: header lines `# key: value`, the input, then the expected blocks.
//
//   # test: mica-parse | mica-check
//   # exit: 1
//   program p; ...
//   --- stderr
//   <stdin>:3:5: error: ...
//
// tests/README.md lists the keys. A key or a block that is not known is an error of the file.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mica::tests {

/// `# count: kernel 1`: so many lines of standard output hold that operation.
struct Count {
  std::string what;
  int number = 0;
};

/// `... # error: text` on a line of the input: an error on that line whose message holds the text.
struct ExpectedError {
  int line = 0;
  std::string text;
  bool found = false;
};

struct TestFile {
  std::string path; ///< from the repository's root
  std::string suite, name;
  std::vector<std::string> header; ///< as written, for `make update`
  std::string command;             ///< `# test:`
  int exit_code = 0;
  bool exit_given = false;
  std::string args;               ///< for the built program
  std::string standard_input;     ///< for the built program, escapes resolved
  std::string file;               ///< take the input from this file of the repository
  std::vector<std::string> tiers; ///< for programs that are built and run
  std::string awaits;             ///< what this version of the language does not have yet
  std::string match;              ///< a regular expression for the whole standard output
  int seconds = 60;               ///< the longest that one command may run
  std::vector<Count> counts;
  std::vector<ExpectedError> errors;
  std::string source;                                     ///< the input as it stands in the file
  std::string input;                                      ///< the input without the `# error:` marks
  std::vector<std::pair<std::string, std::string>> files; ///< `--- file NAME`: more files beside the input
  std::optional<std::string> out, err;

  /// A command `micac` that makes a program: the program is run after it.
  bool builds_program() const;
};

/// Reads a test; what is wrong with the file is written to `*wrong` and false returned.
bool read_test(const std::string &root, const std::string &path, TestFile &test, std::string *wrong);

/// The file's text with these blocks in place of its own; an absent block is left out.
std::string render_test(const TestFile &test, const std::optional<std::string> &out,
                        const std::optional<std::string> &err);

std::string read_file(const std::string &path, bool *ok = nullptr);
bool write_file(const std::string &path, const std::string &bytes);
std::vector<std::string> split_words(const std::string &text);
std::vector<std::string> split_lines(const std::string &text);

} // namespace mica::tests
