// e^x, e^x - 1 and what is made of them: tanh, sigmoid, silu.
#ifndef MICA_MATH_EXP_H
#define MICA_MATH_EXP_H

#include "basics.h"
#include "tables.h"

namespace mica::math {

// x = k ln 2 + r, |r| <= ln 2 / 2, r in two parts; x within +-1100.
struct ExpParts {
  i64 k;
  double high, low; // of r
};
MICA_INLINE ExpParts reduce_exp(double x) {
  double shifted = fma(x, kInvLn2, kShifter);
  double n = shifted - kShifter;
  i64 k = static_cast<i64>(bits_of(shifted)) - static_cast<i64>(bits_of(kShifter));
  double t = fma(-n, kLn2High, x); // exact: the high part of ln 2 has 32 bits
  double product = n * kLn2Low;
  double high = t - product;
  double low = (t - high) - product - fma(n, kLn2Low, -product);
  return {k, high, low};
}

// e^r = 1 + p: p as high + low, not normalized; |low| is below |high|^2.
MICA_INLINE Pair exp_minus_one_of(ExpParts e) {
  double r = e.high;
  return {r, fma(r * r, polynomial(kExp, r), fma(e.low, r, e.low))};
}

// e^(x + tail) in two parts and the power of two to scale with, |x| <= 1100.
struct Scaled {
  Pair value;
  i64 k;
};
MICA_INLINE Scaled exp_of_parts(ExpParts e) {
  Pair p = exp_minus_one_of(e);
  Pair s = quick_sum(1.0, p.high);
  return {quick_sum(s.high, s.low + p.low), e.k};
}
MICA_INLINE Scaled exp_scaled(double x) { return exp_of_parts(reduce_exp(x)); }
MICA_INLINE Scaled exp_scaled(double x, double tail) {
  ExpParts e = reduce_exp(x);
  Pair r = two_sum(e.high, e.low + tail); // a long tail belongs to the head
  return exp_of_parts({e.k, r.high, r.low});
}

MICA_INLINE double limited(double x, double low, double high) {
  x = x < low ? low : x; // a NaN passes
  return x > high ? high : x;
}

MICA_INLINE double exp_f64(double x) {
  Scaled s = exp_scaled(limited(x, -800.0, 800.0));
  return scale(whole(s.value), s.k);
}

// e^x of a float: one double is enough (found by trying all of them, tests/long/float32_functions.cc).
MICA_INLINE double exp_for_f32(double x) {
  x = limited(x, -200.0, 200.0);
  double shifted = fma(x, kInvLn2, kShifter);
  double n = shifted - kShifter;
  double r = fma(-n, kLn2Low, fma(-n, kLn2High, x));
  double y = 1.0 + fma(r * r, polynomial(kExp, r), r);
  return y * double_of((bits_of(shifted) << 52) + bits_of(1.0)); // the low bits of `shifted` are n
}

// For arguments whose answers are far from a double's ends: one scaling, by the exponent alone.
MICA_INLINE Pair exp_pair(Scaled s) {
  double factor = power_of_two(s.k);
  return {s.value.high * factor, s.value.low * factor};
}

// e^x - 1 in two parts, -700 <= x <= 700; relative precision also near 0.
MICA_INLINE Pair exp_minus_one(double x) {
  ExpParts e = reduce_exp(x);
  Pair p = exp_minus_one_of(e);
  double factor = power_of_two(e.k);
  Pair head = quick_sum(factor > 1.0 ? factor : -1.0, factor > 1.0 ? -1.0 : factor); // 2^k - 1
  Pair s = two_sum(head.high, factor * p.high);
  return quick_sum(s.high, s.low + head.low + factor * p.low);
}

// tanh x = -m / (2 + m), m = e^(-2|x|) - 1.
MICA_INLINE double tanh_f64(double x) {
  double a = abs(x);
  Pair m = exp_minus_one(-2.0 * limited(a, 0.0, 40.0));
  Pair below = two_sum(2.0, m.high);
  below.low += m.low;
  double y = whole(divide({-m.high, -m.low}, below));
  y = a < 0x1p-500 ? a : y; // no product of the division may vanish
  return copy_sign(x != x ? x : y, x);
}

// 1 / (1 + e^(-x + -tail)) in two parts: with e = e^-|x|, 1 / (1 + e) or e / (1 + e).
MICA_INLINE Pair sigmoid_pair(double x, double tail) {
  double a = limited(-abs(x), -700.0, 0.0);
  Pair e = exp_pair(exp_scaled(a, x < 0.0 ? tail : -tail));
  Pair below = quick_sum(1.0, e.high);
  below.low += e.low;
  bool negative = x < 0.0;
  Pair above = {negative ? e.high : 1.0, negative ? e.low : 0.0};
  return divide(above, below);
}
MICA_INLINE double sigmoid_f64(double x) {
  // Below -700 the denominator is 1 and the answer e^x itself, down to nothing.
  double y = x < -700.0 ? exp_f64(x) : whole(sigmoid_pair(x, 0.0));
  return x != x ? x : y;
}
MICA_INLINE double silu_f64(double x) {
  Pair s = multiply(sigmoid_pair(x, 0.0), x);
  double c = limited(x, -800.0, 0.0);
  Scaled deep = exp_scaled(c);
  double y = x < -700.0 ? scale(whole(multiply(deep.value, c)), deep.k) : whole(s);
  y = x == kInfinity ? x : y;
  return x != x || x == 0.0 ? x : y;
}
// sigmoid (1 + x (1 - sigmoid)); far out the sigmoid is 0 or 1 and no infinity meets a zero.
MICA_INLINE double silu_gradient_f64(double x) {
  double c = limited(x, -800.0, 740.0);
  double s = whole(sigmoid_pair(c, 0.0)), rest = whole(sigmoid_pair(-c, 0.0));
  double factor = fma(c, rest, 1.0);
  Scaled deep = exp_scaled(limited(c, -800.0, 0.0));
  double y = c < -690.0 ? scale(factor * whole(deep.value), deep.k) : s * factor;
  return x != x ? x : y;
}

} // namespace mica::math
#endif
