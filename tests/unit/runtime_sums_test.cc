// Sums in the fixed order, column sums, gather and its gradient, norms, the greatest cell.
#include "runtime_program.h"

#include <cmath>
#include <random>

namespace {
// numerics.md 4, as plainly as it can be said.
template <class T> T plain_sum(const std::vector<T> &x) {
  if (x.size() > 1024) {
    std::vector<T> blocks;
    for (size_t i = 0; i < x.size(); i += 1024)
      blocks.push_back(plain_sum(std::vector<T>(
          x.begin() + static_cast<long>(i), x.begin() + static_cast<long>(std::min(x.size(), i + 1024)))));
    return plain_sum(blocks);
  }
  T lane[16] = {};
  for (size_t i = 0; i < x.size(); i++) lane[i % 16] += x[i];
  for (int width = 8; width > 0; width /= 2) {
    for (int l = 0; l < width; l++) lane[l] += lane[l + width];
  }
  return lane[0];
}

std::mt19937 generator(2);
template <class T> std::vector<T> numbers(size_t count) {
  std::vector<T> x(count);
  for (T &v : x) v = static_cast<T>(static_cast<double>(generator()) / 2147483648.0 - 1);
  return x;
}

TEST(Sums, FixedOrder) {
  for (size_t count : {0, 1, 5, 16, 17, 1000, 1023, 1024, 1025, 5000, 1024 * 1024, 1024 * 1024 + 3}) {
    std::vector<float> f = numbers<float>(count);
    std::vector<double> d = numbers<double>(count);
    EXPECT_EQ(mica_sum_f32(f.data(), static_cast<int64_t>(count)), plain_sum(f)) << count;
    EXPECT_EQ(mica_sum_f64(d.data(), static_cast<int64_t>(count)), plain_sum(d)) << count;
  }
}

TEST(Sums, Halves) {                                                                    // B35
  uint16_t cells[8] = {0x77D0, 0x77D0, 0x77D0, 0x77D0, 0xF7D0, 0xF7D0, 0xF7D0, 0xF7D0}; // 32000 and -32000
  EXPECT_EQ(mica_sum_f16(cells, 8), 0.0f);
  std::vector<uint16_t> ones(1000, 0x3F80);
  EXPECT_EQ(mica_sum_bf16(ones.data(), 1000), 1000.0f);
  std::vector<uint16_t> tenth(4096, 0x2E66);
  EXPECT_EQ(mica_sum_f16(tenth.data(), 4096), 409.5f);
  std::vector<uint16_t> column(3000, 0x3C00);
  uint16_t out = 0;
  mica_column_sum(MICA_F16, column.data(), 3000, 1, &out);
  EXPECT_EQ(out, 0x69DC); // 3000
}

TEST(Sums, Integers) {
  int32_t i[] = {2147483647, 1, -3};
  EXPECT_EQ(mica_sum_int(MICA_I32, i, 3), 2147483645);
  uint8_t u[] = {255, 255};
  EXPECT_EQ(mica_sum_int(MICA_U8, u, 2), 510);
}

TEST(Sums, Columns) {
  for (size_t rows : {0, 1, 3, 17, 1024, 1025, 3000}) {
    for (size_t columns : {1, 5, 64, 130}) {
      std::vector<float> x = numbers<float>(rows * columns), out(columns, 9.0f);
      mica_column_sum(MICA_F32, x.data(), static_cast<int64_t>(rows), static_cast<int64_t>(columns),
                      out.data());
      for (size_t j = 0; j < columns; j++) {
        std::vector<float> column;
        for (size_t i = 0; i < rows; i++) column.push_back(x[i * columns + j]);
        ASSERT_EQ(out[j], plain_sum(column)) << rows << "x" << columns;
      }
    }
  }
}

TEST(Gather, ForwardAndBack) {
  std::vector<float> table = numbers<float>(10 * 7), out(5 * 7);
  int32_t ids[] = {3, 9, 3, 0, 3};
  mica_gather("a.mica", 1, MICA_F32, table.data(), 10, 7, MICA_I32, ids, 5, out.data());
  for (size_t i = 0; i < 5; i++) {
    for (size_t j = 0; j < 7; j++) ASSERT_EQ(out[i * 7 + j], table[static_cast<size_t>(ids[i]) * 7 + j]);
  }
  std::vector<float> dy = numbers<float>(5 * 7), dtable(10 * 7, 5.0f);
  mica_gather_gradient(MICA_F32, dy.data(), MICA_I32, ids, 5, 7, dtable.data(), 10);
  for (size_t j = 0; j < 7; j++) {
    EXPECT_EQ(dtable[3 * 7 + j], plain_sum(std::vector<float>{dy[j], dy[14 + j], dy[28 + j]}));
    EXPECT_EQ(dtable[9 * 7 + j], dy[7 + j]);
    EXPECT_EQ(dtable[5 * 7 + j], 0.0f);
  }
  ids[1] = 10;
  EXPECT_EXIT(mica_gather("a.mica", 6, MICA_F32, table.data(), 10, 7, MICA_I32, ids, 5, out.data()),
              testing::ExitedWithCode(70),
              "^a.mica:6: Gather: number 10 at position 1 is outside the table's rows 0..9");
}

TEST(Gather, OneRowAHundredThousandTimes) { // B57
  std::vector<int32_t> ids(100000, 1);
  std::vector<float> dy(100000, 1.0f), dtable(2);
  mica_gather_gradient(MICA_F32, dy.data(), MICA_I32, ids.data(), 100000, 1, dtable.data(), 2);
  EXPECT_EQ(dtable[1], 100000.0f);
  EXPECT_EQ(dtable[0], 0.0f);
}

double norm_of(int type, const void *x, int64_t count) { return mica_norm(type, 1, &x, &count); }

TEST(Norm, LargeSmallAndJoint) { // B43
  float big[] = {1e20f, 1e20f};
  EXPECT_EQ(norm_of(MICA_F32, big, 2), static_cast<double>(1.41421356e20f));
  double huge[] = {1e308, 1e308}, tiny[] = {3e-320, 4e-320}, odd[] = {-__builtin_inf(), 1};
  EXPECT_NEAR(norm_of(MICA_F64, huge, 2) / 1.4142135623730951e308, 1, 1e-15);
  EXPECT_NEAR(norm_of(MICA_F64, tiny, 2) / 5e-320, 1, 1e-3);
  EXPECT_EQ(norm_of(MICA_F64, odd, 2), __builtin_inf());
  odd[1] = __builtin_nan("");
  EXPECT_TRUE(std::isnan(norm_of(MICA_F64, odd, 2)));
  float a[] = {3}, b[] = {4};
  const void *both[] = {a, b};
  int64_t sizes[] = {1, 1};
  EXPECT_EQ(mica_norm(MICA_F32, 2, both, sizes), 5.0);
  EXPECT_EQ(norm_of(MICA_F32, a, 0), 0.0);
}

TEST(Layout, PermuteAndRows) {
  std::vector<float> x(24), y(24);
  for (size_t i = 0; i < 24; i++) x[i] = static_cast<float>(i);
  const int64_t sizes[] = {4, 2, 3}, steps[] = {1, 12, 4}; // of [2, 3, 4] by the order 2, 0, 1
  mica_permute(y.data(), x.data(), 4, 3, sizes, steps);
  for (size_t c = 0; c < 4; c++) {
    for (size_t a = 0; a < 2; a++) {
      for (size_t b = 0; b < 3; b++) ASSERT_EQ(y[(c * 2 + a) * 3 + b], x[(a * 3 + b) * 4 + c]);
    }
  }
  const int64_t none[] = {4, 0, 3};
  mica_permute(y.data(), x.data(), 4, 3, none, steps);
  mica_copy_rows(y.data(), 8, x.data() + 1, 16, 8, 6); // columns 1 and 2 of [6, 4]
  EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 4), (std::vector<float>{1, 2, 5, 6}));
}

TEST(Targets, AreClassesOrLeftOut) { // B05
  int32_t ids[] = {0, -1, 4};
  mica_check_targets("a.mica", 1, MICA_I32, ids, 3, 5);
  ids[2] = 255;
  EXPECT_EXIT(mica_check_targets("a.mica", 2, MICA_I32, ids, 3, 5), testing::ExitedWithCode(70),
              "^a.mica:2: target 255 in row 2 is outside the classes 0..4");
  ids[2] = -4;
  EXPECT_EXIT(mica_check_targets("a.mica", 2, MICA_I32, ids, 3, 5), testing::ExitedWithCode(70),
              "target -4 in row 2");
}

TEST(ArgMax, FirstGreatestAndNaN) {
  float x[] = {1, 5, 5, 2};
  EXPECT_EQ(mica_argmax(MICA_F32, x, 4), 1);
  x[2] = __builtin_nanf("");
  EXPECT_EQ(mica_argmax(MICA_F32, x, 4), 2);
  EXPECT_EQ(mica_argmax(MICA_F32, x, 0), -1);
  int32_t i[] = {-5, -3, -3};
  EXPECT_EQ(mica_argmax(MICA_I32, i, 3), 1);
  EXPECT_EQ(mica_max_abs(MICA_F32, x, 2), 5.0);
  EXPECT_TRUE(std::isnan(mica_max_abs(MICA_F32, x, 4)));
}
} // namespace
