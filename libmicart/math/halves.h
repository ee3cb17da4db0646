// float16 and bfloat16 as bits: conversions with one rounding to nearest even, NaN stays NaN, subnormals are
// kept.
#ifndef MICA_MATH_HALVES_H
#define MICA_MATH_HALVES_H

#include "basics.h"

namespace mica::math {

MICA_INLINE float bf16_to_f32(u16 x) { return float_of(static_cast<u32>(x) << 16); }
MICA_INLINE u16 f32_to_bf16(float x) {
  u32 bits = bits_of(x);
  u32 rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  return static_cast<u16>(x != x ? bits >> 16 | 0x40 : rounded);
}

// The double as a float rounded to odd (the last bit set where something was lost): one more rounding to a
// half then gives what one rounding from the double gives.
MICA_INLINE float f64_to_f32_odd(double x) {
  float near = static_cast<float>(x);
  double back = static_cast<double>(near);
  u32 bits = bits_of(near);
  bool away = abs(back) > abs(x); // rounded up in magnitude: one step back towards zero
  u32 toward = away ? bits - 1 : bits;
  return back == x || x != x ? near : float_of(toward | 1);
}
MICA_INLINE u16 f64_to_bf16(double x) { return f32_to_bf16(f64_to_f32_odd(x)); }

MICA_INLINE float f16_to_f32(u16 x) { return static_cast<float>(__builtin_bit_cast(_Float16, x)); }
MICA_INLINE u16 f32_to_f16(float x) { return __builtin_bit_cast(u16, static_cast<_Float16>(x)); }
MICA_INLINE u16 f64_to_f16(double x) { return f32_to_f16(f64_to_f32_odd(x)); }

} // namespace mica::math
#endif
