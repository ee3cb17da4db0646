// Random numbers (numerics.md 9). Philox4x32-10 of J. Salmon and others, "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011. The state of the language's `random` is a 64-bit key and a 64-bit counter of calls; each
// call of a verb, of RandomInt or RandomFloat takes one counter, however many cells it fills. Within a call,
// a cell's place is its address:
//
//   generator key        key + (counter >> 32) * 0x9E3779B97F4A7C15
//   generator counter    (place's low word, place's high word, plane, counter's low word)
//
//   Uniform, Normal      plane 0; float32 and halves: place i / 4, the word i mod 4 (Normal: words in two
//   pairs);
//                        float64: place i / 2, the words 2 (i mod 2) and 2 (i mod 2) + 1
//   RandomInt, -Float    plane 0; place 0, then 1, 2, ... where a draw is rejected
//   Dropout, attention   16-bit draws, eight a call: for the cells i = 16 I + a + 8 p, j = 16 J + 2 b + 8 q +
//   s
//                        (a < 8, b < 4, bits p, q, s) of row i and column j the words (4 J + b, 8 I + a,
//                        plane, counter's low word), draw (p, q, s) in half p of word 2 s + q; plane = batch
//                        * heads + head for an attention, 0 for Dropout. So a tensor core's fragment and a
//                        row kernel both use all eight.
#ifndef MICA_MATH_RANDOM_H
#define MICA_MATH_RANDOM_H

#include "basics.h"
#include "ln.h"
#include "trig.h"

namespace mica::math {

struct Philox {
  u32 w[4];
};
MICA_INLINE Philox philox(u64 key, u32 c0, u32 c1, u32 c2, u32 c3) {
  u32 k0 = static_cast<u32>(key), k1 = static_cast<u32>(key >> 32);
#pragma clang loop unroll(full)
  for (int round = 0; round < 10; round++) {
    u64 p0 = static_cast<u64>(0xD2511F53u) * c0, p1 = static_cast<u64>(0xCD9E8D57u) * c2;
    c0 = static_cast<u32>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<u32>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<u32>(p1);
    c3 = static_cast<u32>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

MICA_INLINE u64 generator_key(u64 key, u64 counter) { return key + (counter >> 32) * 0x9E3779B97F4A7C15ull; }
MICA_INLINE Philox draw(u64 key, u64 counter, u64 place, u32 plane) {
  return philox(generator_key(key, counter), static_cast<u32>(place), static_cast<u32>(place >> 32), plane,
                static_cast<u32>(counter));
}

// [0, 1) of 24 bits, and of 53.
MICA_INLINE float unit_f32(u32 w) { return static_cast<float>(w >> 8) * 0x1p-24f; }
MICA_INLINE double unit_f64(u32 high, u32 low) {
  u64 w = static_cast<u64>(high) << 32 | low;
  return static_cast<double>(w >> 11) * 0x1p-53;
}

// Box and Muller, "A note on the generation of random normal deviates", 1958, in float64: one of the two
// normals of a pair of words. The logarithm's argument is in (0, 1], so that every word gives a finite
// number.
MICA_INLINE double normal_of(double open_unit, double turn, bool second) {
  double radius = __builtin_sqrt(-2.0 * whole(ln_pair(open_unit)));
  // The angle is a fraction of a turn: quarters exactly, the rest times pi/2.
  double quarters = turn * 4.0;
  double shifted = quarters + kShifter;
  double f = quarters - (shifted - kShifter);
  Pair r = multiply(Pair{kPiHalfHigh, kPiHalfLow}, f);
  Turn t = {quick_sum(r.high, r.low), bits_of(shifted)};
  return radius * turn_sin(t, second ? 0 : 1);
}

MICA_INLINE u32 word_of(const Philox &p, u64 i) {
  u32 low = i & 1 ? p.w[1] : p.w[0], high = i & 1 ? p.w[3] : p.w[2];
  return i & 2 ? high : low;
}

// Cell i of a call. The results are scaled in float64 and rounded once to the type.
MICA_INLINE double uniform_cell_f32(u64 key, u64 counter, u64 i, double low, double high) {
  double u = static_cast<double>(unit_f32(word_of(draw(key, counter, i >> 2, 0), i & 3)));
  return fma(u, high - low, low);
}
MICA_INLINE double uniform_cell_f64(u64 key, u64 counter, u64 i, double low, double high) {
  Philox p = draw(key, counter, i >> 1, 0);
  double u = i & 1 ? unit_f64(p.w[2], p.w[3]) : unit_f64(p.w[0], p.w[1]);
  return fma(u, high - low, low);
}
MICA_INLINE double normal_cell_f32(u64 key, u64 counter, u64 i, double mean, double deviation) {
  Philox p = draw(key, counter, i >> 2, 0);
  u32 a = i & 2 ? p.w[2] : p.w[0], b = i & 2 ? p.w[3] : p.w[1];
  double z = normal_of((static_cast<double>(a) + 1.0) * 0x1p-32, static_cast<double>(b) * 0x1p-32, i & 1);
  return fma(z, deviation, mean);
}
// The pair of words of one float64 cell: 32 bits each for radius and angle would be coarse, so each cell
// takes a call's four words in turn: the radius from 53 bits of words 0 and 1, the angle from words 2 and 3,
// the two normals of a call.
MICA_INLINE double normal_cell_f64(u64 key, u64 counter, u64 i, double mean, double deviation) {
  Philox p = draw(key, counter, i >> 1, 0);
  double z = normal_of(unit_f64(p.w[0], p.w[1]) + 0x1p-53, unit_f64(p.w[2], p.w[3]), i & 1);
  return fma(z, deviation, mean);
}

// Rounded values of [low, high) can round up to high: the largest number below it then. One step down in the
// type.
MICA_INLINE float below_f32(double value, float high) {
  float y = static_cast<float>(value);
  u32 bits = bits_of(high);
  u32 step = high > 0.0f ? bits - 1 : high == 0.0f ? 0x80000001u : bits + 1;
  return y >= high ? float_of(step) : y;
}

// The 16-bit draw of row i, column j.
MICA_INLINE u32 draw16(u64 key, u64 counter, u32 plane, u64 i, u64 j) {
  u32 column = static_cast<u32>((j >> 4 << 2) + (j >> 1 & 3)),
      row = static_cast<u32>((i >> 4 << 3) + (i & 7));
  Philox p = philox(generator_key(key, counter), column, row, plane, static_cast<u32>(counter));
  u32 w = word_of(p, (j & 1) << 1 | (j >> 3 & 1));
  return i >> 3 & 1 ? w >> 16 : w & 0xFFFF;
}
// A cell is dropped where its draw is below this.
MICA_INLINE u32 drop_threshold(double p) { return static_cast<u32>(__builtin_floor(p * 65536.0 + 0.5)); }

} // namespace mica::math
#endif
