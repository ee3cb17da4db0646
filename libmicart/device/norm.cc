// Norms over one tensor or many (numerics.md 11): exact squares added in float64 by blocks, the blocks' sums
// in order, one rounding. float64 first finds the greatest magnitude and scales by a power of two.
#include "card.h"

namespace mica::device {
namespace {

constexpr u32 kThreads = 256;
constexpr i64 kPieceCells = 4096; ///< a block's

static MICA_SHARED double shared[kThreads];

/// All threads' values in one fixed order; the answer in every thread.
template <class Combine> MICA_INLINE double across_block(double own, const Combine &combine) {
  shared[thread()] = own;
  wait_for_block();
#pragma clang loop unroll(full)
  for (u32 half = kThreads / 2; half >= 1; half /= 2) {
    if (thread() < half) shared[thread()] = combine(shared[thread()], shared[thread() + half]);
    wait_for_block();
  }
  const double all = shared[0];
  wait_for_block();
  return all;
}
MICA_INLINE double add(double a, double b) { return a + b; }
/// A NaN stays.
MICA_INLINE double larger(double a, double b) { return a != a || a >= b ? a : b; }

/// Words of the table: the number of tensors, then for each its first piece, its cells, its address.
template <class T> struct Piece {
  const T *cells;
  i64 begin, end;
};
template <class T> MICA_INLINE Piece<T> own_piece(const i64 *table) {
  i64 low = 0, high = table[0];
  while (high - low > 1) {
    const i64 middle = (low + high) / 2;
    if (table[1 + 3 * middle] <= static_cast<i64>(block()))
      low = middle;
    else
      high = middle;
  }
  const i64 *own = table + 1 + 3 * low;
  const i64 begin = (static_cast<i64>(block()) - own[0]) * kPieceCells;
  return {reinterpret_cast<const T *>(own[2]), begin,
          begin + kPieceCells < own[1] ? begin + kPieceCells : own[1]};
}

/// 2^-k for the greatest magnitude 2^k .. 2^(k+1); 1 where scaling helps nothing.
MICA_INLINE double scale_of(double greatest) {
  if (!(greatest > 0.0) || greatest == __builtin_inf()) return 1.0;
  i64 exponent = static_cast<i64>(__builtin_bit_cast(u64, greatest) >> 52) - 1023;
  if (exponent < -1000) exponent = -1000;
  if (exponent > 1000) exponent = 1000;
  return __builtin_bit_cast(double, static_cast<u64>(1023 - exponent) << 52);
}

MICA_INLINE double greatest_of(const double *parts, i64 count) {
  double own = 0.0;
  for (i64 i = thread(); i < count; i += kThreads) own = larger(own, parts[i]);
  return across_block(own, larger);
}

} // namespace
} // namespace mica::device

using namespace mica::device;

MICA_KERNEL mica_norm_parts_f32(const i64 *table, double *parts) {
  const Piece<float> p = own_piece<float>(table);
  double sum = 0.0;
  for (i64 i = p.begin + thread(); i < p.end; i += kThreads) {
    const double x = static_cast<double>(p.cells[i]);
    sum += x * x;
  }
  sum = across_block(sum, add);
  if (thread() == 0) parts[block()] = sum;
}
MICA_KERNEL mica_norm_last_f32(const double *parts, i64 count, float *out) {
  double sum = 0.0;
  for (i64 i = thread(); i < count; i += kThreads) sum += parts[i];
  sum = across_block(sum, add);
  if (thread() == 0) *out = static_cast<float>(__builtin_sqrt(sum));
}

/// The parts' greatest magnitudes stand first, then the sums.
MICA_KERNEL mica_norm_greatest_f64(const i64 *table, double *parts) {
  const Piece<double> p = own_piece<double>(table);
  double greatest = 0.0;
  for (i64 i = p.begin + thread(); i < p.end; i += kThreads)
    greatest = larger(greatest, __builtin_fabs(p.cells[i]));
  greatest = across_block(greatest, larger);
  if (thread() == 0) parts[block()] = greatest;
}
MICA_KERNEL mica_norm_parts_f64(const i64 *table, double *parts, i64 count) {
  const Piece<double> p = own_piece<double>(table);
  const double scale = scale_of(greatest_of(parts, count));
  double sum = 0.0;
  for (i64 i = p.begin + thread(); i < p.end; i += kThreads) {
    const double x = p.cells[i] * scale;
    sum += x * x;
  }
  sum = across_block(sum, add);
  if (thread() == 0) parts[count + block()] = sum;
}
MICA_KERNEL mica_norm_last_f64(const double *parts, i64 count, double *out) {
  const double scale = scale_of(greatest_of(parts, count));
  double sum = 0.0;
  for (i64 i = thread(); i < count; i += kThreads) sum += parts[count + i];
  sum = across_block(sum, add);
  if (thread() == 0) *out = __builtin_sqrt(sum) / scale;
}
