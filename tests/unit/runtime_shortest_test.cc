// The shortest digits that read back the same, against the C++ library's, and reading numbers exactly.
#include "runtime_program.h"

#include <charconv>

using namespace mica::rt;

namespace {
std::string shortest(int type, uint64_t bits) {
  Text out;
  put_shortest(out, type, bits);
  return std::string(out.data, static_cast<size_t>(out.length));
}

// The significant digits and the decimal exponent of a text: "1.5e+03" and "1500" are both ("15", 4).
std::pair<std::string, int> digits_of(const std::string &number) {
  std::string digits;
  int exponent = 0;
  bool after_point = false;
  size_t i = number[0] == '-' ? 1 : 0;
  for (; i < number.size() && number[i] != 'e'; i++) {
    if (number[i] == '.') {
      after_point = true;
      continue;
    }
    digits.push_back(number[i]);
    if (!after_point) exponent++;
  }
  if (i < number.size()) exponent += atoi(number.c_str() + i + 1);
  while (digits.size() > 1 && digits[0] == '0') {
    digits.erase(0, 1);
    exponent--;
  }
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  return {digits, exponent};
}

template <class T, class Word> void compare(int type, Word word) {
  T value;
  memcpy(&value, &word, sizeof value);
  if (value != value || value - value != 0 || value == 0) return;
  char expected[64];
  std::to_chars_result end =
      std::to_chars(expected, expected + sizeof expected, value, std::chars_format::scientific);
  std::string ours = shortest(type, word);
  ASSERT_EQ(digits_of(ours), digits_of(std::string(expected, end.ptr))) << ours;
}

TEST(Shortest, EveryKindOfDouble) {
  uint64_t word = 88172645463325252ull;
  for (int i = 0; i < 200000; i++) {
    word ^= word << 13;
    word ^= word >> 7;
    word ^= word << 17;
    compare<double, uint64_t>(MICA_F64, word);
    compare<float, uint32_t>(MICA_F32, static_cast<uint32_t>(word));
  }
  for (int exponent = 0; exponent < 2047; exponent++) { // powers of two, where the gap below is half
    for (int delta = -1; delta <= 1; delta++)
      compare<double, uint64_t>(MICA_F64,
                                (static_cast<uint64_t>(exponent) << 52) + static_cast<uint64_t>(delta));
  }
  for (uint32_t exponent = 0; exponent < 255; exponent++) {
    for (uint32_t delta : {~0u, 0u, 1u}) compare<float, uint32_t>(MICA_F32, (exponent << 23) + delta);
  }
}

TEST(Shortest, Layout) {
  EXPECT_EQ(shortest(MICA_F64, 0), "0");
  EXPECT_EQ(shortest(MICA_F64, uint64_t(1) << 63), "-0");
  EXPECT_EQ(shortest(MICA_F32, 0x7F800000), "inf");
  EXPECT_EQ(shortest(MICA_F32, 0xFFC00000), "nan");
  EXPECT_EQ(shortest(MICA_F64, 1), "5e-324");
  double values[] = {1e16, 1e15, 123456.789, 1e-5, 0.00012, 1e22};
  const char *const texts[] = {"1e+16", "1000000000000000", "123456.789", "1e-05", "0.00012", "1e+22"};
  for (int i = 0; i < 6; i++) {
    uint64_t word;
    memcpy(&word, &values[i], 8);
    EXPECT_EQ(shortest(MICA_F64, word), texts[i]);
  }
}

TEST(Shortest, EveryHalfReadsBack) {
  for (int type : {MICA_F16, MICA_BF16}) {
    for (uint32_t word = 0; word < 65536; word++) {
      double value = float_from_bits(type, word);
      if (value != value) continue;
      std::string ours = shortest(type, word);
      uint16_t back = 0;
      ASSERT_TRUE(parse_number(ours.data(), static_cast<int64_t>(ours.size()), type, &back)) << ours;
      ASSERT_EQ(back, word) << ours;
      ASSERT_LE(digits_of(ours).first.size(), type == MICA_F16 ? 5u : 4u) << ours;
    }
  }
}

template <class T> bool parsed(const std::string &s, int type, T *out) {
  return mica_parse(text(s), type, out);
}

TEST(Parse, Integers) {
  int32_t i = 77;
  EXPECT_TRUE(parsed("-2147483648", MICA_I32, &i));
  EXPECT_EQ(i, -2147483647 - 1);
  EXPECT_FALSE(parsed("2147483648", MICA_I32, &i));
  EXPECT_FALSE(parsed("", MICA_I32, &i));
  EXPECT_FALSE(parsed("12x", MICA_I32, &i));
  EXPECT_FALSE(parsed("-", MICA_I32, &i));
  EXPECT_EQ(i, -2147483647 - 1);
  EXPECT_TRUE(parsed(" 0xFF ", MICA_I32, &i));
  EXPECT_EQ(i, 255);
  EXPECT_TRUE(parsed("1_000", MICA_I32, &i));
  EXPECT_EQ(i, 1000);
  uint8_t u = 0;
  EXPECT_TRUE(parsed("255", MICA_U8, &u));
  EXPECT_EQ(u, 255);
  EXPECT_FALSE(parsed("256", MICA_U8, &u));
  EXPECT_FALSE(parsed("-1", MICA_U8, &u));
  __int128 w = 0;
  EXPECT_TRUE(parsed("-170141183460469231731687303715884105728", MICA_I128, &w));
  EXPECT_EQ(w, static_cast<__int128>(1) << 127);
  EXPECT_FALSE(parsed("170141183460469231731687303715884105728", MICA_I128, &w));
  EXPECT_FALSE(parsed("1", MICA_STRING, &w));
}

TEST(Parse, Floats) {
  double d = 0;
  EXPECT_TRUE(parsed("1e-5", MICA_F64, &d));
  EXPECT_EQ(d, 1e-5);
  EXPECT_FALSE(parsed("1e-5z", MICA_F64, &d));
  float f = 0;
  EXPECT_TRUE(parsed("3.4028235e+38", MICA_F32, &f));
  EXPECT_EQ(f, 3.4028235e38f);
  uint16_t h = 0;
  // Just above the middle between 1 and the next float16: two roundings through a double would lose it.
  EXPECT_TRUE(parsed("1.00048828125000000000000000000001", MICA_F16, &h));
  EXPECT_EQ(h, 0x3C01);
  EXPECT_TRUE(parsed("1.00048828125", MICA_F16, &h));
  EXPECT_EQ(h, 0x3C00);
  EXPECT_TRUE(parsed("-1.00048828125000000000000000000001", MICA_F16, &h));
  EXPECT_EQ(h, 0xBC01);
  EXPECT_TRUE(parsed("65520", MICA_F16, &h));
  EXPECT_EQ(h, 0x7C00);
  EXPECT_TRUE(parsed("65519.99", MICA_F16, &h));
  EXPECT_EQ(h, 0x7BFF);
  EXPECT_TRUE(parsed("nan", MICA_BF16, &h));
  EXPECT_EQ(h & 0x7FC0, 0x7FC0);
  EXPECT_TRUE(parsed("1e-41", MICA_BF16, &h));
  EXPECT_EQ(h, 0);
}
} // namespace
