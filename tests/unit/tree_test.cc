// Level parsed: the round trip, the forms of nodes, depth, speed of neither (that is the corpus's), malformed
// texts.
#include "spectra/tree.h"

#include <gtest/gtest.h>
#include <sstream>

using namespace spectra;

namespace {

const char *const kHello = R"(spectra 1 parsed
options
source "hello.mica"
program hello !1:9
  import std !2:5
    name writeln !2:5
  block !3:1
    call_statement !4:5
      call !4:12
        name writeln !4:5
        string "Hello, \"you\"\n" !4:13
        unicode 946
    assign !5:10
      name exit !5:5
      chain !5:15
        integer 0x0F !5:13
        operator - !5:15
        real 1_0.5e-3 !5:17
lines 0 {
| program hello;
|
|   indented {
}
end
)";

struct Read {
  TreeResult result;
  std::string printed, messages;
};

Read read(const std::string &text) {
  Tree tree;
  std::ostringstream messages;
  Read r;
  r.result = read_tree(text, "t.parsed", tree, messages);
  if (r.result == TreeResult::ok) r.printed = print_tree(tree);
  r.messages = messages.str();
  return r;
}

std::string with_tree(const std::string &nodes) {
  return "spectra 1 parsed\noptions\nsource \"a\"\n" + nodes + "end\n";
}

/// A program of `statement` nested in itself `depth` times.
std::string nested(int depth, const std::string &kind) {
  std::string nodes = "program p\n  block\n";
  for (int i = 0; i < depth; ++i) nodes += std::string(static_cast<size_t>(i) * 2 + 4, ' ') + kind + "\n";
  return with_tree(nodes);
}

TEST(Tree, PrintsWhatItReads) {
  Read r = read(kHello);
  EXPECT_EQ(r.messages, "");
  EXPECT_EQ(r.printed, kHello);
}

TEST(Tree, KeepsEveryByteOfAString) {
  Tree tree;
  tree.sources.push_back({"odd \"name\"\n.mica", {"", " ", "| x", "}", "end"}});
  tree.root = tree.node(NodeKind::program, {0, 1, 1}, "p");
  Node *block = tree.node(NodeKind::block, {});
  Node *call = tree.node(NodeKind::call, {0, 7, 8});
  call->add(tree.node(NodeKind::name, {}, "β₁"));
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (const std::string &text :
       {bytes, std::string(), std::string("!1:1"), std::string("\""), std::string(" ")})
    call->add(tree.node(NodeKind::string, {0, 2, 3}, tree.keep(text)));
  Node *statement = tree.node(NodeKind::call_statement, {});
  statement->add(call);
  block->add(statement);
  tree.root->add(block);
  const std::string text = print_tree(tree);
  Read r = read(text);
  EXPECT_EQ(r.messages, "");
  EXPECT_EQ(r.printed, text);
}

TEST(Tree, TellsCutOffFromWrong) {
  const std::string text = kHello;
  for (size_t cut = 0; cut < text.size(); ++cut) {
    Read r = read(text.substr(0, cut));
    // A line cut in its middle may be wrong before its end is missed; what is whole so far is quiet.
    if (r.result == TreeResult::cut_off) {
      EXPECT_EQ(r.messages, "") << cut;
    } else {
      ASSERT_EQ(r.result, TreeResult::wrong) << cut;
    }
    if (cut == 0 || text[cut - 1] == '\n') EXPECT_EQ(r.result, TreeResult::cut_off) << cut;
  }
}

TEST(Tree, SaysWhereATextIsWrong) {
  struct {
    const char *text, *message;
  } const kWrong[] = {
      {"hello\n", "t.parsed:1:1: error: this is no Spectra text: it begins with `spectra 1 LEVEL`\n"},
      {"spectra 1 grad\n", "t.parsed:1:1: error: a text of level parsed is wanted\n"},
      {"spectra 1 parsed\noptions x=1\n", "t.parsed:2:1: error: expected `options`\n"},
      {"spectra 1 parsed\noptions\nsource x\n",
       "t.parsed:3:1: error: expected `source` and a name in quotes\n"},
  };
  for (const auto &wrong : kWrong) EXPECT_EQ(read(wrong.text).messages, wrong.message);
  struct {
    const char *nodes, *message;
  } const kNodes[] = {
      {"", "t.parsed:4:1: error: expected a program or an object\n"},
      {"block\n", "t.parsed:4:1: error: the root is a program or an object\n"},
      {"program p\n", "t.parsed:4:1: error: `program` holds declarations*, block\n"},
      {"program p\n   block\n", "t.parsed:5:1: error: expected a node, indented by two spaces a level\n"},
      {"program p\n    block\n",
       "t.parsed:5:1: error: the node is indented too far or stands beside the root\n"},
      {"program p\n  block\nprogram q\n  block\n",
       "t.parsed:6:1: error: the node is indented too far or stands beside the root\n"},
      {"program p\n  block\n    foo\n", "t.parsed:6:5: error: unknown node `foo`\n"},
      {"program p\n  block !0:1\n", "t.parsed:5:9: error: expected a place, !line:column\n"},
      {"program p\n  block 1:1\n", "t.parsed:5:9: error: expected a place, !line:column\n"},
      {"program !1:1\n  block\n", "t.parsed:4:9: error: `program` needs the program's name\n"},
      {"program \"p\n  block\n", "t.parsed:4:9: error: a wrong string\n"},
      {"program p\n  block\n    assign\n      name a\n",
       "t.parsed:6:1: error: `assign` holds target expression, value expression\n"},
      {"program p\n  block\n    if\n      name a\n      name b\n",
       "t.parsed:6:1: error: `if` holds condition, statement, statement?\n"},
  };
  for (const auto &wrong : kNodes) EXPECT_EQ(read(with_tree(wrong.nodes)).messages, wrong.message);
  EXPECT_EQ(read(std::string(kHello) + "x\n").messages, "t.parsed:25:1: error: text after `end`\n");
}

TEST(Tree, TakesDeepTextsUpToItsLimit) {
  EXPECT_EQ(read(nested(kMaxTreeDepth - 1, "block")).messages, "");
  EXPECT_NE(read(nested(kMaxTreeDepth + 10, "block")).messages.find("nested too deeply"), std::string::npos);
}

TEST(Tree, TakesALongChain) {
  std::string nodes = "program p\n  block\n    assign\n      name a\n      chain\n        integer 1\n";
  for (int i = 0; i < 100000; ++i) nodes += "        operator +\n        integer 1\n";
  const std::string text = with_tree(nodes);
  Read r = read(text);
  EXPECT_EQ(r.messages, "");
  EXPECT_EQ(r.printed, text);
}

/// Every byte of a text changed to some others: an answer, never a crash.
TEST(Tree, SurvivesChangedBytes) {
  const std::string text = kHello;
  for (size_t at = 0; at < text.size(); ++at)
    for (char c : {'\0', ' ', '\n', '"', '!', '|', '\\', '9', '\xFF'}) {
      std::string changed = text;
      changed[at] = c;
      Read r = read(changed);
      if (r.result == TreeResult::ok) EXPECT_EQ(read(r.printed).printed, r.printed);
    }
}

} // namespace
