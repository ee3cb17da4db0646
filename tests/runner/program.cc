#include "program.h"

#include <filesystem>

namespace mica::tests {

std::string replace_root(std::string text) {
  const std::string word = "$ROOT";
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at))
    text.replace(at, word.size(), root());
  return text;
}

Outcome build_and_run(const TestFile &test, const std::string &options, const std::string &runtime_flags) {
  Scratch scratch;
  std::string source =
      test.file.empty() ? test.name + ".mica" : std::filesystem::path(test.file).filename().string();
  if (!write_file(scratch.path() + "/" + source, test.input))
    return {127, "cannot write " + source, {}, {}, false};
  for (const auto &[name, bytes] : test.files)
    if (!write_file(scratch.path() + "/" + name, bytes)) return {127, "cannot write " + name, {}, {}, false};
  std::string command = test.command;
  if (!options.empty()) command += " " + options;
  const std::string program = scratch.path() + "/program";
  Outcome built = run_pipeline(command + " " + source + " -o program", {}, scratch.path(), test.seconds);
  if (built.exit_code != 0) {
    std::error_code ignored;
    if (std::filesystem::exists(program, ignored))
      built.signal += "a program was left behind by a build that failed";
    built.built = false;
    return built;
  }
  std::vector<std::string> words = {program};
  for (const std::string &word : split_words(replace_root(test.args))) words.push_back(word);
  if (!runtime_flags.empty())
    for (const std::string &word : split_words("+mica " + runtime_flags + " -mica")) words.push_back(word);
  Outcome ran = run_program(words, test.standard_input, scratch.path(), test.seconds);
  ran.out = built.out + ran.out;
  ran.err = built.err + ran.err;
  return ran;
}

} // namespace mica::tests
