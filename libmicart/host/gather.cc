// Gather and its gradient: rows of a table by number, and back the sums of the rows of each number in
// ascending order.
#include "sums.h"

#include <string.h>

using namespace mica::rt;

namespace {
struct GatherJob {
  const char *table;
  char *out;
  int id_type;
  const void *ids;
  i64 row_bytes;
  static void run(void *context, int64_t begin, int64_t end) {
    const GatherJob &job = *static_cast<GatherJob *>(context);
    for (i64 i = begin; i < end; i++) {
      memcpy(job.out + i * job.row_bytes, job.table + read_id(job.id_type, job.ids, i) * job.row_bytes,
             static_cast<size_t>(job.row_bytes));
    }
  }
};

template <class S, class T> struct GradientJob {
  const S *dy;
  S *dtable;
  const i64 *first; // positions of row r: order[first[r]] to order[first[r + 1]]
  const i64 *order;
  i64 columns;
  static void run(void *context, int64_t begin, int64_t end) {
    const GradientJob &job = *static_cast<GradientJob *>(context);
    for (i64 r = begin; r < end; r++) {
      const i64 *order = job.order + job.first[r];
      i64 count = job.first[r + 1] - job.first[r];
      S *out = job.dtable + r * job.columns;
      if (count == 0) {
        memset(out, 0, sizeof(S) * static_cast<size_t>(job.columns));
        continue;
      }
      if (count == 1) { // +0 and the cell: what the lanes would give
        const S *row = job.dy + order[0] * job.columns;
        for (i64 j = 0; j < job.columns; j++) put_cell(out[j], T(0) + cell_value<T>(row[j]));
        continue;
      }
      for (i64 j = 0; j < job.columns; j += kColumnsAtOnce) {
        i64 width = job.columns - j < kColumnsAtOnce ? job.columns - j : kColumnsAtOnce;
        T sums[kColumnsAtOnce];
        const S *dy = job.dy + j;
        i64 stride = job.columns;
        sum_rows_in_order<T>(
            count, width, [dy, stride, order](i64 i) { return dy + order[i] * stride; }, sums);
        for (i64 c = 0; c < width; c++) put_cell(out[j + c], sums[c]);
      }
    }
  }
};
} // namespace

void mica_gather(const char *file, int32_t line, int32_t type, const void *table, int64_t rows,
                 int64_t columns, int32_t id_type, const void *ids, int64_t count, void *out) {
  for (i64 i = 0; i < count; i++) {
    i64 id = read_id(id_type, ids, i);
    if (id < 0 || id >= rows) {
      mica_fail(file, line, "Gather: number %lld at position %lld is outside the table's rows 0..%lld",
                static_cast<long long>(id), static_cast<long long>(i), static_cast<long long>(rows - 1));
    }
  }
  GatherJob job = {static_cast<const char *>(table), static_cast<char *>(out), id_type, ids,
                   columns * type_size(type)};
  mica_parallel(GatherJob::run, &job, count, 65536 / (job.row_bytes + 1) + 1);
}

void mica_gather_gradient(int32_t type, const void *dy, int32_t id_type, const void *ids, int64_t count,
                          int64_t columns, void *dtable, int64_t rows) {
  // A counting sort: stable, so that positions of one row ascend.
  i64 *first = static_cast<i64 *>(allocate((rows + 2) * 8));
  i64 *order = static_cast<i64 *>(allocate(count * 8));
  memset(first, 0, static_cast<size_t>(rows + 2) * 8);
  for (i64 i = 0; i < count; i++) {
    i64 id = read_id(id_type, ids, i);
    if (id >= 0 && id < rows) first[id + 2]++;
  }
  for (i64 r = 0; r < rows; r++) first[r + 2] += first[r + 1];
  for (i64 i = 0; i < count; i++) {
    i64 id = read_id(id_type, ids, i);
    if (id >= 0 && id < rows) order[first[id + 1]++] = i;
  }
  with_cells(type, [&](auto *cell, auto value) {
    using S = __remove_pointer(decltype(cell));
    using T = decltype(value);
    GradientJob<S, T> job = {static_cast<const S *>(dy), static_cast<S *>(dtable), first, order, columns};
    mica_parallel(GradientJob<S, T>::run, &job, rows, 16384 / (columns + 1) + 1);
  });
  release(first);
  release(order);
}

void mica_check_targets(const char *file, int32_t line, int32_t type, const void *ids, int64_t count,
                        int64_t classes) {
  for (i64 i = 0; i < count; i++) {
    i64 id = read_id(type, ids, i);
    if (id < -1 || id >= classes) mica_fail_target(file, line, i, id, classes);
  }
}
