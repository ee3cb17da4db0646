// AdamW's scalars (numerics.md 10), in float64: 1 - beta1, 1 - beta2, 1 - alpha decay, alpha / (1 - beta1^t),
// sqrt(1 - beta2^t); the caller rounds each once to the weights' type.
#ifndef MICA_MATH_OPTIMIZER_H
#define MICA_MATH_OPTIMIZER_H

#include "pow.h"

namespace mica::math {

MICA_INLINE void adamw(i64 step, double alpha, double beta1, double beta2, double decay, double *out) {
  double t = static_cast<double>(step);
  out[0] = 1.0 - beta1;
  out[1] = 1.0 - beta2;
  out[2] = 1.0 - alpha * decay;
  out[3] = alpha / (1.0 - pow_f64(beta1, t));
  out[4] = __builtin_sqrt(1.0 - pow_f64(beta2, t));
}

} // namespace mica::math
#endif
