// float16 and bfloat16 as cells in memory, and their conversions, each with one rounding to nearest even
// (numerics.md 8).
#ifndef MICA_HOST_HALVES_H
#define MICA_HOST_HALVES_H

#include "runtime.h"

#include <immintrin.h>

namespace mica::rt {

struct Float16 {
  u16 bits;
};
struct BFloat16 {
  u16 bits;
};

inline float half_to_float(Float16 x) { return _cvtsh_ss(x.bits); }
inline float half_to_float(BFloat16 x) { return __builtin_bit_cast(float, static_cast<u32>(x.bits) << 16); }

inline Float16 float_to_f16(float x) { return {static_cast<u16>(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT))}; }

// The way of the hardware conversion without its flush of subnormals; a NaN keeps its upper bits and becomes
// quiet.
inline BFloat16 float_to_bf16(float x) {
  u32 bits = __builtin_bit_cast(u32, x);
  u32 rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  u32 quiet = bits >> 16 | 0x40;
  return {static_cast<u16>(x != x ? quiet : rounded)};
}

} // namespace mica::rt
#endif
