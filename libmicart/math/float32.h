// float32 functions on the processor: correctly rounded, through float64 (numerics.md 6).
#ifndef MICA_MATH_FLOAT32_H
#define MICA_MATH_FLOAT32_H

#include "basics.h"

namespace mica::math {
MICA_INLINE double exp_for_f32(double x) { return whole(exp_pair(exp_scaled(limited(x, -200.0, 200.0)))); }
MICA_INLINE double sin_for_f32(float x) { return turn_sin(reduce_turn_f32(x), 0); }
MICA_INLINE double cos_for_f32(float x) { return turn_sin(reduce_turn_f32(x), 1); }
MICA_INLINE double tan_for_f32(float x) { return turn_tan(reduce_turn_f32(x)); }
// An infinite or missing argument of a turn gives no number; a zero keeps its sign.
MICA_INLINE float turn_limits(float x, double y) {
  float z = __builtin_fabsf(x) < __builtin_inff() ? static_cast<float>(y) : x - x;
  return z;
}
} // namespace mica::math

#define MICA_F32(name)                                                                                       \
  float mica_##name##_f32(float x) {                                                                         \
    return static_cast<float>(mica::math::name##_f64(static_cast<double>(x)));                               \
  }

extern "C" {
float mica_exp_f32(float x) { return static_cast<float>(mica::math::exp_for_f32(static_cast<double>(x))); }
float mica_sin_f32(float x) {
  float y = mica::math::turn_limits(x, mica::math::sin_for_f32(x));
  return x == 0.0f ? x : y;
}
float mica_cos_f32(float x) { return mica::math::turn_limits(x, mica::math::cos_for_f32(x)); }
float mica_tan_f32(float x) {
  float y = mica::math::turn_limits(x, mica::math::tan_for_f32(x));
  return x == 0.0f ? x : y;
}
MICA_F32(ln)
MICA_F32(log10)
MICA_F32(arcsin)
MICA_F32(arccos)
MICA_F32(arctan)
MICA_F32(tanh)
MICA_F32(erf)
MICA_F32(erfc)
MICA_F32(gelu)
MICA_F32(gelu_gradient)
MICA_F32(gelu_tanh)
MICA_F32(gelu_tanh_gradient)
MICA_F32(sigmoid)
MICA_F32(silu)
MICA_F32(silu_gradient)
float mica_pow_f32(float x, float y) {
  return static_cast<float>(mica::math::pow_f32_wide(static_cast<double>(x), static_cast<double>(y)));
}
}
#endif
