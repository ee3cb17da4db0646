// The error function and its complement, and the exact Gelu, which is made of it.
#ifndef MICA_MATH_ERF_H
#define MICA_MATH_ERF_H

#include "basics.h"
#include "exp.h"
#include "tables.h"

namespace mica::math {

// erfc(a) for 0 <= a <= 27.5, a in two parts, from the table's nearest point r = i/64, d = a - r:
// erfc(r + d) = erfc(r) - 2/sqrt(pi) e^(-r^2) * integral of e^(-2 r u - u^2) over 0..d, whose integrand is
// sum H_n(r) (-u)^n / n! (the generating function of the Hermite polynomials). From r = 16 on everything is
// times 2^512.
MICA_INLINE Pair erfc_pair(Pair a) {
  double shifted = a.high + 0x1.8p46; // the nearest 64th
  double r = shifted - 0x1.8p46;
  i64 index = static_cast<i64>(bits_of(shifted) & 0xFFFF);
  index = index > kErfcEntries - 1 ? kErfcEntries - 1 : index;
  const ErfcEntry &entry = kErfcTable[index];
  double d = (a.high - r) + a.low;
  double v = -2.0 * r * d, w = -2.0 * d * d;
  double before = 1.0, now = v, q = 0.5 * v;
  constexpr double kInverse[] = {1.0,     1.0 / 2, 1.0 / 3,  1.0 / 4,  1.0 / 5,  1.0 / 6,  1.0 / 7,
                                 1.0 / 8, 1.0 / 9, 1.0 / 10, 1.0 / 11, 1.0 / 12, 1.0 / 13, 1.0 / 14};
#pragma clang loop unroll(full)
  for (int n = 1; n < 13; n++) {
    double after = fma(v, now, w * before) * kInverse[n];
    before = now;
    now = after;
    q = fma(now, kInverse[n + 1], q);
  }
  Pair first = two_product(entry.slope, d);
  double rest = fma(first.high, q, fma(entry.slope_low, d, first.low));
  Pair head = two_sum(entry.high, -first.high);
  return quick_sum(head.high, head.low + (entry.low - rest));
}

// erf(x) for |x| <= 1/2 in two parts: 2/sqrt(pi) x + x^3 P(x^2).
MICA_INLINE Pair erf_near(Pair x) {
  Pair head = multiply(x, Pair{kTwoOverSqrtPiHigh, kTwoOverSqrtPiLow});
  double z = x.high * x.high;
  double cubic = x.high * z * polynomial(kErf, z);
  // The small part of the argument counts through the first term alone: |x| <= 1/2 makes its share of the
  // cubic less than a quarter, which is added here.
  return quick_sum(head.high, fma(-z * x.low, kTwoOverSqrtPiHigh, head.low + cubic));
}

MICA_INLINE double erf_f64(double x) {
  double a = abs(x);
  Pair near = erf_near({a, 0.0});
  Pair far = erfc_pair({limited(a, 0.0, 6.5), 0.0});
  Pair head = quick_sum(1.0, -far.high);
  double y = a < 0.5 ? whole(near) : head.high + (head.low - far.low);
  return copy_sign(x != x ? x : y, x);
}

// erfc(x) in two parts times `factor` (1, or 2^-512 to be applied by the caller).
struct ErfcValue {
  Pair value;
  double factor;
};
MICA_INLINE ErfcValue erfc_value(Pair x) {
  bool negative = x.high < 0.0;
  Pair a = {abs(x.high), negative ? -x.low : x.low};
  bool near = a.high < 0.5;
  Pair limited_a = {limited(a.high, 0.0, 27.5), a.high > 27.5 ? 0.0 : a.low};
  Pair e = erfc_pair(limited_a);
  double factor = limited_a.high > 15.9921875 ? 0x1p-512 : 1.0; // where the rounded 64th is 1024 or more
  Pair n = erf_near({near ? x.high : 0.0, near ? x.low : 0.0});
  // 1 - erf(x) near 0, else erfc(a), or 2 - erfc(a) for a negative x.
  double sub = near ? n.high : e.high * factor, sub_low = near ? n.low : e.low * factor;
  Pair head = two_sum(near ? 1.0 : 2.0, -sub);
  Pair turned = quick_sum(head.high, head.low - sub_low);
  bool use_turned = near || negative;
  return {{use_turned ? turned.high : e.high, use_turned ? turned.low : e.low}, use_turned ? 1.0 : factor};
}

MICA_INLINE double erfc_f64(double x) {
  ErfcValue e = erfc_value({x, 0.0});
  double y = whole(e.value) * e.factor;
  y = x > 27.5 ? 0.0 : y;
  return x != x ? x : y;
}

// Gelu(x) = 0.5 x erfc(-x / sqrt 2).
MICA_INLINE double gelu_f64(double x) {
  double c = limited(x, -40.0, 40.0);
  ErfcValue e = erfc_value(multiply(Pair{kSqrtHalfHigh, kSqrtHalfLow}, -c));
  double y = whole(multiply(e.value, 0.5 * c)) * e.factor;
  y = x > 40.0 ? x : y;
  y = x < -39.0 ? -0.0 : y;
  return x != x || x == 0.0 ? x : y;
}

// Its derivative: Phi(x) + x phi(x).
MICA_INLINE double gelu_gradient_f64(double x) {
  double c = limited(x, -40.0, 40.0);
  ErfcValue e = erfc_value(multiply(Pair{kSqrtHalfHigh, kSqrtHalfLow}, -c));
  Pair square = two_product(-0.5 * c, c);
  Scaled s = exp_scaled(limited(square.high, -800.0, 0.0), square.high < -800.0 ? 0.0 : square.low);
  Pair bell = multiply(multiply(s.value, Pair{kInvSqrtTwoPiHigh, kInvSqrtTwoPiLow}), c);
  // Far left everything is small: both parts are summed times 2^600.
  bool deep = c < -20.0;
  double factor = power_of_two(s.k < -600 ? deep ? s.k + 600 : -1000 : s.k + (deep ? 600 : 0)),
         tail_factor = e.factor * (deep ? 0x1p600 : 1.0);
  Pair sum = two_sum(0.5 * e.value.high * tail_factor, bell.high * factor);
  double y = sum.high + (sum.low + fma(bell.low, factor, 0.5 * e.value.low * tail_factor));
  y = deep ? y * 0x1p-600 : y;
  y = x < -39.0 ? -0.0 : y;
  return x != x ? x : y;
}

} // namespace mica::math
#endif
