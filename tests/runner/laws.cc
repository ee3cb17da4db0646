#include "laws.h"
#include "compare.h"
#include "program.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

namespace mica::tests {
namespace {

struct Stage {
  const char *emit;
  const char *program;
};
constexpr Stage kStages[] = {{"parse", "mica-parse"},
                             {"check", "mica-check"},
                             {"grad", "mica-grad"},
                             {"fuse", "mica-fuse"},
                             {"codegen", "mica-codegen"}};

class LawTest : public testing::Test {
public:
  LawTest(std::string name, std::string source, std::string tier)
      : file_(std::move(name)), source_(std::move(source)), tier_(std::move(tier)) {}

  void TestBody() override {
    Scratch scratch;
    ASSERT_TRUE(write_file(scratch.path() + "/" + file_, source_));
    std::string text;
    for (const Stage &stage : kStages) {
      if (access((programs() + "/" + stage.program).c_str(), X_OK) != 0) break;
      std::vector<std::string> words = {stage.program};
      if (std::string(stage.emit) == "parse") words.push_back(file_);
      if (std::string(stage.emit) == "check")
        words.insert(words.end(), {"--device", "cpu", "--optimize", tier_});
      const Outcome piped = run_program(words, text, scratch.path(), 120);
      ASSERT_EQ(piped.exit_code, 0) << stage.program << ": " << piped.err;
      text = piped.out;
      EXPECT_EQ(check_laws(text), "") << "level after " << stage.program;

      const std::string emit = std::string("--emit=") + stage.emit;
      const Outcome driven = run_program({"micac", "--device", "cpu", "--optimize", tier_, emit, file_}, {},
                                         scratch.path(), 120);
      ASSERT_EQ(driven.exit_code, 0) << "micac " << emit << ": " << driven.err;
      EXPECT_TRUE(driven.out == text) << "micac " << emit << " differs from the stages in a row\n"
                                      << unified_diff(text, driven.out, "text").substr(0, 4000);
    }
  }

private:
  std::string file_, source_, tier_;
};

/// One answer for every tier, fused or not, on any number of threads (the processor's numerics).
class BitsTest : public testing::Test {
public:
  explicit BitsTest(TestFile test) : test_(std::move(test)) {}

  void TestBody() override {
    const Outcome first = build_and_run(test_, "--optimize debug", "threads=2");
    if (!first.built) return; // the test of the program itself says so
    for (const char *options :
         {"--optimize O1", "--optimize O2 --no-fuse", "--optimize O3", "--optimize release"}) {
      const Outcome other =
          build_and_run(test_, options, std::string(options).ends_with("release") ? "" : "threads=1");
      EXPECT_EQ(other.exit_code, first.exit_code) << options;
      EXPECT_TRUE(other.out == first.out) << options << " on one thread differs from debug on two\n"
                                          << unified_diff(first.out, other.out, "stdout");
    }
  }

private:
  TestFile test_;
};

void add(const std::string &suite, const std::string &file, const std::string &path,
         const std::string &source) {
  for (const char *tier : {"debug", "O2"}) {
    std::string name = file + "_" + tier;
    testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, path.c_str(), 1,
                          [=]() -> testing::Test * { return new LawTest(file + ".mica", source, tier); });
  }
}

} // namespace

void register_laws(const std::vector<std::string> &test_files) {
  for (const std::string &path : test_files) {
    TestFile test;
    std::string wrong;
    if (!read_test(root(), path, test, &wrong) || !test.builds_program() || !test.file.empty() ||
        !test.files.empty())
      continue;
    if (test.seconds > 60) continue;                                        // said to be slow
    if (test.err || !test.errors.empty() || !test.awaits.empty()) continue; // may not compile, or warns
    add("laws_" + test.suite, test.name, path, test.input);
    if (test.args.find("+mica") == std::string::npos)
      testing::RegisterTest("laws_bits", test.name.c_str(), nullptr, nullptr, path.c_str(), 1,
                            [test]() -> testing::Test * { return new BitsTest(test); });
  }
  std::error_code ignored;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(root() + "/examples", ignored))
    if (entry.path().extension() == ".mica")
      add("laws_examples", entry.path().stem().string(), entry.path().string(),
          read_file(entry.path().string()));
}

} // namespace mica::tests
