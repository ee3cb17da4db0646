// Layout: rows copied from one step to another, and dimensions in another order.
#include "runtime.h"

#include <string.h>

using namespace mica::rt;

namespace {
struct CopyJob {
  char *to;
  const char *from;
  i64 to_step, from_step, width;
  static void run(void *context, int64_t begin, int64_t end) {
    const CopyJob &job = *static_cast<CopyJob *>(context);
    for (i64 i = begin; i < end; i++) {
      memcpy(job.to + i * job.to_step, job.from + i * job.from_step, static_cast<size_t>(job.width));
    }
  }
};

// The result's cells in order, seen as lines of its last dimension.
struct PermuteJob {
  char *to;
  const char *from;
  i64 size, rank;
  const i64 *sizes;
  const i64 *steps;

  template <class T> void line(i64 index, i64 at) const {
    T *to_line = reinterpret_cast<T *>(to) + index * sizes[rank - 1];
    const T *from_line = reinterpret_cast<const T *>(from) + at;
    i64 step = steps[rank - 1];
    for (i64 i = 0; i < sizes[rank - 1]; i++) to_line[i] = from_line[i * step];
  }
  static void run(void *context, int64_t begin, int64_t end) {
    const PermuteJob &job = *static_cast<PermuteJob *>(context);
    for (i64 index = begin; index < end; index++) {
      i64 at = 0, left = index;
      for (i64 d = job.rank - 1; d-- > 0;) {
        at += left % job.sizes[d] * job.steps[d];
        left /= job.sizes[d];
      }
      switch (job.size) {
      case 1: job.line<u8>(index, at); break;
      case 2: job.line<u16>(index, at); break;
      case 4: job.line<u32>(index, at); break;
      case 8: job.line<u64>(index, at); break;
      default: job.line<u128>(index, at); break;
      }
    }
  }
};
} // namespace

void mica_copy_rows(void *to, int64_t to_step, const void *from, int64_t from_step, int64_t width,
                    int64_t rows) {
  if (width <= 0) return;
  CopyJob job = {static_cast<char *>(to), static_cast<const char *>(from), to_step, from_step, width};
  mica_parallel(CopyJob::run, &job, rows, 262144 / width + 1);
}

void mica_permute(void *to, const void *from, int64_t size, int64_t rank, const int64_t *sizes,
                  const int64_t *steps) {
  if (rank <= 0) {
    memcpy(to, from, static_cast<size_t>(size));
    return;
  }
  i64 lines = 1;
  for (i64 d = 0; d < rank - 1; d++) lines *= sizes[d];
  if (lines <= 0 || sizes[rank - 1] <= 0) return;
  PermuteJob job = {static_cast<char *>(to), static_cast<const char *>(from), size, rank, sizes, steps};
  mica_parallel(PermuteJob::run, &job, lines, 65536 / sizes[rank - 1] + 1);
}
