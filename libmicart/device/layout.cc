// Moving cells: rows at a distance, dimensions in another order. A thread moves one cell or, where all
// distances allow it, a vector of 16 bytes.
#include "card.h"

namespace mica::device {
namespace {

struct Vector16 {
  u64 low, high;
} __attribute__((aligned(16)));

/// `rows` pieces of `width` cells, `to_step` and `from_step` cells apart.
template <class T>
MICA_INLINE void copy_rows(T *to, i64 to_step, const T *from, i64 from_step, i64 width, i64 count) {
  const i64 i = static_cast<i64>(global_thread());
  if (i >= count) return;
  const i64 row = i / width, column = i % width;
  to[row * to_step + column] = from[row * from_step + column];
}

constexpr int kMostDimensions = 8;

} // namespace

/// micart's permutation: the answer's sizes, and how far apart in the source its cells lie; unused leading
/// dimensions have size 1.
struct Permutation {
  i64 sizes[kMostDimensions], steps[kMostDimensions];
};

namespace {

template <class T> MICA_INLINE void permute(T *to, const T *from, i64 count, const Permutation &p) {
  const i64 i = static_cast<i64>(global_thread());
  if (i >= count) return;
  i64 rest = i, at = 0;
#pragma clang loop unroll(full)
  for (int d = kMostDimensions - 1; d >= 0; d--) {
    if (p.sizes[d] == 1) continue;
    at += rest % p.sizes[d] * p.steps[d];
    rest /= p.sizes[d];
  }
  to[i] = from[at];
}

constexpr u32 kSide = 32, kRows = 8; ///< of a tile: 256 threads move 32 x 32 cells

/// `batch` matrices [rows, columns], each transposed, by way of a tile in shared memory.
template <class T>
MICA_INLINE void transpose(T *to, const T *from, i64 rows, i64 columns, MICA_SHARED T *tile) {
  const u64 right = static_cast<u64>((columns + kSide - 1) / kSide);
  const u64 down = static_cast<u64>((rows + kSide - 1) / kSide);
  const u64 matrix = block() / (right * down), piece = block() % (right * down);
  const i64 row0 = static_cast<i64>(piece / right) * kSide, column0 = static_cast<i64>(piece % right) * kSide;
  const i64 size = rows * columns;
  from += static_cast<i64>(matrix) * size;
  to += static_cast<i64>(matrix) * size;
  const u32 x = thread() % kSide, y = thread() / kSide;
#pragma clang loop unroll(full)
  for (u32 i = 0; i < kSide; i += kRows)
    if (row0 + y + i < rows && column0 + x < columns)
      tile[(y + i) * (kSide + 1) + x] = from[(row0 + y + i) * columns + column0 + x];
  wait_for_block();
#pragma clang loop unroll(full)
  for (u32 i = 0; i < kSide; i += kRows)
    if (column0 + y + i < columns && row0 + x < rows)
      to[(column0 + y + i) * rows + row0 + x] = tile[x * (kSide + 1) + y + i];
}

} // namespace
} // namespace mica::device

using namespace mica::device;

#define MICA_LAYOUT(T, bytes)                                                                                \
  MICA_KERNEL mica_copy_rows_##bytes(T *to, i64 to_step, const T *from, i64 from_step, i64 width,            \
                                     i64 count) {                                                            \
    copy_rows(to, to_step, from, from_step, width, count);                                                   \
  }
#define MICA_PERMUTE(T, bytes)                                                                               \
  MICA_KERNEL mica_permute_##bytes(T *to, const T *from, i64 count, Permutation p) {                         \
    permute(to, from, count, p);                                                                             \
  }                                                                                                          \
  static MICA_SHARED T tile_##bytes[kSide * (kSide + 1)];                                                    \
  MICA_KERNEL mica_transpose_##bytes(T *to, const T *from, i64 rows, i64 columns) {                          \
    transpose(to, from, rows, columns, tile_##bytes);                                                        \
  }

MICA_LAYOUT(u8, 1)
MICA_LAYOUT(u16, 2)
MICA_LAYOUT(u32, 4)
MICA_LAYOUT(u64, 8)
MICA_LAYOUT(Vector16, 16)
MICA_PERMUTE(u8, 1)
MICA_PERMUTE(u16, 2)
MICA_PERMUTE(u32, 4)
MICA_PERMUTE(u64, 8)
