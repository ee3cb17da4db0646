// Printing: C's printf for every type of the language, and %v.
#include "runtime_program.h"

namespace {
mica_argument integer(int type, int64_t value) { return {type, 0, static_cast<uint64_t>(value), 0}; }
mica_argument wide(int type, unsigned __int128 value) {
  return {type, 0, static_cast<uint64_t>(value), static_cast<uint64_t>(value >> 64)};
}
mica_argument f64(double value) {
  mica_argument a = {MICA_F64, 0, 0, 0};
  memcpy(&a.word0, &value, 8);
  return a;
}
mica_argument f32(float value) {
  mica_argument a = {MICA_F32, 0, 0, 0};
  memcpy(&a.word0, &value, 4);
  return a;
}
mica_argument string(const std::string &value) {
  mica_string s = text(value);
  return {MICA_STRING, 0, reinterpret_cast<uint64_t>(s.data), static_cast<uint64_t>(s.length)};
}
template <class... A> std::string shown(const std::string &format, A... arguments) {
  std::vector<mica_argument> all = {arguments...};
  return utf8(mica_format(text(format), static_cast<int64_t>(all.size()), all.data()));
}

TEST(Print, IntegersLikeC) {
  const char *const kFormats[] = {"%d",   "%5d|",   "%-5d|",   "%05d|", "%+d",    "% d",
                                  "%.3d", "%8.3d|", "%-8.3d|", "%i",    "%+08d|", "%.0d|"};
  for (const char *format : kFormats) {
    for (int value : {0, 7, -7, 12345, -2147483647 - 1, 2147483647}) {
      char expected[64];
      snprintf(expected, sizeof expected, format, value);
      EXPECT_EQ(shown(format, integer(MICA_I32, value)), expected) << format;
    }
  }
  const char *const kUnsigned[] = {"%u",   "%x",    "%X",     "%o",   "%#x",   "%#o",
                                   "%08x", "%-8x|", "%#10x|", "%.5x", "%#.5o", "%#010x"};
  for (const char *format : kUnsigned) {
    for (unsigned value : {0u, 7u, 255u, 4294967295u}) {
      char expected[64];
      snprintf(expected, sizeof expected, format, value);
      EXPECT_EQ(shown(format, integer(MICA_U32, value)), expected) << format;
    }
  }
  EXPECT_EQ(shown("%x", integer(MICA_I32, -1)), "ffffffff");
  EXPECT_EQ(shown("%x", integer(MICA_I8, -1)), "ff");
  EXPECT_EQ(shown("%hhd %hd", integer(MICA_I32, 300), integer(MICA_I32, 70000)), "44 4464");
  EXPECT_EQ(shown("%lu", integer(MICA_U64, -1)), "18446744073709551615");
  EXPECT_EQ(shown("%*d|%-*d|", integer(MICA_I32, 4), integer(MICA_I32, 5), integer(MICA_I32, 4),
                  integer(MICA_I32, 6)),
            "   5|6   |");
  EXPECT_EQ(shown("100%% %d%%", integer(MICA_I32, 5)), "100% 5%");
}

TEST(Print, Int128) {
  unsigned __int128 low = static_cast<unsigned __int128>(1) << 127;
  EXPECT_EQ(shown("%d", wide(MICA_I128, low)), "-170141183460469231731687303715884105728");
  EXPECT_EQ(shown("%u", wide(MICA_U128, ~static_cast<unsigned __int128>(0))),
            "340282366920938463463374607431768211455");
  EXPECT_EQ(shown("%x", wide(MICA_U128, low)), "80000000000000000000000000000000");
  EXPECT_EQ(shown("%v", wide(MICA_I128, static_cast<unsigned __int128>(-5))), "-5");
  EXPECT_EQ(shown("%v", wide(MICA_U128, static_cast<unsigned __int128>(10000000000000000000ull) * 10)),
            "100000000000000000000");
}

TEST(Print, FloatsLikeC) {
  const char *const kFormats[] = {"%f",  "%.0f", "%.3f",  "%10.2f|", "%-10.2f|", "%010.2f",
                                  "%+f", "%e",   "%.10e", "%g",      "%#g",      "%.3g",
                                  "%a",  "%E",   "%G",    "% f",     "%.60f"};
  for (const char *format : kFormats) {
    for (double value : {0.0, -0.0, 1.0, 0.1, -2.5, 1e300, 5e-324, 123456789.125, 1.0 / 3, __builtin_inf()}) {
      char expected[512];
      snprintf(expected, sizeof expected, format, value);
      EXPECT_EQ(shown(format, f64(value)), expected) << format;
    }
  }
  EXPECT_EQ(shown("%f", f32(0.1f)), "0.100000");
  EXPECT_EQ(shown("%f %f", mica_argument{MICA_F16, 0, 0x3C00, 0}, mica_argument{MICA_BF16, 0, 0x3F81, 0}),
            "1.000000 1.007812");
  EXPECT_EQ(shown("%f", f64(-__builtin_nan(""))), "nan");
  EXPECT_EQ(shown("%f", integer(MICA_I32, -3)), "-3.000000");
  EXPECT_EQ(shown("%.1000f", f64(0.5)).size(), 1002u);
}

TEST(Print, TextAndValues) {
  EXPECT_EQ(
      shown("%s|%ls|%6s|%-6s|%.2s", string("äö"), string("β₁"), string("äö"), string("äö"), string("äöü")),
      "äö|β₁|    äö|äö    |äö");
  EXPECT_EQ(shown("%lc%c%3lc|", mica_argument{MICA_UNICODE, 0, 0x1F600, 0}, integer(MICA_I32, 'x'),
                  mica_argument{MICA_UNICODE, 0, 0xE4, 0}),
            "😀x  ä|");
  EXPECT_EQ(shown("%v %v %d", integer(MICA_BOOL, 1), integer(MICA_BOOL, 0), integer(MICA_BOOL, 1)),
            "true false 1");
  EXPECT_EQ(shown("%v %v %v", f64(0.1), f32(16777216), f32(3.4028235e38f)), "0.1 16777216 3.4028235e+38");
  EXPECT_EQ(shown("%v|%8v|%-8v|", string("ab"), f64(2.5), f64(2.5)), "ab|     2.5|2.5     |");
  EXPECT_EQ(shown("%v %v", mica_argument{MICA_POINTER, 0, 0, 0}, mica_argument{MICA_POINTER, 0, 255, 0}),
            "nil 0xff");
  const char *const names[] = {"red", "green"};
  EXPECT_EQ(shown("%v %d", mica_argument{MICA_ENUM, 0, 1, reinterpret_cast<uint64_t>(names)},
                  mica_argument{MICA_ENUM, 0, 1, reinterpret_cast<uint64_t>(names)}),
            "green 1");
}

TEST(Print, WholeValues) {
  int32_t cells[] = {1, 2, 3, -4};
  int64_t sizes[] = {2, 2};
  mica_argument whole = {MICA_I32 | MICA_WHOLE, 2, reinterpret_cast<uint64_t>(cells),
                         reinterpret_cast<uint64_t>(sizes)};
  EXPECT_EQ(shown("%v", whole), "[[1, 2], [3, -4]]");
  EXPECT_EQ(shown("%3d", whole), "[[  1,   2], [  3,  -4]]");
  float row[] = {0.1f, 1e-7f};
  int64_t two[] = {2}, none[] = {0};
  EXPECT_EQ(shown("%v", mica_argument{MICA_F32 | MICA_WHOLE, 1, reinterpret_cast<uint64_t>(row),
                                      reinterpret_cast<uint64_t>(two)}),
            "[0.1, 1e-07]");
  EXPECT_EQ(shown("%v", mica_argument{MICA_F32 | MICA_WHOLE, 1, reinterpret_cast<uint64_t>(row),
                                      reinterpret_cast<uint64_t>(none)}),
            "[]");
}

TEST(Print, BadFormatsStandAsTheyAre) {
  EXPECT_EQ(shown("%"), "%");
  EXPECT_EQ(shown("%d"), "%d");
  EXPECT_EQ(shown("a %5", integer(MICA_I32, 1)), "a %5");
  EXPECT_EQ(shown("%s", integer(MICA_I32, 12)), "12");
}

TEST(Print, StdoutTakesRawBytes) {
  testing::internal::CaptureStdout();
  mica_argument bytes[] = {integer(MICA_U8, 0xE9), integer(MICA_U8, 0)};
  mica_print(text("%c%c"), 2, bytes, 1);
  mica_flush();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), std::string("\xE9\0\n", 3));
}
} // namespace
