// GPT-2's Gelu, 0.5 x (1 + tanh u), u = sqrt(2/pi) (x + 0.044715 x^3), which is x sigmoid(2 u); and its
// derivative.
#ifndef MICA_MATH_GELU_TANH_H
#define MICA_MATH_GELU_TANH_H

#include "basics.h"
#include "exp.h"

namespace mica::math {

// 2 u in two parts, for |x| <= 100.
MICA_INLINE Pair gelu_tanh_inner(double x) {
  Pair square = two_product(x, x);
  Pair t = multiply(square, Pair{kGeluCubicHigh, kGeluCubicLow});
  Pair sum = two_sum(1.0, t.high);
  sum = quick_sum(sum.high, sum.low + t.low);
  Pair u = multiply(multiply(sum, x), Pair{2.0 * kSqrtTwoOverPiHigh, 2.0 * kSqrtTwoOverPiLow});
  return quick_sum(u.high, u.low);
}

// Beyond 30 (where the inner argument passes 1900) the answer is x or nothing.
MICA_INLINE double gelu_tanh_f64(double x) {
  double c = limited(x, -30.0, 30.0);
  Pair u = gelu_tanh_inner(c);
  // sigmoid of a pair: e = e^-|u|, with the far ends kept in a double's range.
  double a = limited(-abs(u.high), -800.0, 0.0);
  double tail = abs(u.high) > 800.0 ? 0.0 : u.high < 0.0 ? u.low : -u.low;
  Scaled s = exp_scaled(a, tail);
  bool negative = u.high < 0.0;
  bool deep = s.k < -600; // then 1 + e is 1, and e is scaled at the very end
  double factor = power_of_two(deep ? -600 : s.k);
  Pair e = {s.value.high * factor, s.value.low * factor};
  Pair below = quick_sum(1.0, e.high);
  below.low += e.low;
  Pair above = {negative ? e.high : 1.0, negative ? e.low : 0.0};
  Pair q = multiply(divide(above, below), c);
  double y = whole(q);
  y = deep && negative ? scale(whole(multiply(s.value, c)), s.k) : y;
  y = x > 30.0 ? x : y;
  return x != x || x == 0.0 ? x : y;
}

// sigmoid(2u) + x sigmoid(2u) (1 - sigmoid(2u)) 2u'; the argument is held to +-30, so that no infinity meets
// a zero.
MICA_INLINE double gelu_tanh_gradient_f64(double x) {
  double c = limited(x, -30.0, 30.0);
  Pair u = gelu_tanh_inner(c);
  double slope = 2.0 * kSqrtTwoOverPiHigh * fma(3.0 * kGeluCubicHigh, c * c, 1.0);
  double low = abs(u.high) > 700.0 ? 0.0 : u.low;
  Pair s = sigmoid_pair(limited(u.high, -700.0, 700.0), low);
  Pair rest = sigmoid_pair(limited(-u.high, -700.0, 700.0), -low);
  double factor = fma(c * slope, whole(rest), 1.0);
  double a = limited(u.high, -800.0, 0.0);
  Scaled deep = exp_scaled(a, u.high < -800.0 || u.high > 0.0 ? 0.0 : u.low);
  double y = u.high < -690.0 ? scale(factor * whole(deep.value), deep.k) : whole(s) * factor;
  return x != x ? x : y;
}

} // namespace mica::math
#endif
