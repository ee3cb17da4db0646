// The arithmetic of constants: one rounding, to nearest even; the bits that conversions keep.
#include "constant.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace mica::check {
namespace {

using spectra::Scalar;

TEST(CheckConstant, HalvesRoundOnceFromFloat64) {
  // 1 + 2^-8 + 2^-40 lies above the middle: through float32 it would fall on it and round to 1.
  EXPECT_EQ(round_to(Scalar::bf16, 1 + 0x1p-8 + 0x1p-40), 1.0078125);
  EXPECT_EQ(round_to(Scalar::bf16, 1 + 0x1p-8), 1.0);
  EXPECT_EQ(round_to(Scalar::f16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(round_to(Scalar::f16, 65519.99), 65504.0);
  EXPECT_EQ(round_to(Scalar::f16, 65520.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(round_to(Scalar::f16, -1e9), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(round_to(Scalar::f16, 0x1p-25), 0.0);       // the tie goes to even
  EXPECT_EQ(round_to(Scalar::f16, 0x1.8p-25), 0x1p-24); // a subnormal
  EXPECT_TRUE(std::signbit(round_to(Scalar::f16, -0x1p-30)));
  EXPECT_TRUE(std::isnan(round_to(Scalar::bf16, std::nan(""))));
}

TEST(CheckConstant, IntegersToFloats) {
  EXPECT_EQ(integer_to_float(Scalar::f32, 16777217), 16777216.0);
  EXPECT_EQ(integer_to_float(Scalar::f32, 16777219), 16777220.0);
  EXPECT_EQ(integer_to_float(Scalar::f64, (__int128{1} << 53) + 1), 0x1p53);
  EXPECT_EQ(integer_to_float(Scalar::bf16, 257), 256.0);
  EXPECT_EQ(integer_to_float(Scalar::bf16, (__int128{257} << 60) + 1), 0x1.02p68);
  EXPECT_EQ(integer_to_float(Scalar::f16, 65520), std::numeric_limits<double>::infinity());
}

TEST(CheckConstant, Wrapping) {
  EXPECT_EQ(wrap_to(Scalar::i8, 300), 44);
  EXPECT_EQ(wrap_to(Scalar::i8, 200), -56);
  EXPECT_EQ(wrap_to(Scalar::u8, -1), 255);
  EXPECT_EQ(wrap_to(Scalar::u64, -1), max_of(Scalar::u64));
  EXPECT_EQ(wrap_to(Scalar::i64, max_of(Scalar::u64)), -1);
  EXPECT_EQ(wrap_to(Scalar::boolean, 4), 1);
}

TEST(CheckConstant, FloatsToIntegers) {
  EXPECT_EQ(saturate_to(Scalar::i32, 2.9), 2);
  EXPECT_EQ(saturate_to(Scalar::i32, -2.9), -2);
  EXPECT_EQ(saturate_to(Scalar::i8, 1e9), 127);
  EXPECT_EQ(saturate_to(Scalar::u8, -1.5), 0);
  EXPECT_EQ(saturate_to(Scalar::u64, 1e30), max_of(Scalar::u64));
  EXPECT_EQ(saturate_to(Scalar::i64, 0x1p63), max_of(Scalar::i64));
  EXPECT_EQ(saturate_to(Scalar::i64, std::nan("")), 0);
}

TEST(CheckConstant, Widening) {
  EXPECT_TRUE(widens(Scalar::i8, Scalar::i16));
  EXPECT_TRUE(widens(Scalar::u8, Scalar::i16));
  EXPECT_FALSE(widens(Scalar::i8, Scalar::u16));
  EXPECT_FALSE(widens(Scalar::u32, Scalar::i32));
  EXPECT_TRUE(widens(Scalar::i32, Scalar::f64));
  EXPECT_FALSE(widens(Scalar::i32, Scalar::f32));
  EXPECT_FALSE(widens(Scalar::i64, Scalar::f64));
  EXPECT_TRUE(widens(Scalar::u16, Scalar::f32));
  EXPECT_TRUE(widens(Scalar::i8, Scalar::bf16));
  EXPECT_FALSE(widens(Scalar::i16, Scalar::bf16));
  EXPECT_FALSE(widens(Scalar::f16, Scalar::bf16));
  EXPECT_TRUE(widens(Scalar::bf16, Scalar::f32));
  EXPECT_FALSE(widens(Scalar::boolean, Scalar::i32));
}

TEST(CheckConstant, Texts) {
  EXPECT_EQ(text_of(min_of(Scalar::i64)), "-9223372036854775808");
  EXPECT_EQ(text_of(max_of(Scalar::u64)), "18446744073709551615");
  std::string text;
  for (uint32_t code : {0x61u, 0xE4u, 0x20ACu, 0x1F600u}) append_utf8(text, code);
  EXPECT_EQ(text, "aä€😀");
}

} // namespace
} // namespace mica::check
