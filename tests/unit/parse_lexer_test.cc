// Tokens: literals and their limits, escapes, names, line ends, comments.
#include "parse_support.h"

#include <gtest/gtest.h>

using namespace mica::parse;

namespace {

std::string errors_of(const std::string &statement) {
  std::string messages = parse("program p;\nbegin\n" + statement + "\nend.\n").messages;
  return messages.substr(0, messages.find('\n'));
}

std::string value_of(const std::string &expression) {
  std::string nodes = body("a := " + expression);
  size_t from = nodes.find("name a\n");
  return from == std::string::npos ? nodes : nodes.substr(from + 9);
}

TEST(Lexer, TakesNumbersAsWritten) {
  EXPECT_EQ(value_of("1_000_000"), "integer 1_000_000\n");
  EXPECT_EQ(value_of("0xFf"), "integer 0xFf\n");
  EXPECT_EQ(value_of("0b1010"), "integer 0b1010\n");
  EXPECT_EQ(value_of("08"), "integer 08\n");
  EXPECT_EQ(value_of("3.4028235e+38"), "real 3.4028235e+38\n");
  EXPECT_EQ(value_of("1e-5"), "real 1e-5\n");
  EXPECT_EQ(value_of("1e-999"), "real 1e-999\n"); // rounds to zero
  EXPECT_EQ(value_of("340282366920938463463374607431768211455"),
            "integer 340282366920938463463374607431768211455\n");
  EXPECT_EQ(value_of("0x0000000000ffffffffffffffffffffffffffffffff"),
            "integer 0x0000000000ffffffffffffffffffffffffffffffff\n");
}

TEST(Lexer, RefusesNumbersThatNothingHolds) {
  EXPECT_EQ(errors_of("a := 340282366920938463463374607431768211456"),
            "t:3:6: error: the number is too large for every integer type");
  EXPECT_EQ(errors_of("a := 0x1_0000_0000_0000_0000_0000_0000_0000_0000"),
            "t:3:6: error: the number is too large for every integer type");
  EXPECT_EQ(errors_of("a := 1e309"), "t:3:6: error: the number is too large for float64");
  EXPECT_EQ(errors_of("a := 1__0"), "t:3:7: error: a number ends in letters: `1__0`");
  EXPECT_EQ(errors_of("a := 0x"), "t:3:6: error: a hexadecimal number needs digits after `0x`");
  EXPECT_EQ(errors_of("a := 2x"), "t:3:7: error: a number ends in letters: `2x`");
}

TEST(Lexer, TellsRangesFromFractions) {
  EXPECT_EQ(value_of("x[1..2]"), "index\n    name x\n    range\n      integer 1\n      integer 2\n");
  EXPECT_EQ(value_of("1./b"), "chain\n    integer 1\n    operator ./\n    name b\n");
}

TEST(Lexer, ResolvesEscapes) {
  EXPECT_EQ(value_of(R"("\n\t\r\a\b\f\v\0\\\"\'\?\u{1F600}")"),
            "string \"\\n\\t\\r\\x07\\x08\\x0c\\x0b\\x00\\\\\\\"'?\xF0\x9F\x98\x80\"\n");
  EXPECT_EQ(value_of("'\\u{3b2}'"), "unicode 946\n");
  EXPECT_EQ(value_of("'β'"), "unicode 946\n");
  EXPECT_EQ(value_of("'\\0'"), "unicode 0\n");
  EXPECT_EQ(value_of("'\"'"), "unicode 34\n");
  EXPECT_EQ(errors_of("a := \"\\q\""), "t:3:7: error: unknown escape `\\q`");
  for (const char *bad : {"\\u{110000}", "\\u{D800}", "\\u{}", "\\u{12", "\\u{1234567}"})
    EXPECT_EQ(errors_of("a := \"" + std::string(bad) + "\""), "t:3:7: error: this is no code point") << bad;
  EXPECT_EQ(errors_of("a := 'ab'"), "t:3:6: error: a character in single quotes is one code point, not 2");
  EXPECT_EQ(errors_of("a := ''"), "t:3:6: error: a character in single quotes is one code point, not 0");
  EXPECT_EQ(errors_of("a := \"open"), "t:3:6: error: this string is not closed on its line");
}

TEST(Lexer, ComparesNamesInFormC) {
  EXPECT_EQ(body("e\xCC\x81 := \xC3\xA9"), "assign\n  name \xC3\xA9\n  name \xC3\xA9\n");
  EXPECT_EQ(value_of("β₁ + x² + _1"),
            "chain\n    name β₁\n    operator +\n    name x²\n    operator +\n    name _1\n");
  EXPECT_EQ(errors_of("a := x⁻"), "t:3:7: error: unexpected character `⁻`");
}

TEST(Lexer, CountsEveryKindOfLineEnd) {
  for (const char *end : {"\n", "\r\n", "\r"}) {
    std::string source =
        "\xEF\xBB\xBFprogram p;" + std::string(end) + "begin" + end + "  β ? 1" + end + "end.";
    Parsed parsed = parse(source);
    EXPECT_EQ(parsed.messages.substr(0, 34), "t:3:5: error: unexpected character") << source;
  }
}

TEST(Lexer, NestsComments) {
  EXPECT_EQ(body("{ a { b } // c } x := 1 // e { f"), "assign\n  name x\n  integer 1\n");
  EXPECT_EQ(errors_of("x := 1; { a\n { b }\n"), "t:3:9: error: this comment is never closed");
}

TEST(Lexer, SaysWhereTextIsNoUtf8) {
  EXPECT_EQ(errors_of("β := \"β\xFF\""), "t:3:8: error: the source is not UTF-8 here");
  EXPECT_EQ(errors_of("{ \xED\xA0\x80 }"), "t:3:3: error: the source is not UTF-8 here");
  EXPECT_EQ(parse("program p; begin end. \xFF").messages, "");
}

} // namespace
