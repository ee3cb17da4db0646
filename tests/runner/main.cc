// The runner: every tests/*/NAME.test is one GoogleTest, so that filters and shards work on them.
//
//   build/bin/mica-tests --gtest_filter=parse.precedence
//   MICA_UPDATE=1 build/bin/mica-tests          rewrites the expectations that differ and lists them (`make
//   update`)
//
// tests/README.md describes the files. Programs that are built and run are tested once a tier, and what they
// print is never rewritten: it follows from the language, not from what the compiler happens to do.
#include "compare.h"
#include "laws.h"
#include "program.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <iostream>

namespace mica::tests {
namespace {

bool updating() {
  const char *value = std::getenv("MICA_UPDATE");
  return value && *value && std::string(value) != "0";
}

Outcome run_command(const TestFile &test) {
  Scratch scratch;
  for (const auto &[name, bytes] : test.files) write_file(scratch.path() + "/" + name, bytes);
  return run_pipeline(replace_root(test.command), test.input, scratch.path(), test.seconds);
}

/// The compiler said that this version does not have something yet. The test counts again as soon as it does
/// not say so.
bool refused(const Outcome &outcome) {
  if (outcome.exit_code != 1) return false;
  for (const char *words : {"not yet in this version", "comes in a later version"})
    if (outcome.err.find(words) != std::string::npos) return true;
  return false;
}

class FileTest : public testing::Test {
public:
  FileTest(TestFile test, std::string tier) : test_(std::move(test)), tier_(std::move(tier)) {}

  void TestBody() override {
    const bool program = test_.builds_program();
    const Outcome outcome =
        program ? build_and_run(test_, tier_.empty() ? "" : "--optimize " + tier_) : run_command(test_);
    if (!test_.awaits.empty() && refused(outcome)) GTEST_SKIP() << test_.path << " awaits " << test_.awaits;
    std::string wrong = compare(test_, outcome);
    if (wrong.empty()) return;
    if (updating() && (!program || !outcome.built) && rewrite(outcome)) return;
    if (!tier_.empty()) wrong = "tier " + tier_ + "\n" + wrong;
    if (outcome.exit_code != test_.exit_code && !outcome.err.empty()) wrong += "it said:\n" + outcome.err;
    FAIL() << test_.path << "\n" << wrong << "alone: build/bin/mica-tests --gtest_filter=" << full_name();
  }

private:
  std::string full_name() const {
    const testing::TestInfo *info = testing::UnitTest::GetInstance()->current_test_info();
    return std::string(info->test_suite_name()) + "." + info->name();
  }

  /// Writes what came as what is expected. A crash, another exit code and broken laws are never accepted.
  bool rewrite(const Outcome &outcome) const {
    TestFile now = test_;
    const std::string out = normalize(outcome.out), err = normalize(outcome.err);
    const bool by_other_means = !test_.counts.empty() || !test_.errors.empty() || !test_.match.empty();
    now.out = test_.out || (!by_other_means && (test_.exit_code == 0 || !out.empty())) ? std::optional(out)
                                                                                       : std::nullopt;
    now.err = test_.err || (test_.errors.empty() && (test_.exit_code != 0 || !err.empty()))
                  ? std::optional(err)
                  : std::nullopt;
    if (now.err && now.err->empty() && test_.exit_code == 0) now.err.reset();
    if (!compare(now, outcome).empty()) return false;
    if (!write_file(root() + "/" + test_.path, render_test(test_, now.out, now.err))) return false;
    std::cout << "updated " << test_.path << std::endl;
    return true;
  }

  TestFile test_;
  std::string tier_;
};

class BrokenFile : public testing::Test {
public:
  explicit BrokenFile(std::string text) : text_(std::move(text)) {}
  void TestBody() override { FAIL() << text_; }

private:
  std::string text_;
};

std::string identifier(std::string name) {
  for (char &c : name)
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

void register_file(const std::string &path) {
  TestFile test;
  std::string wrong;
  if (!read_test(root(), path, test, &wrong)) {
    wrong = path + ": " + wrong;
    testing::RegisterTest(test.suite.c_str(), identifier(test.name).c_str(), nullptr, nullptr, path.c_str(),
                          1, [wrong]() -> testing::Test * { return new BrokenFile(wrong); });
    return;
  }
  std::vector<std::string> tiers = test.tiers;
  const bool stated = test.command.find("--optimize") != std::string::npos;
  if (!test.builds_program() || stated)
    tiers = {""};
  else if (tiers.empty())
    tiers = {"debug", "O2"};
  for (const std::string &tier : tiers) {
    std::string name = identifier(test.name) + (tier.empty() ? "" : "_" + identifier(tier));
    testing::RegisterTest(test.suite.c_str(), name.c_str(), nullptr, nullptr, path.c_str(), 1,
                          [test, tier]() -> testing::Test * { return new FileTest(test, tier); });
  }
}

/// Every test file below tests/, in the order of their names.
std::vector<std::string> test_files() {
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(root() + "/tests"))
    if (entry.path().extension() == ".test")
      paths.push_back(std::filesystem::relative(entry.path(), root()).string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

} // namespace
} // namespace mica::tests

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::vector<std::string> files = mica::tests::test_files();
  for (const std::string &path : files) mica::tests::register_file(path);
  if (!mica::tests::updating()) mica::tests::register_laws(files);
  return RUN_ALL_TESTS();
}
