// float32 functions on the processor: correctly rounded, through float64 (numerics.md 6).
#ifndef MICA_MATH_FLOAT32_H
#define MICA_MATH_FLOAT32_H

#include "basics.h"

namespace mica::math {
MICA_INLINE double sin_for_f32(float x) { return turn_sin(reduce_turn_f32(x), 0); }
MICA_INLINE double cos_for_f32(float x) { return turn_sin(reduce_turn_f32(x), 1); }
MICA_INLINE double tan_for_f32(float x) { return turn_tan(reduce_turn_f32(x)); }
// An infinite or missing argument of a turn gives no number; a zero keeps its sign.
MICA_INLINE float turn_limits(float x, double y) {
  float z = __builtin_fabsf(x) < __builtin_inff() ? static_cast<float>(y) : x - x;
  return z;
}
} // namespace mica::math

// The arguments that a double's own rounding would decide wrongly (found by tests/long/float32_functions.cc).
#define MICA_FIX(argument, answer) y = bits_of(x) == argument ? float_of(answer) : y
#define MICA_FIX_ODD(argument, answer)                                                                       \
  y = bits_of(__builtin_fabsf(x)) == argument ? __builtin_copysignf(float_of(answer), x) : y
#define MICA_FIX_ODD_NEGATIVE(argument, answer)                                                              \
  y = bits_of(__builtin_fabsf(x)) == argument ? -__builtin_copysignf(float_of(answer), x) : y
#define MICA_FIX_EVEN(argument, answer) y = bits_of(__builtin_fabsf(x)) == argument ? float_of(answer) : y
namespace mica::math {
MICA_INLINE float fix_ln(float x, float y) {
  MICA_FIX(0x3c413d3au, 0xc08e158fu);
  MICA_FIX(0x41178febu, 0x400fe5e7u);
  MICA_FIX(0x4c5d65a5u, 0x418f034bu);
  MICA_FIX(0x65d890d3u, 0x4254d1f9u);
  MICA_FIX(0x6f31a8ecu, 0x42845a89u);
  return y;
}
MICA_INLINE float fix_log10(float x, float y) {
  MICA_FIX(0x0efeee7au, 0xc1e99d23u);
  return y;
}
MICA_INLINE float fix_sin(float x, float y) {
  MICA_FIX_ODD_NEGATIVE(0x46199998u, 0x3eb1fa5du);
  return y;
}
MICA_INLINE float fix_cos(float x, float y) {
  MICA_FIX_EVEN(0x5f18b878u, 0x3f7f14bbu);
  MICA_FIX_EVEN(0x6115cb11u, 0x3f78142fu);
  return y;
}
MICA_INLINE float fix_arccos(float x, float y) {
  MICA_FIX(0x328885a3u, 0x3fc90fdbu);
  MICA_FIX(0x39826222u, 0x3fc907b5u);
  return y;
}
MICA_INLINE float fix_arctan(float x, float y) {
  MICA_FIX_ODD(0x3d8d6b23u, 0x3d8d31c3u);
  return y;
}
MICA_INLINE float fix_erfc(float x, float y) {
  MICA_FIX(0xb76c9f62u, 0x3f800085u);
  return y;
}
// Near 0 some answers are x / 2 or 1 / 2 + x / 4 and less than a double shows, and the former may be a tie
// between two floats: what is not seen must still decide. gelu, gelu_tanh and silu lie above x / 2, sigmoid
// on 1/2's side.
MICA_INLINE double half_and_more(double x, double y) {
  return abs(x) < 0x1p-60 ? fma(abs(x), 0x1p-50, 0.5 * x) : y;
}
MICA_INLINE float near_zero(double x, double y) {
  return static_cast<float>(x == 0.0 ? x : half_and_more(x, y));
}
MICA_INLINE float sigmoid_rounded(double x, double y) {
  return static_cast<float>(abs(x) < 0x1p-12 ? y - copy_sign(0x1p-53, x) : y);
}
} // namespace mica::math

#define MICA_F32_NEAR_ZERO(name)                                                                             \
  MICA_PUBLIC float mica_##name##_f32(float x) {                                                             \
    return mica::math::near_zero(static_cast<double>(x), mica::math::name##_f64(static_cast<double>(x)));    \
  }
#define MICA_F32_FIXED(name)                                                                                 \
  MICA_PUBLIC float mica_##name##_f32(float x) {                                                             \
    return mica::math::fix_##name(x, static_cast<float>(mica::math::name##_f64(static_cast<double>(x))));    \
  }
#define MICA_F32(name)                                                                                       \
  MICA_PUBLIC float mica_##name##_f32(float x) {                                                             \
    return static_cast<float>(mica::math::name##_f64(static_cast<double>(x)));                               \
  }

extern "C" {
MICA_PUBLIC float mica_exp_f32(float x) {
  return static_cast<float>(mica::math::exp_for_f32(static_cast<double>(x)));
}
MICA_PUBLIC float mica_sin_f32(float x) {
  float y = mica::math::turn_limits(x, mica::math::sin_for_f32(x));
  return x == 0.0f ? x : mica::math::fix_sin(x, y);
}
MICA_PUBLIC float mica_cos_f32(float x) {
  return mica::math::fix_cos(x, mica::math::turn_limits(x, mica::math::cos_for_f32(x)));
}
MICA_PUBLIC float mica_tan_f32(float x) {
  float y = mica::math::turn_limits(x, mica::math::tan_for_f32(x));
  return x == 0.0f ? x : y;
}
MICA_F32_FIXED(ln)
MICA_F32_FIXED(log10)
MICA_F32(arcsin)
MICA_F32_FIXED(arccos)
MICA_F32_FIXED(arctan)
MICA_F32(tanh)
MICA_F32(erf)
MICA_F32_FIXED(erfc)
MICA_PUBLIC float mica_gelu_f32(float x) {
  return mica::math::near_zero(static_cast<double>(x), mica::math::gelu_for_f32(static_cast<double>(x)));
}
MICA_PUBLIC float mica_gelu_gradient_f32(float x) {
  return static_cast<float>(mica::math::gelu_gradient_for_f32(static_cast<double>(x)));
}
MICA_F32_NEAR_ZERO(gelu_tanh)
MICA_F32(gelu_tanh_gradient)
MICA_PUBLIC float mica_sigmoid_f32(float x) {
  return mica::math::sigmoid_rounded(static_cast<double>(x), mica::math::sigmoid_f64(static_cast<double>(x)));
}
MICA_F32_NEAR_ZERO(silu)
MICA_F32(silu_gradient)
MICA_PUBLIC float mica_pow_f32(float x, float y) {
  return static_cast<float>(mica::math::pow_f32_wide(static_cast<double>(x), static_cast<double>(y)));
}
}
#endif
