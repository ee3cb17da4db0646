// x^y. float64: ln x with about 67 bits from a table of 128 intervals, then e^(y ln x) from a pair; after the
// design of ARM's optimized routines' pow (S. Nagy, 2018). float32: through float64.
#ifndef MICA_MATH_POW_H
#define MICA_MATH_POW_H

#include "basics.h"
#include "exp.h"
#include "ln.h"

namespace mica::math {

MICA_INLINE Pair ln_precise(double x) {
  bool tiny = x < 0x1p-1022;
  u64 word = bits_of(tiny ? x * 0x1p54 : x);
  u64 moved = word - 0x3FE6955500000000;
  i64 index = static_cast<i64>(moved >> 45 & 127);
  i64 k = static_cast<i64>(moved) >> 52;
  double m = double_of(word - (moved & 0xFFF0000000000000));
  double exponent = static_cast<double>(k) - (tiny ? 54.0 : 0.0);
  const LnEntry &entry = kLnTable[index];
  double r = fma(m, entry.inverse, -1.0); // exact
  // k ln 2 + ln c + r - r^2/2 + r^3 P(r), the first terms exactly.
  double t = fma(exponent, kLn2High, entry.high); // exact: both are multiples of 2^-42 below 2^11
  Pair a = two_sum(t, r);
  Pair square = two_product(-0.5 * r, r);
  Pair b = two_sum(a.high, square.high);
  double rest = fma(exponent, kLn2Low, entry.low) + square.low;
  rest = fma(r * r * r, polynomial(kLnTail, r), rest);
  return quick_sum(b.high, a.low + b.low + rest);
}

// 2 where y is an even integer, 1 where odd, 0 where it is none.
MICA_INLINE int integer_kind(double y) {
  double a = abs(y);
  bool integer = __builtin_floor(a) == a;
  double half = a * 0.5;
  bool even = __builtin_floor(half) == half;
  return integer ? even ? 2 : 1 : 0;
}

// What pow gives where an operand is zero, infinite, negative or no number, from the value for |x|.
MICA_INLINE double pow_limits(double x, double y, double value) {
  double a = abs(x);
  int kind = integer_kind(y);
  bool grows = a > 1.0 ? y > 0.0 : y < 0.0; // towards infinity where x or y is extreme
  bool extreme = a == 0.0 || a == kInfinity || (abs(y) == kInfinity && a != 1.0);
  double v = extreme ? grows ? kInfinity : 0.0 : value;
  v = x < 0.0 && kind == 0 && a != kInfinity ? __builtin_nan("") : v;
  v = kind == 1 && bits_of(x) >> 63 ? -v : v;
  v = x != x ? x : v;
  v = y != y ? y : v;
  return x == 1.0 || y == 0.0 || (x == -1.0 && abs(y) == kInfinity) ? 1.0 : v;
}

MICA_INLINE double pow_f64(double x, double y) {
  double a = abs(x);
  double usable = a > 0.0 && a < kInfinity ? a : 1.0; // keeps the tables in range
  Pair l = ln_precise(usable);
  double limited_y = limited(y, -0x1p66, 0x1p66);
  limited_y = y != y ? 0.0 : limited_y;
  limited_y = abs(limited_y) < 0x1p-70 ? 0.0 : limited_y; // 1 all the same, and no product vanishes
  Pair p = multiply(l, limited_y);
  bool over = p.high > 800.0, under = p.high < -800.0;
  Scaled s = exp_scaled(limited(p.high, -800.0, 800.0), over || under ? 0.0 : p.low);
  return pow_limits(x, y, scale(whole(s.value), s.k));
}

MICA_INLINE double pow_f32_wide(double x, double y) {
  double a = abs(x);
  double usable = a > 0.0 && a < kInfinity ? a : 1.0;
  double l = whole(ln_pair(usable));
  double limited_y = y != y ? 0.0 : limited(y, -0x1p100, 0x1p100);
  double p = limited(l * limited_y, -200.0, 200.0);
  return pow_limits(x, y, whole(exp_pair(exp_scaled(p))));
}

} // namespace mica::math
#endif
