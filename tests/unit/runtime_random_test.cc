// Random numbers: Philox's published answers, ranges, and the places that cells draw from.
#include "../../libmicart/math/random.h"
#include "runtime_program.h"

#include <cmath>
#include <set>

namespace math = mica::math;

namespace {
// kat_vectors of Random123 1.14 (D. E. Shaw Research), philox4x32 10.
TEST(Philox, KnownAnswers) {
  math::Philox p = math::philox(0, 0, 0, 0, 0);
  EXPECT_EQ(std::vector<uint32_t>(p.w, p.w + 4),
            (std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  p = math::philox(~0ull, ~0u, ~0u, ~0u, ~0u);
  EXPECT_EQ(std::vector<uint32_t>(p.w, p.w + 4),
            (std::vector<uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  p = math::philox(0x299f31d0a4093822ull, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344);
  EXPECT_EQ(std::vector<uint32_t>(p.w, p.w + 4),
            (std::vector<uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, EveryWordGivesAFiniteNumber) { // B19
  EXPECT_EQ(math::unit_f32(0), 0.0f);
  EXPECT_LT(math::unit_f32(~0u), 1.0f);
  EXPECT_LT(math::unit_f64(~0u, ~0u), 1.0);
  for (double a : {0x1p-53, 0x1p-32, 0.5, 1.0}) {
    for (double b : {0.0, 0.125, 0.25, 0.5, 0.75, 1 - 0x1p-32, 1 - 0x1p-53}) {
      EXPECT_TRUE(std::isfinite(math::normal_of(a, b, false)));
      EXPECT_TRUE(std::isfinite(math::normal_of(a, b, true)));
    }
  }
}

TEST(Random, ScalarCalls) {
  mica_random r;
  mica_seed(&r, 42);
  std::set<int64_t> seen;
  for (int i = 0; i < 1000; i++) {
    int64_t n = mica_random_int("a.mica", 1, &r, 6);
    ASSERT_GE(n, 0);
    ASSERT_LT(n, 6);
    seen.insert(n);
  }
  EXPECT_EQ(seen.size(), 6u);
  EXPECT_EQ(r.counter, 1000u);
  EXPECT_EQ(mica_random_int("a.mica", 1, &r, 1), 0);
  EXPECT_GE(mica_random_int("a.mica", 1, &r, INT64_MAX), 0);
  EXPECT_EXIT(mica_random_int("a.mica", 9, &r, 0), testing::ExitedWithCode(70),
              "^a.mica:9: RandomInt: the range 0..-1 is empty");
  double sum = 0;
  for (int i = 0; i < 10000; i++) sum += mica_random_float(&r);
  EXPECT_NEAR(sum / 10000, 0.5, 0.01);
}

TEST(Random, FillsAreFunctionsOfThePlace) {
  std::vector<float> a(5000), b(5000);
  mica_fill_normal(MICA_F32, a.data(), 5000, 1.0, 2.0, 7, 9);
  mica_fill_normal(MICA_F32, b.data(), 100, 1.0, 2.0, 7, 9);
  EXPECT_EQ(std::vector<float>(a.begin(), a.begin() + 100), std::vector<float>(b.begin(), b.begin() + 100));
  double sum = 0, squares = 0;
  for (float x : a) {
    sum += x;
    squares += (x - 1.0) * (x - 1.0);
  }
  EXPECT_NEAR(sum / 5000, 1.0, 0.1);
  EXPECT_NEAR(squares / 5000, 4.0, 0.3);
  mica_fill_normal(MICA_F32, b.data(), 5000, 1.0, 2.0, 7, 10);
  EXPECT_NE(a, b);
  std::vector<double> d(1000);
  mica_fill_normal(MICA_F64, d.data(), 1000, 0.0, 1.0, 7, 9);
  EXPECT_EQ(d[17], math::normal_cell_f64(7, 9, 17, 0.0, 1.0));
}

TEST(Random, UniformStaysBelow) {
  for (int type : {MICA_F16, MICA_BF16}) {
    std::vector<uint16_t> x(20000);
    mica_fill_uniform(type, x.data(), 20000, -1.0, 1.0, 3, 0);
    for (uint16_t bits : x) {
      double value = mica::rt::float_from_bits(type, bits);
      ASSERT_GE(value, -1.0);
      ASSERT_LT(value, 1.0);
    }
  }
  std::vector<float> f(20000);
  mica_fill_uniform(MICA_F32, f.data(), 20000, 16777214, 16777216, 3, 0);
  for (float value : f) ASSERT_LT(value, 16777216.0f);
}

TEST(Random, DropoutDraws) {
  constexpr int kRows = 37, kColumns = 53;
  std::vector<uint16_t> all(kRows * kColumns), part(4 * kColumns);
  mica_draw16(all.data(), 0, kRows, kColumns, 5, 11, 0x500000003ull);
  mica_draw16(part.data(), 20, 4, kColumns, 5, 11, 0x500000003ull);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 20 * kColumns));
  for (uint64_t i = 0; i < kRows; i++) {
    for (uint64_t j = 0; j < kColumns; j++)
      ASSERT_EQ(all[i * kColumns + j], math::draw16(11, 0x500000003ull, 5, i, j));
  }
  std::set<uint16_t> different(all.begin(), all.end());
  EXPECT_GT(different.size(), all.size() * 95 / 100);
  EXPECT_EQ(math::drop_threshold(0.5), 32768u);
  EXPECT_EQ(math::drop_threshold(1.0), 65536u);
  EXPECT_EQ(math::drop_threshold(0.0), 0u);
}
} // namespace
