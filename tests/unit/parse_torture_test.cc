// Whatever the bytes: a tree or located errors, and an end. Trees that are printed read back to the same
// text.
#include "parse_support.h"

#include <gtest/gtest.h>

using namespace mica::parse;

namespace {

const char *const kProgram = R"(program p;
imp writeln : std; sqrt, exp : libm;
const N = 0xF; Pi = 3.14; Name = "a\n";
type Color = (red, green); Row = vector[N] of float32;
     Node = record left, right : pointer Node; k : 1..5; end;
     Visit = procedure(var n : Node, int32);
var w : tracked matrix[2, N] of float32 on gpu; g : like w; β₁ : int32 := -1;
external function getpid() : int32;
function F(x : int32, var y : like w) : int32;
    procedure G(); begin leave end;
begin
    case x of 1, 3..5 : G(); 'a' : begin end; else F := (x + 1) * 2 end;
    if x # 2 then repeat x := x + 1 until x >= 9 else while not x do break;
end;
begin
    tape loss := CrossEntropy(x * w, t) end; { a { b } c }
    for i := 1 to 10 by 2 do writeln("%d", value p, w[1..2, 3].k as int8); // last
    exit := 0
end.
)";

/// The answer to any text keeps the laws: errors have places and words, trees read back.
void expect_sane(std::string_view source) {
  const Parsed parsed = parse(source);
  if (parsed.errors) {
    ASSERT_TRUE(parsed.messages.starts_with("t:")) << parsed.messages;
    ASSERT_NE(parsed.messages.find(": error: "), std::string::npos);
    return;
  }
  spectra::Tree tree;
  std::ostringstream messages;
  ASSERT_EQ(spectra::read_tree(parsed.text, "text", tree, messages), spectra::TreeResult::ok)
      << messages.str() << source;
  ASSERT_EQ(spectra::print_tree(tree), parsed.text);
}

uint32_t next_random(uint32_t &state) { return state = state * 1664525u + 1013904223u; }

TEST(Torture, TheProgramItselfParses) {
  EXPECT_EQ(parse(kProgram).messages, "");
  expect_sane(kProgram);
}

TEST(Torture, EveryPrefix) {
  const std::string program = kProgram;
  const size_t whole = program.rfind("end.") + 4;
  for (size_t cut = 0; cut < program.size(); ++cut) {
    expect_sane(std::string_view(program).substr(0, cut));
    EXPECT_EQ(parse(std::string_view(program).substr(0, cut)).errors == 0, cut >= whole) << cut;
  }
}

TEST(Torture, EveryByteChanged) {
  const std::string program = kProgram;
  for (size_t at = 0; at < program.size(); ++at)
    for (char c :
         {'\0', ' ', '{', '"', '\'', '(', ')', ';', '.', ':', '=', '\n', '\r', 'e', '0', '\x80', '\xF0'}) {
      std::string changed = program;
      changed[at] = c;
      expect_sane(changed);
    }
}

TEST(Torture, EveryByteMissingOrTwice) {
  const std::string program = kProgram;
  for (size_t at = 0; at < program.size(); ++at) {
    expect_sane(program.substr(0, at) + program.substr(at + 1));
    expect_sane(program.substr(0, at) + program.substr(at ? at - 1 : 0));
  }
}

TEST(Torture, WordsInAnyOrder) {
  static const char *const kWords[] = {
      "program",  "object",  "begin",   "end",     "end.",  ";",      ".",      ",",     ":",
      ":=",       "=",       "(",       ")",       "[",     "]",      "..",     "if",    "then",
      "else",     "while",   "do",      "for",     "to",    "downto", "repeat", "until", "case",
      "of",       "tape",    "leave",   "var",     "const", "type",   "imp",    "exp",   "external",
      "record",   "array",   "a",       "b",       "1",     "2.5",    "\"s\"",  "'c'",   "procedure",
      "function", "like",    "on",      "gpu",     "by",    "as",     "not",    "-",     "+",
      "*",        "pointer", "tracked", "matrix",  "Begin", "END",    "{",      "}",     "//\n",
      "\n",       "\"",      "value",   "address", "(*",    "<>",     "+=",     "elsif", "return"};
  uint32_t random = 42;
  for (int round = 0; round < 20000; ++round) {
    std::string source = round % 3 ? "program p; " : "";
    if (round % 3 == 1) source += "begin ";
    const uint32_t count = next_random(random) >> 26;
    for (uint32_t i = 0; i < count; ++i)
      source += std::string(kWords[(next_random(random) >> 8) % std::size(kWords)]) + " ";
    expect_sane(source);
  }
}

TEST(Torture, RandomBytes) {
  uint32_t random = 7;
  for (int round = 0; round < 5000; ++round) {
    std::string source = round % 2 ? "program p; begin " : "";
    const uint32_t count = next_random(random) >> 24;
    for (uint32_t i = 0; i < count; ++i) source += static_cast<char>(next_random(random) >> 24);
    expect_sane(source);
  }
}

std::string repeated(const std::string &text, int times) {
  std::string out;
  out.reserve(text.size() * static_cast<size_t>(times));
  while (times--) out += text;
  return out;
}

TEST(Torture, NestingGivesAValueOrOneError) {
  struct {
    const char *before, *open, *middle, *close, *after;
  } const kNests[] = {
      {"program p; begin a := ", "(", "1", ")", " end."},
      {"program p; begin a := ", "a[", "1", "]", " end."},
      {"program p; begin a := ", "f(", "1", ")", " end."},
      {"program p; begin a := ", "- ", "1", "", " end."},
      {"program p; begin a := ", "not ", "b", "", " end."},
      {"program p; begin a := b", "", "", ".c", " end."},
      {"program p; begin a := b", "", "", "[1]", " end."},
      {"program p; begin a := b", "", "", " as c", " end."},
      {"program p; begin ", "begin ", "", " end", " end."},
      {"program p; begin ", "if a then ", "", "", " end."},
      {"program p; begin ", "if a then b() else ", "", "", " end."},
      {"program p; begin ", "while a do ", "", "", " end."},
      {"program p; begin ", "repeat ", "", " until a", " end."},
      {"program p; begin ", "tape ", "", " end", " end."},
      {"program p; begin ", "case a of 1 : ", "", " end", " end."},
      {"program p; begin ", "case a of else ", "", " end", " end."},
      {"program p; var a : ", "pointer ", "b", "", "; begin end."},
      {"program p; var a : ", "array[1..2] of ", "b", "", "; begin end."},
      {"program p; var a : ", "record a : ", "b", " end", "; begin end."},
      {"program p; var a : ", "procedure(", "b", ")", "; begin end."},
      {"program p; var a : ", "tracked ", "b", "", "; begin end."},
      {"program p; ", "procedure a(); ", "", "begin end; ", "begin end."},
      {"", "{", "", "}", "program p; begin end."},
  };
  for (const auto &nest : kNests) {
    for (int times : {1000, 5000, 100000}) {
      const Parsed parsed = parse_on_large_stack(nest.before + repeated(nest.open, times) + nest.middle +
                                                 repeated(nest.close, times) + nest.after);
      EXPECT_LE(parsed.errors, 1) << nest.open;
      if (parsed.errors) {
        EXPECT_NE(parsed.messages.find("error: nested too deeply"), std::string::npos)
            << parsed.messages.substr(0, 300);
        EXPECT_GT(times, 1000) << nest.open;
      }
    }
    // Opened and never closed: errors, but an end.
    const Parsed parsed = parse_on_large_stack(nest.before + repeated(nest.open, 100000));
    if (*nest.open) EXPECT_GE(parsed.errors, 1) << nest.open;
  }
  EXPECT_EQ(parse_on_large_stack("program p; begin a := " + repeated("(", 5000) + "1" + repeated(")", 5000) +
                                 " end.")
                .errors,
            0);
}

TEST(Torture, LongChainsAreFlat) {
  const Parsed sum = parse("program p; begin a := " + repeated("1 + ", 100000) + "1 end.");
  EXPECT_EQ(sum.errors, 0);
  EXPECT_NE(sum.text.find("\n        operator +"), std::string::npos);
  EXPECT_EQ(sum.text.find("\n          "), std::string::npos);
}

TEST(Torture, OneLineOfTenMegabytes) {
  EXPECT_EQ(parse("program p; begin " + repeated("a := b + 1; ", 900000) + "end.").errors, 0);
  const Parsed wrong = parse("program p; begin " + repeated("a b; ", 100000) + "end.");
  EXPECT_EQ(wrong.errors, 100000);
  EXPECT_LT(wrong.messages.size(), 100000u); // a hundred are shown, each with a part of the line
  EXPECT_EQ(parse("program p; begin a := \"" + repeated("x", 10000000) + "\" end.").errors, 0);
  EXPECT_EQ(parse("program p; begin a" + repeated("b", 10000000) + " := 1 end.").errors, 0);
}

} // namespace
