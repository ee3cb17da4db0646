// Makers: each cell draws what it draws on the processor (math/random.h), whatever thread it falls to.
#include "../math/random.h"
#include "card.h"

namespace mica::device {
namespace {

/// Cells that one call of the generator serves are one thread's.
template <class T, class Cell> MICA_INLINE void fill(T *x, i64 count, const Cell &cell) {
  constexpr i64 kTogether = 16 / sizeof(T);
  const i64 first = static_cast<i64>(global_thread()) * kTogether;
#pragma clang loop unroll(full)
  for (i64 i = 0; i < kTogether; i++)
    if (first + i < count) x[first + i] = cell(static_cast<u64>(first + i));
}

/// The number just below, where a value of [low, high) rounded up to high.
MICA_INLINE double below_f64(double value, double high) {
  double below = high == 0
                     ? -0x1p-1074
                     : __builtin_bit_cast(double, __builtin_bit_cast(u64, high) + (high > 0 ? ~0ul : 1ul));
  return value >= high ? below : value;
}

} // namespace
} // namespace mica::device

using namespace mica::device;

MICA_KERNEL mica_normal_f32(float *x, i64 count, double mean, double deviation, u64 key, u64 counter) {
  fill(x, count, [&](u64 i) {
    return static_cast<float>(mica::math::normal_cell_f32(key, counter, i, mean, deviation));
  });
}
MICA_KERNEL mica_normal_f64(double *x, i64 count, double mean, double deviation, u64 key, u64 counter) {
  fill(x, count, [&](u64 i) { return mica::math::normal_cell_f64(key, counter, i, mean, deviation); });
}
MICA_KERNEL mica_uniform_f32(float *x, i64 count, double low, double high, u64 key, u64 counter) {
  fill(x, count, [&](u64 i) {
    double value = mica::math::uniform_cell_f32(key, counter, i, low, high);
    return high > low ? mica::math::below_f32(value, static_cast<float>(high)) : static_cast<float>(value);
  });
}
MICA_KERNEL mica_uniform_f64(double *x, i64 count, double low, double high, u64 key, u64 counter) {
  fill(x, count, [&](u64 i) {
    double value = mica::math::uniform_cell_f64(key, counter, i, low, high);
    return high > low ? below_f64(value, high) : value;
  });
}
