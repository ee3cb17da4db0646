// The natural and the decimal logarithm.
#ifndef MICA_MATH_LN_H
#define MICA_MATH_LN_H

#include "basics.h"
#include "tables.h"

namespace mica::math {

// x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), for positive finite x, subnormal ones too.
struct LnParts {
  double k;
  double f;
};
MICA_INLINE LnParts reduce_ln(double x) {
  bool tiny = x < 0x1p-1022;
  u64 word = bits_of(tiny ? x * 0x1p54 : x);
  word += 0x3FF0000000000000 - 0x3FE6A09E667F3BCD; // so that the exponent field counts from sqrt(1/2)
  // The biased exponent as a double, through the low bits of 2^52.
  double biased = double_of(word >> 52 | 0x4330000000000000) - 0x1p52;
  double k = biased - (tiny ? 1023.0 + 54.0 : 1023.0);
  u64 mantissa = (word & 0x000FFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD;
  return {k, double_of(mantissa) - 1.0};
}

// ln x in two parts: f - f^2/2 exactly, the rest (at most f^3/3) in one; after the freely distributable
// libm's log.
MICA_INLINE Pair ln_pair(double x) {
  LnParts parts = reduce_ln(x);
  double f = parts.f, k = parts.k;
  double s = f / (2.0 + f), z = s * s;
  Pair square = two_product(0.5 * f, f);
  double rest = s * fma(z, polynomial(kLn, z), square.high);
  Pair t = quick_sum(f, -square.high);
  Pair sum = two_sum(k * kLn2High, t.high);
  return quick_sum(sum.high, sum.low + (fma(k, kLn2Low, rest) + (t.low - square.low)));
}

MICA_INLINE double ln_limits(double x, double y) {
  y = x == kInfinity ? x : y;
  y = x == 0.0 ? -kInfinity : y;
  y = x < 0.0 ? __builtin_nan("") : y;
  return x != x ? x : y;
}

MICA_INLINE double ln_f64(double x) { return ln_limits(x, whole(ln_pair(x))); }
MICA_INLINE double log10_f64(double x) {
  return ln_limits(x, whole(multiply(ln_pair(x), Pair{kInvLn10High, kInvLn10Low})));
}

} // namespace mica::math
#endif
