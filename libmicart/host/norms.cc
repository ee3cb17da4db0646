// The joint norm (numerics.md 11), the greatest cell and the greatest magnitude.
#include "sums.h"

using namespace mica::rt;

namespace {
// x * 2^exponent for exponents that pass the range of one factor.
double scale_by_power(double x, int exponent) {
  while (exponent > 1000) {
    x *= __builtin_bit_cast(double, u64(1000 + 1023) << 52);
    exponent -= 1000;
  }
  while (exponent < -1000) {
    x *= __builtin_bit_cast(double, u64(1023 - 1000) << 52);
    exponent += 1000;
  }
  return x * __builtin_bit_cast(double, static_cast<u64>(exponent + 1023) << 52);
}

template <class S> double max_abs_of(const S *x, i64 count) {
  double lane[16] = {};
  bool unordered = false;
  for (i64 i = 0; i < count; i++) {
    double value = __builtin_fabs(cell_value<double>(x[i]));
    unordered |= value != value;
    lane[i & 15] = value > lane[i & 15] ? value : lane[i & 15];
  }
  double best = 0;
  for (double value : lane) best = value > best ? value : best;
  return unordered ? __builtin_nan("") : best;
}

// Float64 sums squares of cells scaled by a power of two, so that none overflows or vanishes.
double norm_f64(i64 count, const void *const *x, const int64_t *sizes) {
  double greatest = 0;
  for (i64 t = 0; t < count; t++) {
    double value = max_abs_of(static_cast<const double *>(x[t]), sizes[t]);
    if (value != value) return value;
    greatest = value > greatest ? value : greatest;
  }
  if (greatest == 0 || greatest > 1.7976931348623157e308) return greatest;
  int exponent = static_cast<int>(__builtin_bit_cast(u64, greatest) >> 52) - 1023;
  if (exponent < -1000) exponent = -1000;
  double factor = scale_by_power(1, -exponent);
  double sum = 0;
  for (i64 t = 0; t < count; t++) {
    const double *cells = static_cast<const double *>(x[t]);
    sum += sum_in_order<double>(sizes[t], [cells, factor](i64 i) {
      double scaled = cells[i] * factor;
      return scaled * scaled;
    });
  }
  return scale_by_power(__builtin_sqrt(sum), exponent);
}

template <class S> double sum_of_squares(const void *x, i64 count) {
  const S *cells = static_cast<const S *>(x);
  return sum_in_order<double>(count, [cells](i64 i) {
    double value = cell_value<double>(cells[i]);
    return value * value;
  });
}

template <class S, class V> i64 argmax_of(const S *x, i64 count) {
  if (count <= 0) return -1;
  i64 best = 0;
  V greatest = cell_value<V>(x[0]);
  for (i64 i = 1; i < count && greatest == greatest; i++) {
    V value = cell_value<V>(x[i]);
    if (value > greatest || value != value) {
      greatest = value;
      best = i;
    }
  }
  return best;
}
} // namespace

double mica_norm(int32_t type, int64_t count, const void *const *x, const int64_t *sizes) {
  if (type == MICA_F64) return norm_f64(count, x, sizes);
  double sum = 0;
  for (i64 t = 0; t < count; t++) {
    switch (type) {
    case MICA_F16: sum += sum_of_squares<Float16>(x[t], sizes[t]); break;
    case MICA_BF16: sum += sum_of_squares<BFloat16>(x[t], sizes[t]); break;
    default: sum += sum_of_squares<float>(x[t], sizes[t]); break;
    }
  }
  return static_cast<double>(static_cast<float>(__builtin_sqrt(sum)));
}

double mica_max_abs(int32_t type, const void *x, int64_t count) {
  switch (type) {
  case MICA_F16: return max_abs_of(static_cast<const Float16 *>(x), count);
  case MICA_BF16: return max_abs_of(static_cast<const BFloat16 *>(x), count);
  case MICA_F32: return max_abs_of(static_cast<const float *>(x), count);
  default: return max_abs_of(static_cast<const double *>(x), count);
  }
}

int64_t mica_argmax(int32_t type, const void *x, int64_t count) {
  switch (type) {
  case MICA_F16: return argmax_of<Float16, float>(static_cast<const Float16 *>(x), count);
  case MICA_BF16: return argmax_of<BFloat16, float>(static_cast<const BFloat16 *>(x), count);
  case MICA_F32: return argmax_of<float, float>(static_cast<const float *>(x), count);
  case MICA_F64: return argmax_of<double, double>(static_cast<const double *>(x), count);
  case MICA_I32: return argmax_of<int, int>(static_cast<const int *>(x), count);
  case MICA_I64: return argmax_of<i64, i64>(static_cast<const i64 *>(x), count);
  default: return argmax_of<u8, int>(static_cast<const u8 *>(x), count);
  }
}
