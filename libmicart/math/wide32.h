// What float32's Gelu needs of float64 and no more: the normal distribution to some 2^-51, in a fifth of the
// steps that float64's own functions take. The answers are rounded to float32 and stay correctly rounded; the
// few arguments that would not be are listed in float32.h.
#ifndef MICA_MATH_WIDE32_H
#define MICA_MATH_WIDE32_H

#include "basics.h"
#include "exp.h"
#include "tables.h"

namespace mica::math {

// What the normal distribution has beyond a, and its bell without the factor 1 / sqrt(2 pi), for a = min(|x|,
// 15). The square of a float32 is exact.
struct Bell {
  double tail, bell;
};
MICA_INLINE Bell normal_tail(double x) {
  double a = limited(abs(x), 0.0, 15.0);
  double bell = exp_short(-0.5 * a * a);
  return {bell * polynomial_of_four(kTail, (a - 5.0) / (a + 5.0)), bell};
}

MICA_INLINE double gelu_short(double x) {
  Bell b = normal_tail(x);
  double c = limited(x, -15.0, 15.0); // from -15 on the answer is -0, from 15 on x
  return x < 0.0 ? c * b.tail : fma(-c, b.tail, x);
}

// Phi(x) + x phi(x).
MICA_INLINE double gelu_gradient_short(double x) {
  Bell b = normal_tail(x);
  double c = limited(x, -15.0, 15.0);
  return (x < 0.0 ? b.tail : 1.0 - b.tail) + c * kInvSqrtTwoPiHigh * b.bell;
}

} // namespace mica::math
#endif
