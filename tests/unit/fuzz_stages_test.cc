// A text of any level with one thing changed: refused with its line and column, or taken by every stage up to
// the code. Never a crash, no end, a fault of a stage, or an error without a place.
#include "check.h"
#include "codegen.h"
#include "fuse.h"
#include "grad.h"
#include "mutate.h"
#include "spectra/stage.h"
#include "spectra/text.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <sstream>

namespace {

using spectra::Level;

constexpr const char *kStages[] = {"parse", "check", "grad", "fuse", "codegen"};

std::string slurp(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The text of a program after a stage, by the programs themselves.
std::string text_after(const std::string &source, int stage, const std::string &flags) {
  const std::string out = testing::TempDir() + "fuzz." + std::to_string(getpid());
  const std::string command = std::string("build/bin/micac --emit=") + kStages[stage] + " " + flags + " " +
                              source + " -o " + out + " 2>" + out + ".err";
  const int code = std::system(command.c_str());
  std::string text = slurp(out);
  std::remove(out.c_str());
  std::remove((out + ".err").c_str());
  return code == 0 ? text : "";
}

/// Runs the stage that reads what `stage` wrote.
int run_next(int stage, const std::string &text, std::string &output) {
  switch (stage) {
  case 0: return mica::check::check_text("t", text, {}, output);
  case 1:
    return spectra::transform_text(
        "t", text, Level::checked, Level::grad,
        [](spectra::Module &m, spectra::Diag &d, void *) { return mica::grad::run(m, d); }, nullptr, output);
  case 2:
    return spectra::transform_text(
        "t", text, Level::grad, Level::fused,
        [](spectra::Module &m, spectra::Diag &d, void *) {
          mica::fuse::Remarks remarks;
          return mica::fuse::fuse(m, d, {true, &remarks, false});
        },
        nullptr, output);
  case 3:
    return spectra::transform_text(
        "t", text, Level::fused, Level::target,
        [](spectra::Module &m, spectra::Diag &d, void *) { return mica::codegen::generate(m, d); }, nullptr,
        output);
  default: {
    spectra::Module module;
    switch (spectra::read_module(text, "t", module, std::cerr)) {
    case spectra::ReadResult::ok: break;
    case spectra::ReadResult::wrong: return spectra::kExitInput;
    case spectra::ReadResult::cut_off: return spectra::kExitCutOff;
    }
    if (!spectra::verify_module(module, "t", std::cerr)) return spectra::kExitInput;
    output = spectra::print_module(module);
    return spectra::kExitOk;
  }
  }
}

/// Sends a text that stands after `stage` through all the stages behind; says which law it broke.
std::string broken_law(int stage, const std::string &text) {
  std::string now = text;
  for (; stage <= 4; ++stage) {
    std::ostringstream said;
    std::streambuf *real = std::cerr.rdbuf(said.rdbuf());
    std::string output;
    int code = spectra::kExitFault;
    try {
      code = run_next(stage, now, output);
    } catch (const std::exception &fault) {
      said << "exception: " << fault.what() << "\n";
    }
    std::cerr.rdbuf(real);
    const std::string reader = std::string("after ") + kStages[stage] + ": ";
    if (code == spectra::kExitCutOff)
      return said.str().empty() ? "" : reader + "cut off, but said " + said.str();
    if (code == spectra::kExitInput) {
      const std::string words = said.str();
      const size_t error = words.find(": error: ");
      if (error == std::string::npos) return reader + "an error without words: " + words;
      const size_t begin = words.rfind('\n', error) == std::string::npos ? 0 : words.rfind('\n', error) + 1;
      const std::string place = words.substr(begin, error - begin);
      const size_t column = place.rfind(':'), line = column ? place.rfind(':', column - 1) : column;
      if (column == std::string::npos || line == std::string::npos || line == column ||
          place.find_first_not_of("0123456789", column + 1) != std::string::npos ||
          column + 1 == place.size())
        return reader + "an error without a place: " + words.substr(0, 400);
      return "";
    }
    if (code != spectra::kExitOk) return reader + "exit code " + std::to_string(code) + ": " + said.str();
    now = output;
  }
  return "";
}

struct Case {
  const char *source, *flags;
  int last = 4; ///< the last level that the program has
};

std::string tried_all(const Case &c, int stage, uint32_t from, uint32_t to) {
  const std::string text = text_after(c.source, stage, c.flags);
  if (text.empty()) return std::string(c.source) + " does not compile up to mica-" + kStages[stage];
  if (const char *file = std::getenv("MICA_FUZZ_KEEP")) { // the text itself, to run a stage on it by hand
    std::ofstream(file, std::ios::binary) << mica::fuzz::mutated(text, from);
    return "";
  }
  return mica::fuzz::tried(
      from, to, [&](uint32_t number) { return broken_law(stage, mica::fuzz::mutated(text, number)); });
}

const Case kCases[] = {
    {"tests/fuzz/scalars.mica", "--device cpu"},
    {"tests/fuzz/window.mica", "--device cpu"},
    {"tests/fuzz/loops.mica", "--device cpu --optimize O2"},
    {"tests/fuzz/card.mica", "--device gpu --optimize O2", 2},
};

class Fuzz : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Fuzz, AnyTextIsRefusedInWordsOrTaken) {
  // MICA_FUZZ="FILE FLAGS" looks further: MICA_FUZZ_FROM and MICA_FUZZ_TO say which changes,
  // MICA_FUZZ_KEEP=FILE writes the first of them.
  auto number = [](const char *name, uint32_t otherwise) {
    const char *value = std::getenv(name);
    return value ? static_cast<uint32_t>(std::strtoul(value, nullptr, 10)) : otherwise;
  };
  const auto [stage, which] = GetParam();
  const uint32_t from = number("MICA_FUZZ_FROM", 0), to = number("MICA_FUZZ_TO", 32);
  const Case &c = kCases[which];
  if (const char *chosen = std::getenv("MICA_FUZZ")) {
    if (which != 0) return;
    const std::string words = chosen;
    const size_t blank = words.find(' ');
    const std::string file = words.substr(0, blank),
                      flags = blank == std::string::npos ? "" : words.substr(blank);
    EXPECT_EQ(tried_all({file.c_str(), flags.c_str()}, stage, from, to), "") << file;
  } else if (stage <= c.last) {
    EXPECT_EQ(tried_all(c, stage, from, to), "") << c.source;
  }
}

INSTANTIATE_TEST_SUITE_P(After, Fuzz,
                         testing::Combine(testing::Range(0, 5),
                                          testing::Range(0, static_cast<int>(std::size(kCases)))),
                         [](const auto &info) {
                           const std::string file = kCases[std::get<1>(info.param)].source;
                           const size_t name = file.rfind('/') + 1;
                           return std::string(kStages[std::get<0>(info.param)]) + "_" +
                                  file.substr(name, file.rfind('.') - name);
                         });

} // namespace
