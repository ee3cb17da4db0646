// Strings, UTF-8 both ways, and files of text.
#include "runtime_program.h"

namespace {
TEST(Strings, Utf8) {
  EXPECT_EQ(utf8(text("aβ₁😀")), "aβ₁😀");
  EXPECT_EQ(text("aβ₁😀").length, 4);
  EXPECT_EQ(utf8(text("\xC0\x80|\xED\xA0\x80|\xF5|\xE2\x82|x\xFF")),
            "\uFFFD\uFFFD|\uFFFD\uFFFD\uFFFD|\uFFFD|\uFFFD|x\uFFFD");
  uint32_t bad[] = {0xD800, 0x110000, 'a'};
  EXPECT_EQ(utf8({bad, 3}), "\uFFFD\uFFFDa");
  EXPECT_EQ(utf8({nullptr, 0}), "");
}

TEST(Strings, ConcatAndCompare) {
  EXPECT_EQ(utf8(mica_string_concat(text("ab"), text("cβ"))), "abcβ");
  EXPECT_EQ(utf8(mica_string_concat(text(""), text("x"))), "x");
  EXPECT_EQ(utf8(mica_string_character(0x3B2)), "β");
  EXPECT_TRUE(mica_string_equal(text("ab"), text("ab")));
  EXPECT_FALSE(mica_string_equal(text("ab"), text("abc")));
  EXPECT_EQ(mica_string_compare(text("ab"), text("abc")), -1);
  EXPECT_EQ(mica_string_compare(text("b"), text("abc")), 1);
  EXPECT_EQ(mica_string_compare(text("😀"), text("\uFFFD")), 1); // by code point, not by UTF-16 unit
  EXPECT_EQ(mica_string_compare(text(""), text("")), 0);
}

TEST(Files, WriteReadExists) {
  TestFile file(".txt");
  EXPECT_FALSE(mica_file_exists(text(file.path)));
  mica_write_file("t.mica", 1, text(file.path), text("zwei\nZeilen β"));
  EXPECT_TRUE(mica_file_exists(text(file.path)));
  EXPECT_EQ(utf8(mica_read_file("t.mica", 1, text(file.path))), "zwei\nZeilen β");
  mica_write_file("t.mica", 1, text(file.path), text(""));
  EXPECT_EQ(utf8(mica_read_file("t.mica", 1, text(file.path))), "");
  EXPECT_EXIT(mica_read_file("t.mica", 7, text("/nowhere/x")), testing::ExitedWithCode(70),
              "^t.mica:7: /nowhere/x could not be opened: No such file");
  EXPECT_EXIT(mica_write_file("t.mica", 8, text("/nowhere/x"), text("y")), testing::ExitedWithCode(70),
              "^t.mica:8: /nowhere/x could not be made: No such file");
  EXPECT_EXIT(mica_write_file("t.mica", 9, text("/tmp"), text("y")), testing::ExitedWithCode(70),
              "Is a directory");
  EXPECT_EXIT(mica_write_file("t.mica", 9, text("/dev/full"), text("y")), testing::ExitedWithCode(70),
              "/dev/full could not be written: No space left");
}

TEST(Files, Bytes) {
  TestFile file(".bin");
  file.write(std::string("a\0b", 3));
  mica_array bytes = mica_load_bytes("t.mica", 1, text(file.path));
  ASSERT_EQ(bytes.length, 3);
  EXPECT_EQ(memcmp(bytes.data, "a\0b", 3), 0);
  static_cast<char *>(bytes.data)[0] = 'z'; // in memory only
  EXPECT_EQ(file.read()[0], 'a');
  mica_dispose("t.mica", 1, bytes.data);
}

TEST(Files, Tokens) {
  TestFile plain(".bin"), headed(".bin");
  plain.write(std::string("\x01\x00\x02\x01", 4));
  mica_array tokens = mica_load_tokens("t.mica", 1, text(plain.path));
  ASSERT_EQ(tokens.length, 2);
  EXPECT_EQ(static_cast<uint16_t *>(tokens.data)[1], 0x102);
  std::string bytes(1024, '\0');
  int32_t header[3] = {20240520, 1, 3};
  memcpy(bytes.data(), header, 12);
  headed.write(bytes + std::string("\x05\x00\x06\x00\xFF\xFF", 6));
  tokens = mica_load_tokens("t.mica", 1, text(headed.path));
  ASSERT_EQ(tokens.length, 3);
  EXPECT_EQ(static_cast<uint16_t *>(tokens.data)[2], 0xFFFF);
  mica_dispose("t.mica", 1, tokens.data);
  headed.write(bytes + "abcd");
  EXPECT_EXIT(mica_load_tokens("t.mica", 3, text(headed.path)), testing::ExitedWithCode(70),
              "cut short: its header says 3 tokens, the file holds 2");
  header[1] = 2;
  memcpy(bytes.data(), header, 12);
  headed.write(bytes);
  EXPECT_EXIT(mica_load_tokens("t.mica", 3, text(headed.path)), testing::ExitedWithCode(70),
              "tokens of version 2");
  plain.write("abc");
  EXPECT_EXIT(mica_load_tokens("t.mica", 3, text(plain.path)), testing::ExitedWithCode(70),
              "its length is 3");
}
} // namespace
