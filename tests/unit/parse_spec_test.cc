// PARSED.md holds what the library does: every kind is in its table, every example gives the tree that it
// shows.
#include "parse_support.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace mica::parse;

namespace {

std::string page() {
  std::ifstream in("ir-spec/PARSED.md");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The text between the next ```word line at or after `at` and its closing line; `at` moves behind it.
std::string fenced(const std::string &text, const std::string &word, size_t &at) {
  size_t open = text.find("```" + word + "\n", at);
  if (open == std::string::npos) return {};
  open += word.size() + 4;
  const size_t close = text.find("```\n", open);
  at = close;
  return text.substr(open, close - open);
}

TEST(ParsedPage, NamesEveryKindWithItsForm) {
  const std::string text = page();
  struct {
    spectra::NodeKind kind;
    const char *atom, *children;
  } const kKinds[] = {
#define NODE(kind, atom, children) {spectra::NodeKind::kind, atom, children},
#include "spectra/tree_nodes.inc"
#undef NODE
  };
  for (const auto &row : kKinds) {
    std::string children;
    for (char c : std::string_view(row.children)) children += c == '*' ? "\\*" : std::string(1, c);
    const std::string line =
        "| `" + std::string(spectra::node_name(row.kind)) + "` | " + row.atom + " | " + children + " |";
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
}

TEST(ParsedPage, ShowsWhatTheParserGives) {
  const std::string text = page();
  int examples = 0;
  for (size_t at = 0;; ++examples) {
    const std::string source = fenced(text, "mica", at);
    if (source.empty()) break;
    const std::string expected = fenced(text, "tree", at);
    const Parsed parsed = parse(source);
    ASSERT_EQ(parsed.messages, "");
    std::istringstream in(parsed.text);
    std::string tree;
    int number = 0;
    for (std::string line; std::getline(in, line) && line != "lines 0 {";)
      if (++number > 3) tree += line.substr(0, line.rfind(" !")) + "\n";
    EXPECT_EQ(tree, expected);
  }
  EXPECT_GE(examples, 4);
}

} // namespace
