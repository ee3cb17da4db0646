// Sine, cosine and tangent. An argument becomes a quarter turn's number n and r in two parts, |r| <= pi/4 and
// a little.
#ifndef MICA_MATH_TRIG_H
#define MICA_MATH_TRIG_H

#include "basics.h"
#include "tables.h"

namespace mica::math {

struct Turn {
  Pair r;
  u64 quarter; // its low two bits count
};

// A float32 of any size, without a branch: x * 2/pi from four chunks of 29 bits, whose products with the 24
// bits of x are exact; the bits of 2/pi that only give whole turns are left out (Payne and Hanek, "Radian
// reduction for trigonometric functions", 1983).
MICA_INLINE Turn reduce_turn_f32(float x) {
  i64 exponent = static_cast<i64>(bits_of(x) >> 23 & 0xFF) - 127;
  i64 entry = exponent - 25;
  entry = entry < 0 ? 0 : entry > 102 ? 102 : entry;
  double v = static_cast<double>(x);
  double p0 = v * kTwoOverPiChunks[entry][0], p1 = v * kTwoOverPiChunks[entry][1];
  double p2 = v * kTwoOverPiChunks[entry][2], p3 = v * kTwoOverPiChunks[entry][3];
  double shifted = (p0 + p1) + kShifter;
  double n = shifted - kShifter;
  Pair a = two_sum(p0 - n, p1);
  Pair b = two_sum(a.high, p2);
  Pair turn = quick_sum(b.high, a.low + b.low + p3);
  Pair r = multiply(turn, Pair{kPiHalfHigh, kPiHalfLow});
  return {quick_sum(r.high, r.low), bits_of(shifted)};
}

// A float64 beyond 2^27, by integers: 192 bits of 2/pi from the bit on whose product counts two quarter
// turns, times the 53 bits of x, modulo 2^192. The top two bits are the quarter, what follows is the
// fraction.
static inline __attribute__((noinline)) Turn reduce_turn_large(double x) {
  using u128 = unsigned __int128;
  u64 word = bits_of(x);
  u64 mantissa = (word & 0x000FFFFFFFFFFFFF) | u64(1) << 52;
  i64 first = static_cast<i64>(word >> 52 & 0x7FF) - 1075 - 2 + 64; // the table starts with 64 zeros
  i64 index = first >> 6, shift = first & 63;
  u64 window[3];
  for (int i = 0; i < 3; i++) {
    u64 left = kTwoOverPiWords[index + i], right = kTwoOverPiWords[index + i + 1];
    window[i] = shift ? left << shift | right >> (64 - shift) : left;
  }
  u128 low = static_cast<u128>(mantissa) * window[2];
  u128 middle = static_cast<u128>(mantissa) * window[1] + static_cast<u64>(low >> 64);
  u64 top = mantissa * window[0] + static_cast<u64>(middle >> 64);
  u64 next = static_cast<u64>(middle);
  u64 fraction = top << 2 | next >> 62, fraction2 = next << 2 | static_cast<u64>(low) >> 62;
  u64 quarter = (top >> 62) + (fraction >> 63); // from half a quarter turn on count to the next
  i64 signed_fraction = static_cast<i64>(fraction);
  double high = static_cast<double>(signed_fraction >> 32) * 0x1p-32;
  double rest =
      static_cast<double>(fraction & 0xFFFFFFFF) * 0x1p-64 + static_cast<double>(fraction2) * 0x1p-128;
  Pair r = multiply(two_sum(high, rest), Pair{kPiHalfHigh, kPiHalfLow});
  r = quick_sum(r.high, r.low);
  bool negative = word >> 63;
  return {{negative ? -r.high : r.high, negative ? -r.low : r.low}, negative ? 0 - quarter : quarter};
}

// Up to 2^27: pi/2 in three parts; the first difference is exact.
MICA_INLINE Turn reduce_turn_f64(double x) {
  if (__builtin_expect(abs(x) > 0x1p27, 0)) {
    if (!(abs(x) < kInfinity)) return {{x - x, 0.0}, 0};
    return reduce_turn_large(x);
  }
  double shifted = fma(x, kTwoOverPi, kShifter);
  double n = shifted - kShifter;
  double t = fma(-n, kPiHalfHigh, x);
  Pair p = two_product(n, kPiHalfLow);
  Pair r = two_sum(t, -p.high);
  return {quick_sum(r.high, r.low - p.low - n * kPiHalf3), bits_of(shifted)};
}

// sin and cos of r, each as a head and a small rest.
MICA_INLINE Pair sin_of(Pair r) {
  double z = r.high * r.high;
  double rest = fma(r.high * z, polynomial(kSin, z), r.low * fma(-0.5, z, 1.0));
  return {r.high, rest};
}
MICA_INLINE Pair cos_of(Pair r) {
  Pair square = two_product(0.5 * r.high, r.high);
  double z = r.high * r.high;
  Pair head = quick_sum(1.0, -square.high);
  double rest = fma(z * z, polynomial(kCos, z), head.low - square.low - r.high * r.low);
  return {head.high, rest};
}

MICA_INLINE double turn_sin(Turn t, u64 ahead) {
  u64 quarter = t.quarter + ahead;
  Pair s = sin_of(t.r), c = cos_of(t.r);
  double y = quarter & 1 ? whole(c) : whole(s);
  return double_of(bits_of(y) ^ (quarter >> 1 & 1) << 63);
}
MICA_INLINE double turn_tan(Turn t) {
  Pair s = sin_of(t.r), c = cos_of(t.r);
  s = quick_sum(s.high, s.low);
  c = quick_sum(c.high, c.low);
  bool odd = t.quarter & 1;
  Pair above = {odd ? -c.high : s.high, odd ? -c.low : s.low};
  Pair below = {odd ? s.high : c.high, odd ? s.low : c.low};
  return whole(divide(above, below));
}

MICA_INLINE double sin_f64(double x) {
  double y = turn_sin(reduce_turn_f64(x), 0);
  y = abs(x) < 0x1p-27 ? x - x * x * x * (1.0 / 6) : y;
  return x == 0.0 ? x : y;
}
MICA_INLINE double cos_f64(double x) { return turn_sin(reduce_turn_f64(x), 1); }
MICA_INLINE double tan_f64(double x) {
  double y = turn_tan(reduce_turn_f64(x));
  return abs(x) < 0x1p-27 ? x + x * x * x * (1.0 / 3) : y;
}

} // namespace mica::math
#endif
