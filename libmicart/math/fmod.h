// The exact remainder of a division that truncates, by integers.
#ifndef MICA_MATH_FMOD_H
#define MICA_MATH_FMOD_H

#include "basics.h"

namespace mica::math {

static inline double fmod_f64(double x, double y) {
  double a = abs(x), b = abs(y);
  if (x != x) return x;
  if (y != y) return y;
  if (a == kInfinity || b == 0.0) return __builtin_nan("");
  if (a < b) return x;
  if (a == b) return copy_sign(0.0, x);
  u64 wa = bits_of(a), wb = bits_of(b);
  i64 ea = static_cast<i64>(wa >> 52), eb = static_cast<i64>(wb >> 52);
  u64 ma = (wa & 0x000FFFFFFFFFFFFF) | (ea ? u64(1) << 52 : 0),
      mb = (wb & 0x000FFFFFFFFFFFFF) | (eb ? u64(1) << 52 : 0);
  ea += ea == 0;
  eb += eb == 0;
  // ma * 2^(ea - eb) mod mb, eleven bits at a time.
  i64 left = ea - eb;
  ma %= mb;
  while (left > 0 && ma) {
    i64 step = left < 11 ? left : 11;
    ma = (ma << step) % mb;
    left -= step;
  }
  if (ma == 0) return copy_sign(0.0, x);
  // ma * 2^(eb - 1075), normalized.
  i64 shift = __builtin_clzll(ma) - 11;
  i64 exponent = eb - shift;
  u64 word =
      exponent > 0 ? (ma << shift & 0x000FFFFFFFFFFFFF) | static_cast<u64>(exponent) << 52 : ma << (eb - 1);
  return copy_sign(double_of(word), x);
}

} // namespace mica::math
#endif
