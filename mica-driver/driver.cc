#include "driver.h"
#include "chain.h"
#include "spectra/process.h"
#include "spectra/stage.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sys/stat.h>
#include <unistd.h>

namespace mica::driver {
namespace {

/// The stage that an input starts at: a text goes on where it is, anything else is a source. -1 where it
/// can't be read.
int first_stage(const std::string &input) {
  if (input == "-") return kParse;
  std::ifstream in(input, std::ios::binary);
  std::error_code ignored;
  if (!in || std::filesystem::is_directory(input, ignored)) {
    complain("cannot read " + input + ": " + std::strerror(in ? EISDIR : errno));
    return -1;
  }
  std::string word, version, level;
  if (!(in >> word) || word != "spectra" || !(in >> version >> level)) return kParse;
  static const char *const levels[] = {"", "parsed", "checked", "grad", "fused", "target"};
  for (int stage = kCheck; stage <= kStages; ++stage)
    if (level == levels[stage]) return stage;
  return kParse;
}

/// With `--save-temps` the text after each stage: `train.check.spectra` in the current folder.
std::string saved_name(const std::string &input, int stage) {
  std::string stem = input == "-" ? "stdin" : std::filesystem::path(input).stem().string();
  return stem + "." + stage_name(stage) + ".spectra";
}

/// Runs the stages from `first` to `last` on an input; the result goes to `output` (empty: standard output).
int run_stages(const Flags &flags, const std::string &input, int first, int last,
               const std::optional<std::string> &output) {
  std::vector<Step> steps;
  for (int stage = first; stage <= last; ++stage) steps.push_back({stage, stage_words(stage, flags)});
  int faulty = -1;
  if (flags.save_temps) {
    // One after the other, each from the file that the one before wrote.
    std::string from = input;
    for (const Step &step : steps) {
      std::vector<Step> one = {step};
      const std::string file = saved_name(input, step.stage);
      const bool wanted = step.stage == last && output;
      one[0].words.insert(one[0].words.end(), {"-o", wanted ? *output : file});
      int code = run_chain(one, from, flags.verbose, &faulty);
      if (faulty >= 0) keep_reproduction(one, from, faulty);
      if (code != spectra::kExitOk) return code;
      from = wanted ? *output : file;
    }
    return spectra::kExitOk;
  }
  if (output) steps.back().words.insert(steps.back().words.end(), {"-o", *output});
  int code = run_chain(steps, input, flags.verbose, &faulty);
  if (faulty >= 0) keep_reproduction(steps, input, faulty);
  return code;
}

/// Each unit to a text of level target, then all of them to an executable. One unit needs no file between.
int build(const Flags &flags, const std::vector<int> &first) {
  const std::string output = flags.output.value_or("a.out");
  std::vector<std::string> link = stage_words(kStages, flags);
  int faulty = -1;
  if (flags.inputs.size() == 1 && !flags.save_temps) {
    std::vector<Step> steps;
    for (int stage = first[0]; stage <= kStages; ++stage) steps.push_back({stage, stage_words(stage, flags)});
    steps.back().words.insert(steps.back().words.end(), {"-o", output});
    int code = run_chain(steps, flags.inputs[0], flags.verbose, &faulty);
    if (faulty >= 0) keep_reproduction(steps, flags.inputs[0], faulty);
    return code;
  }
  spectra::TempFolder folder("micac");
  int result = spectra::kExitOk;
  std::vector<std::string> texts;
  for (size_t i = 0; i < flags.inputs.size(); ++i) {
    texts.push_back(flags.inputs[i]);
    if (first[i] == kStages) continue;
    texts.back() = flags.save_temps ? saved_name(flags.inputs[i], kCodegen)
                                    : folder.file("unit" + std::to_string(i) + ".spectra");
    int code = run_stages(flags, flags.inputs[i], first[i], kCodegen, texts.back());
    if (spectra::interrupted()) return code;
    if (result == spectra::kExitOk) result = code; // the other units' errors are told too
  }
  if (result != spectra::kExitOk) return result;
  link.insert(link.end(), {"-o", output});
  link.insert(link.end(), texts.begin() + 1, texts.end());
  int code = run_chain({{kStages, link}}, texts[0], flags.verbose, &faulty);
  if (faulty >= 0) keep_reproduction({{kStages, link}}, texts[0], faulty);
  return code;
}

} // namespace

void complain(const std::string &message, const std::string &hint) {
  std::cerr << "micac: error: " + message + "\n" + (hint.empty() ? "" : "  hint: " + hint + "\n");
}

int run(const Flags &flags) {
  if (flags.inputs.empty()) {
    complain("no input is named", "micac program.mica -o program; - is standard input");
    return spectra::kExitUsage;
  }
  if (std::count(flags.inputs.begin(), flags.inputs.end(), "-") > 1) {
    complain("standard input can be read only once");
    return spectra::kExitUsage;
  }
  std::vector<int> first;
  for (const std::string &input : flags.inputs) {
    std::error_code ignored; // where one of them is not there, nothing can be lost
    const std::string output = flags.output.value_or(flags.emit.empty() ? "a.out" : "-");
    if (std::filesystem::equivalent(input, output, ignored)) {
      complain("the output " + output + " would take the place of the input");
      return spectra::kExitUsage;
    }
    first.push_back(first_stage(input));
    if (first.back() < 0) return spectra::kExitInput;
  }
  spectra::catch_interrupts();
  if (flags.emit.empty()) return build(flags, first);
  if (flags.inputs.size() > 1) {
    complain("--emit takes one input");
    return spectra::kExitUsage;
  }
  int last = kParse;
  while (flags.emit != stage_name(last)) ++last;
  if (first[0] > last) {
    complain(flags.inputs[0] + " is already past mica-" + flags.emit);
    return spectra::kExitInput;
  }
  return run_stages(flags, flags.inputs[0], first[0], last, flags.output);
}

} // namespace mica::driver
