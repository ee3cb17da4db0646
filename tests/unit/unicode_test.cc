// Normalization form C against Unicode's own conformance test, and UTF-8 against its malformed forms.
#include "spectra/unicode.h"

#include <cstdio>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

using namespace spectra;

namespace {

std::string text_of(const std::string &codes) {
  std::string out;
  std::istringstream in(codes);
  for (std::string code; in >> code;) append_utf8(out, static_cast<uint32_t>(std::stoul(code, nullptr, 16)));
  return out;
}

TEST(Unicode, ComposesAsTheConformanceTestSays) {
  FILE *in = popen("bzcat /usr/share/unicode/NormalizationTest.txt.bz2", "r");
  ASSERT_NE(in, nullptr);
  char line[4096];
  int rows = 0;
  std::set<std::string> listed; // part 1 lists every single code point that changes
  while (fgets(line, sizeof line, in)) {
    if (line[0] == '#' || line[0] == '@') continue;
    std::vector<std::string> columns;
    std::istringstream split(line);
    for (std::string column; std::getline(split, column, ';') && columns.size() < 5;)
      columns.push_back(text_of(column));
    ++rows;
    listed.insert(columns[0]);
    // NFC of columns 1, 2, 3 is column 2; of 4 and 5 is column 4 (UAX #15).
    for (int i : {0, 1, 2}) ASSERT_EQ(to_nfc(columns[static_cast<size_t>(i)]), columns[1]) << line;
    for (int i : {3, 4}) ASSERT_EQ(to_nfc(columns[static_cast<size_t>(i)]), columns[3]) << line;
  }
  pclose(in);
  EXPECT_GT(rows, 10000);
  for (uint32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string text;
    append_utf8(text, code);
    if (!listed.count(text)) ASSERT_EQ(to_nfc(text), text) << code;
  }
}

TEST(Unicode, LeavesMalformedTextAlone) { EXPECT_EQ(to_nfc("e\xCC\x81\xFFz"), "e\xCC\x81\xFFz"); }

TEST(Unicode, RefusesMalformedUtf8) {
  for (const char *bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                          "\xF5\x80\x80\x80", "\xC3", "\xE2\x82"}) {
    size_t at = 0;
    EXPECT_EQ(decode_utf8(bad, at), kBadUtf8) << bad;
    EXPECT_EQ(at, 0u);
  }
  size_t at = 0;
  EXPECT_EQ(decode_utf8("\xF0\x9F\x98\x80", at), 0x1F600u);
  EXPECT_EQ(at, 4u);
}

TEST(Unicode, KnowsNames) {
  for (uint32_t code : {0x41u, 0xDFu, 0x3B2u, 0x30B9u, 0xC808u, 0x646u})
    EXPECT_TRUE(is_name_start(code)) << code;
  EXPECT_FALSE(is_name_start('0'));
  EXPECT_TRUE(is_name_continue('0'));
  EXPECT_FALSE(is_name_continue(0x1F600));
}

} // namespace
