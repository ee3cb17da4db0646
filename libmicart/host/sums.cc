// Sums of whole values and of columns, in the order of sums.h.
#include "sums.h"

using namespace mica::rt;

float mica_sum_f32(const float *x, int64_t count) {
  return sum_in_order<float>(count, [x](i64 i) { return x[i]; });
}

double mica_sum_f64(const double *x, int64_t count) {
  return sum_in_order<double>(count, [x](i64 i) { return x[i]; });
}

float mica_sum_f16(const uint16_t *x, int64_t count) {
  return sum_in_order<float>(count, [x](i64 i) { return half_to_float(Float16{x[i]}); });
}

float mica_sum_bf16(const uint16_t *x, int64_t count) {
  return sum_in_order<float>(count, [x](i64 i) { return half_to_float(BFloat16{x[i]}); });
}

int64_t mica_sum_int(int32_t type, const void *x, int64_t count) {
  u64 sum = 0;
  for (i64 i = 0; i < count; i++) {
    switch (type) {
    case MICA_I64: sum += static_cast<const u64 *>(x)[i]; break;
    case MICA_I32: sum += static_cast<u64>(static_cast<i64>(static_cast<const int *>(x)[i])); break;
    default: sum += static_cast<const u8 *>(x)[i]; break;
    }
  }
  return static_cast<int64_t>(sum);
}

namespace {
template <class S, class T> struct ColumnJob {
  const S *x;
  S *out;
  i64 rows, columns;
  static void run(void *context, int64_t begin, int64_t end) {
    ColumnJob &job = *static_cast<ColumnJob *>(context);
    for (i64 j = begin; j < end; j += kColumnsAtOnce) {
      i64 width = end - j < kColumnsAtOnce ? end - j : kColumnsAtOnce;
      T sums[kColumnsAtOnce];
      const S *x = job.x + j;
      i64 stride = job.columns;
      sum_rows_in_order<T>(
          job.rows, width, [x, stride](i64 i) { return x + i * stride; }, sums);
      for (i64 c = 0; c < width; c++) put_cell(job.out[j + c], sums[c]);
    }
  }
};
} // namespace

void mica_column_sum(int32_t type, const void *x, int64_t rows, int64_t columns, void *out) {
  with_cells(type, [&](auto *cell, auto value) {
    using S = __remove_pointer(decltype(cell));
    using T = decltype(value);
    ColumnJob<S, T> job = {static_cast<const S *>(x), static_cast<S *>(out), rows, columns};
    mica_parallel(ColumnJob<S, T>::run, &job, columns, rows * columns < 65536 ? columns : kColumnsAtOnce);
  });
}
