// Rows by number: Gather, its gradient, the classes of CrossEntropy.
#include "failure.h"

namespace mica::device {
namespace {

struct Vector16 {
  u64 low, high;
} __attribute__((aligned(16)));

/// out[i] = table[ids[i]]; `width`: units of T in a row. A number outside is reported, its row left zero.
template <class T>
MICA_INLINE void gather(T *out, const T *table, const void *ids, i64 id_bytes, i64 rows, i64 width, i64 count,
                        i64 line, Slot *slot, u64 launch) {
  const i64 i = static_cast<i64>(global_thread());
  if (i >= count) return;
  const i64 row = i / width, column = i % width, id = read_id(ids, id_bytes, row);
  if (id >= 0 && id < rows) {
    out[i] = table[id * width + column];
    return;
  }
  out[i] = T{};
  Failures at = {slot, launch, static_cast<u64>(row)};
  mica_fail_index(&at, static_cast<i32>(line), id, 0, rows - 1);
}

constexpr u32 kThreads = 256;
constexpr int kOwn = 4; ///< columns of a thread at once

/// dtable[r] = the sum of dy[i] with ids[i] = r, i ascending. The block of the first i with a number adds all
/// rows of that number; dtable has been cleared.
template <class T>
MICA_INLINE void scatter(T *dtable, const T *dy, const void *ids, i64 id_bytes, i64 count, i64 width,
                         i64 rows) {
  const i64 own = static_cast<i64>(block());
  const i64 id = read_id(ids, id_bytes, own);
  if (id < 0 || id >= rows) return;
  // Whether an earlier one has the same number: each thread looks at some.
  bool earlier = false;
  for (i64 i = thread(); i < own && !earlier; i += kThreads) earlier = read_id(ids, id_bytes, i) == id;
  if (__nvvm_bar0_or(earlier)) return;
  for (i64 column0 = 0; column0 < width; column0 += kThreads * kOwn) {
    T sums[kOwn] = {};
    for (i64 i0 = own; i0 < count; i0 += 32) {
      // 32 numbers at once; those that are alike, ascending.
      const i64 mine = i0 + (thread() & 31);
      u32 alike = __nvvm_vote_ballot_sync(0xffffffff, mine < count && read_id(ids, id_bytes, mine) == id);
      while (alike) {
        const i64 i = i0 + __builtin_ctz(alike);
        alike &= alike - 1;
#pragma clang loop unroll(full)
        for (int k = 0; k < kOwn; k++) {
          const i64 column = column0 + k * static_cast<i64>(kThreads) + thread();
          if (column < width) sums[k] += dy[i * width + column];
        }
      }
    }
#pragma clang loop unroll(full)
    for (int k = 0; k < kOwn; k++) {
      const i64 column = column0 + k * static_cast<i64>(kThreads) + thread();
      if (column < width) dtable[id * width + column] = sums[k];
    }
  }
}

} // namespace
} // namespace mica::device

using namespace mica::device;

#define MICA_GATHER(T, bytes)                                                                                \
  MICA_KERNEL mica_gather_##bytes(T *out, const T *table, const void *ids, i64 id_bytes, i64 rows,           \
                                  i64 width, i64 count, i64 line, Slot *slot, u64 launch) {                  \
    gather(out, table, ids, id_bytes, rows, width, count, line, slot, launch);                               \
  }
MICA_GATHER(u8, 1)
MICA_GATHER(u16, 2)
MICA_GATHER(u32, 4)
MICA_GATHER(u64, 8)
MICA_GATHER(Vector16, 16)

MICA_KERNEL mica_scatter_rows_f32(float *dtable, const float *dy, const void *ids, i64 id_bytes, i64 count,
                                  i64 width, i64 rows) {
  scatter(dtable, dy, ids, id_bytes, count, width, rows);
}
MICA_KERNEL mica_scatter_rows_f64(double *dtable, const double *dy, const void *ids, i64 id_bytes, i64 count,
                                  i64 width, i64 rows) {
  scatter(dtable, dy, ids, id_bytes, count, width, rows);
}

/// Each is -1 or a class.
MICA_KERNEL mica_check_targets_on_card(const void *ids, i64 id_bytes, i64 count, i64 classes, i64 line,
                                       Slot *slot, u64 launch) {
  const i64 i = static_cast<i64>(global_thread());
  if (i >= count) return;
  const i64 id = read_id(ids, id_bytes, i);
  if (id >= -1 && id < classes) return;
  Failures at = {slot, launch, static_cast<u64>(i)};
  mica_fail_target(&at, static_cast<i32>(line), i, id, classes);
}
