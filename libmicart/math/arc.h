// The inverse trigonometric functions.
#ifndef MICA_MATH_ARC_H
#define MICA_MATH_ARC_H

#include "basics.h"
#include "tables.h"

namespace mica::math {

// |x| in three ranges by tan(pi/8) and tan(3 pi/8): atan(x) = base + atan(t), t = x, (x - 1) / (x + 1), -1 /
// x.
MICA_INLINE double arctan_f64(double x) {
  double a = abs(x);
  bool middle = a > 0x1.a827999fcef32p-2, large = a > 0x1.3504f333f9de6p+1;
  Pair less = two_sum(a, -1.0), more = two_sum(a, 1.0);
  Pair above = {large ? -1.0 : middle ? less.high : a, large ? 0.0 : middle ? less.low : 0.0};
  Pair below = {large ? a : middle ? more.high : 1.0, large ? 0.0 : middle ? more.low : 0.0};
  Pair t = divide(above, below);
  t.low = a > 0x1p1000 ? 0.0 : t.low; // an infinite denominator leaves nothing
  double z = t.high * t.high;
  double rest = fma(t.high * z, polynomial(kAtan, z), t.low);
  double base = large ? kPiHalfHigh : middle ? kPiQuarterHigh : 0.0;
  double base_low = large ? kPiHalfLow : middle ? kPiQuarterLow : 0.0;
  Pair sum = quick_sum(base, t.high);
  double y = base == 0.0 ? t.high + rest : sum.high + (sum.low + (base_low + rest));
  return copy_sign(x != x ? x : y, x);
}

// asin(t) = t + t^3 P(t^2) for |t| <= 1/2; beyond, asin(|x|) = pi/2 - 2 asin(sqrt((1 - |x|) / 2)).
struct ArcParts {
  Pair root; // |x|, or the square root
  double rest;
  bool far;
};
MICA_INLINE ArcParts arc_parts(double x) {
  double a = abs(x);
  bool far = a > 0.5;
  double half = fma(a, -0.5, 0.5); // exact for a >= 1/2
  double z = far ? half : a * a;
  double root = __builtin_sqrt(half);
  double root_low = root > 0.0 ? fma(-root, root, half) / (root + root) : 0.0;
  double t = far ? root : a;
  double low = far ? root_low : 0.0;
  return {{t, low}, fma(t * z, polynomial(kAsin, z), low), far};
}
MICA_INLINE double arc_limits(double x, double y) {
  y = abs(x) > 1.0 ? __builtin_nan("") : y;
  return x != x ? x : y;
}

MICA_INLINE double arcsin_f64(double x) {
  ArcParts p = arc_parts(x);
  Pair head = quick_sum(kPiHalfHigh, -2.0 * p.root.high);
  double far = head.high + (head.low + fma(-2.0, p.rest, kPiHalfLow));
  double y = copy_sign(p.far ? far : p.root.high + p.rest, x);
  return arc_limits(x, y);
}

MICA_INLINE double arccos_f64(double x) {
  ArcParts p = arc_parts(x);
  double right = 2.0 * (p.root.high + p.rest);
  Pair turned = quick_sum(2.0 * kPiHalfHigh, -2.0 * p.root.high);
  double left = turned.high + (turned.low + fma(-2.0, p.rest, 2.0 * kPiHalfLow));
  double signed_root = copy_sign(p.root.high, x), signed_rest = x < 0.0 ? -p.rest : p.rest;
  Pair head = quick_sum(kPiHalfHigh, -signed_root);
  double near = head.high + (head.low + (kPiHalfLow - signed_rest));
  return arc_limits(x, p.far ? x < 0.0 ? left : right : near);
}

} // namespace mica::math
#endif
