// What every function of the math library uses. Freestanding: no header of the system, the same bits on the
// processor and, for float64, on the card. Functions are straight lines of arithmetic and selects, so that a
// loop that inlines one becomes vector code; a fused multiply-add stands only where it is written.
#ifndef MICA_MATH_BASICS_H
#define MICA_MATH_BASICS_H

#define MICA_INLINE static inline __attribute__((always_inline))

// Functions under their public names: a loop of generated code becomes vector code only where they are
// inlined.
#define MICA_PUBLIC __attribute__((always_inline))

namespace mica::math {

using u32 = unsigned;
using u64 = unsigned long;
using i64 = long;
using u16 = unsigned short;

constexpr double kInfinity = __builtin_inf();
constexpr double kShifter = 0x1.8p52; // adding it leaves the nearest integer in the low bits

MICA_INLINE u64 bits_of(double x) { return __builtin_bit_cast(u64, x); }
MICA_INLINE u32 bits_of(float x) { return __builtin_bit_cast(u32, x); }
MICA_INLINE double double_of(u64 x) { return __builtin_bit_cast(double, x); }
MICA_INLINE float float_of(u32 x) { return __builtin_bit_cast(float, x); }
MICA_INLINE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
MICA_INLINE double abs(double x) { return __builtin_fabs(x); }
MICA_INLINE double copy_sign(double x, double s) { return __builtin_copysign(x, s); }

// 2^k for -1022 <= k <= 1023.
MICA_INLINE double power_of_two(i64 k) { return double_of(static_cast<u64>(k + 1023) << 52); }

// x * 2^k for any k that a double's exponent or its reciprocal may need twice over: two factors, one rounding
// where the answer is subnormal.
MICA_INLINE double scale(double x, i64 k) {
  i64 half = k >> 1;
  return x * power_of_two(half) * power_of_two(k - half);
}

// A number in two parts: high is the nearest double to the whole.
struct Pair {
  double high, low;
};

// Knuth's exact sum of any two.
MICA_INLINE Pair two_sum(double a, double b) {
  double s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
// Dekker's exact sum where |a| >= |b| or a is 0.
MICA_INLINE Pair quick_sum(double a, double b) {
  double s = a + b;
  return {s, b - (s - a)};
}
MICA_INLINE Pair two_product(double a, double b) {
  double p = a * b;
  return {p, fma(a, b, -p)};
}
MICA_INLINE Pair multiply(Pair a, double b) {
  Pair p = two_product(a.high, b);
  return {p.high, fma(a.low, b, p.low)};
}
MICA_INLINE Pair multiply(Pair a, Pair b) {
  Pair p = two_product(a.high, b.high);
  return {p.high, p.low + fma(a.high, b.low, a.low * b.high)};
}
// a / b: the first quotient and what it leaves, divided.
MICA_INLINE Pair divide(Pair a, Pair b) {
  double q = a.high / b.high;
  double rest = fma(-q, b.high, a.high) + fma(-q, b.low, a.low);
  return {q, rest / b.high};
}
MICA_INLINE double whole(Pair p) { return p.high + p.low; }

// Horner's rule, lowest coefficient first.
template <int N> MICA_INLINE double polynomial(const double (&c)[N], double x) {
  double y = c[N - 1];
#pragma clang loop unroll(full)
  for (int i = N - 2; i >= 0; i--) y = fma(y, x, c[i]);
  return y;
}

// The same by four rules beside each other, over every fourth coefficient: a quarter of the wait (after
// Estrin).
template <int N> MICA_INLINE double polynomial_of_four(const double (&c)[N], double x) {
  double x2 = x * x, x4 = x2 * x2;
  double y[4] = {c[(N - 1) / 4 * 4], 0, 0, 0};
#pragma clang loop unroll(full)
  for (int p = 1; p < 4; p++) y[p] = c[(N - 1 - p) / 4 * 4 + p];
#pragma clang loop unroll(full)
  for (int p = 0; p < 4; p++)
#pragma clang loop unroll(full)
    for (int i = (N - 1 - p) / 4 * 4 + p - 4; i >= 0; i -= 4) y[p] = fma(y[p], x4, c[i]);
  return fma(fma(y[3], x, y[2]), x2, fma(y[1], x, y[0]));
}

} // namespace mica::math
#endif
