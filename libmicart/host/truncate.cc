// What LLVM calls to narrow a float to bfloat16, and the system's libgcc may not have: one rounding to
// nearest even, also from float64 (numerics.md 8).
#include "halves.h"

using namespace mica::rt;

extern "C" __bf16 __truncdfbf2(double x) {
  // Rounding to odd first keeps every digit that the second rounding asks about: what float32 cuts off shows
  // in its last bit.
  float nearest = static_cast<float>(x);
  u32 bits = __builtin_bit_cast(u32, nearest);
  double back = nearest;
  if (back != x && x == x) {
    const bool beyond = __builtin_fabs(back) > __builtin_fabs(x); // away from zero: step back, then mark
    if (beyond) bits -= 1;
    bits |= 1;
  }
  return __builtin_bit_cast(__bf16, float_to_bf16(__builtin_bit_cast(float, bits)).bits);
}

extern "C" __bf16 __truncsfbf2(float x) { return __builtin_bit_cast(__bf16, float_to_bf16(x).bits); }
