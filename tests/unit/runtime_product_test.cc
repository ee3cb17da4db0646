// Products: the bits of a plain loop for every layout, shape, type, clone and number of threads.
#include "../../libmicart/host/product.h"
#include "runtime_program.h"

#include <cmath>
#include <random>

using namespace mica::rt;

namespace {
template <class T>
T plain_cell(const std::vector<T> &a, const std::vector<T> &b, int64_t i, int64_t j, int64_t m, int64_t n,
             int64_t k, bool ta, bool tb) {
  T total = 0;
  for (int64_t k0 = 0; k0 < k; k0 += 128) {
    T block = 0;
    for (int64_t x = k0; x < std::min(k, k0 + 128); x++) {
      T left = ta ? a[static_cast<size_t>(x * m + i)] : a[static_cast<size_t>(i * k + x)];
      T right = tb ? b[static_cast<size_t>(j * k + x)] : b[static_cast<size_t>(x * n + j)];
      block = std::fma(left, right, block);
    }
    total = k0 == 0 ? block : total + block;
  }
  return total;
}

struct mica_product describe(int type, const void *a, const void *b, void *c, int64_t m, int64_t n, int64_t k,
                             bool ta, bool tb) {
  struct mica_product p = {};
  p.a = a;
  p.b = b;
  p.c = c;
  p.m = m;
  p.n = n;
  p.k = k;
  p.lda = ta ? m : k;
  p.ldb = tb ? k : n;
  p.ldc = n;
  p.batch0 = p.batch1 = 1;
  p.type_a = p.type_b = p.type_c = type;
  p.transpose_a = ta;
  p.transpose_b = tb;
  return p;
}

std::mt19937 generator(1);
template <class T> std::vector<T> numbers(int64_t count) {
  std::vector<T> x(static_cast<size_t>(count));
  for (T &v : x) v = static_cast<T>(static_cast<double>(generator()) / 2147483648.0 - 1);
  return x;
}

template <class T> void compare(int64_t m, int64_t n, int64_t k, bool ta, bool tb, int width) {
  if (width == 512 && !has_avx512()) return;
  forced_width = width;
  std::vector<T> a = numbers<T>(m * k), b = numbers<T>(k * n), c(static_cast<size_t>(m * n) + 1, T(77));
  struct mica_product p = describe(type_of<T>(), a.data(), b.data(), c.data(), m, n, k, ta, tb);
  mica_multiply(&p);
  forced_width = 0;
  EXPECT_EQ(c.back(), T(77));
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      T expected = plain_cell(a, b, i, j, m, n, k, ta, tb), ours = c[static_cast<size_t>(i * n + j)];
      ASSERT_EQ(memcmp(&expected, &ours, sizeof(T)), 0)
          << m << "x" << n << "x" << k << (ta ? " ta" : "") << (tb ? " tb" : "") << " at " << i << "," << j
          << " width " << width;
    }
  }
}

TEST(Product, BitsOfThePlainLoop) {
  const int64_t kShapes[][3] = {{1, 1, 1},     {1, 100, 300},  {100, 1, 300},  {3, 33, 257},
                                {6, 16, 128},  {7, 17, 129},   {15, 65, 640},  {31, 31, 31},
                                {64, 64, 64},  {5, 513, 130},  {180, 40, 200}, {14, 32, 256},
                                {29, 600, 50}, {337, 70, 140}, {2, 3, 4},      {13, 1, 9}};
  for (const int64_t(&shape)[3] : kShapes) {
    for (int layout = 0; layout < 4; layout++) {
      for (int width : {256, 512}) {
        compare<float>(shape[0], shape[1], shape[2], layout & 1, layout >> 1, width);
        compare<double>(shape[0], shape[1], shape[2], layout & 1, layout >> 1, width);
      }
    }
  }
}

TEST(Product, EmptyInnerSizeGivesZeros) {
  std::vector<float> c(12, 5.0f);
  struct mica_product p = describe(MICA_F32, nullptr, nullptr, c.data(), 3, 4, 0, false, false);
  mica_multiply(&p);
  EXPECT_EQ(c, std::vector<float>(12, 0.0f));
}

TEST(Product, BatchesWithStrides) { // heads side by side in the columns, as in an attention
  constexpr int64_t kBatch = 3, kHeads = 2, kT = 5, kD = 8;
  std::vector<float> q = numbers<float>(kBatch * kT * kHeads * kD),
                     k = numbers<float>(kBatch * kT * kHeads * kD);
  std::vector<float> s(kBatch * kHeads * kT * kT);
  struct mica_product p = describe(MICA_F32, q.data(), k.data(), s.data(), kT, kT, kD, false, true);
  p.lda = p.ldb = kHeads * kD;
  p.batch0 = kBatch;
  p.batch1 = kHeads;
  p.a0 = p.b0 = kT * kHeads * kD;
  p.a1 = p.b1 = kD;
  p.c0 = kHeads * kT * kT;
  p.c1 = kT * kT;
  mica_multiply(&p);
  for (int64_t b = 0; b < kBatch; b++) {
    for (int64_t h = 0; h < kHeads; h++) {
      for (int64_t i = 0; i < kT; i++) {
        for (int64_t j = 0; j < kT; j++) {
          float sum = 0;
          for (int64_t d = 0; d < kD; d++) {
            sum = std::fma(q[static_cast<size_t>(((b * kT + i) * kHeads + h) * kD + d)],
                           k[static_cast<size_t>(((b * kT + j) * kHeads + h) * kD + d)], sum);
          }
          ASSERT_EQ(s[static_cast<size_t>(((b * kHeads + h) * kT + i) * kT + j)], sum);
        }
      }
    }
  }
}

TEST(Product, HalvesRoundOnce) {
  constexpr int64_t kM = 20, kN = 37, kK = 300;
  for (int type : {MICA_F16, MICA_BF16}) {
    std::vector<float> a = numbers<float>(kM * kK), b = numbers<float>(kK * kN);
    std::vector<uint16_t> ha(a.size()), hb(b.size()), c(kM * kN);
    for (size_t i = 0; i < a.size(); i++) {
      ha[i] = type == MICA_F16 ? float_to_f16(a[i]).bits : float_to_bf16(a[i]).bits;
      a[i] = static_cast<float>(float_from_bits(type, ha[i]));
    }
    for (size_t i = 0; i < b.size(); i++) {
      hb[i] = type == MICA_F16 ? float_to_f16(b[i]).bits : float_to_bf16(b[i]).bits;
      b[i] = static_cast<float>(float_from_bits(type, hb[i]));
    }
    struct mica_product p = describe(type, ha.data(), hb.data(), c.data(), kM, kN, kK, false, false);
    mica_multiply(&p);
    for (int64_t i = 0; i < kM; i++) {
      for (int64_t j = 0; j < kN; j++) {
        float sum = plain_cell(a, b, i, j, kM, kN, kK, false, false);
        ASSERT_EQ(c[static_cast<size_t>(i * kN + j)],
                  type == MICA_F16 ? float_to_f16(sum).bits : float_to_bf16(sum).bits);
      }
    }
  }
}

TEST(Product, IntegersWrap) {
  std::vector<int32_t> a = {2147483647, 2, 3, 4}, b = {2, 1, 1, 1}, c(4);
  struct mica_product p = describe(MICA_I32, a.data(), b.data(), c.data(), 2, 2, 2, false, false);
  mica_multiply(&p);
  EXPECT_EQ(c, (std::vector<int32_t>{0, -2147483647, 10, 7}));
  p.transpose_b = 1;
  mica_multiply(&p);
  EXPECT_EQ(c, (std::vector<int32_t>{0, -2147483647, 10, 7}));
}

TEST(Product, OneAndTwoThreadsAgree) {
  std::vector<float> a = numbers<float>(200 * 300), b = numbers<float>(300 * 150), one(200 * 150),
                     two(200 * 150);
  struct mica_product p = describe(MICA_F32, a.data(), b.data(), two.data(), 200, 150, 300, false, false);
  mica_multiply(&p);
  // Within a body every call runs on one thread.
  p.c = one.data();
  struct Context {
    struct mica_product *p;
  } context = {&p};
  mica_parallel(
      [](void *opaque, int64_t begin, int64_t end) {
        if (begin == 0 && end > 0) mica_multiply(static_cast<Context *>(opaque)->p);
      },
      &context, 2, 1);
  EXPECT_EQ(one, two);
}
} // namespace
