// Gelu of a float and its derivative, in one double: the answers of erf.h's, rounded once, at a third of the
// work. Every argument of a magnitude from 2^-27 to 32 was compared, and samples of the others: Gelu is
// correctly rounded, the derivative differs at one, by a last place.
#ifndef MICA_MATH_GELU_H
#define MICA_MATH_GELU_H

#include "basics.h"
#include "exp.h"
#include "tables.h"

namespace mica::math {

// The normal distribution beyond z, 0 <= z <= 15, a float: Q(z) = bell * ratio with bell = e^(-z^2/2). The
// ratio is smooth (after M. Shepherd and J. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2)
// erfc x", Math. Comp. 36 (1981)), and z^2 of a float has no rounding.
struct NormalTail {
  double bell, ratio;
};
MICA_INLINE NormalTail normal_tail(double z) {
  double inverse = 1.0 / (z + 5.0);
  return {exp_for_f32(-0.5 * z * z), polynomial(kNormalTail, (z - 5.0) * inverse) * inverse};
}

// x Phi(x): x Q(-x) on the left, x - x Q(x) on the right.
MICA_INLINE double gelu_for_f32(double x) {
  double z = limited(abs(x), 0.0, 15.0);
  NormalTail tail = normal_tail(z);
  double q = tail.bell * tail.ratio;
  return x < 0.0 ? -z * q : fma(-z, q, x);
}

// Phi(x) + x phi(x): with d = Q(z) - z phi(z), z = |x|, it is d on the left and 1 - d on the right.
MICA_INLINE double gelu_gradient_for_f32(double x) {
  double z = limited(abs(x), 0.0, 15.0);
  NormalTail tail = normal_tail(z);
  double d = tail.bell * fma(-kInvSqrtTwoPiHigh, z, tail.ratio);
  return x < 0.0 ? d : 1.0 - d;
}

} // namespace mica::math
#endif
