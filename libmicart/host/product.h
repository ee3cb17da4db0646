// What the parts of the product share: operands of any type and layout, conversions of cells, the clones'
// entry points.
#ifndef MICA_HOST_PRODUCT_H
#define MICA_HOST_PRODUCT_H

#include "halves.h"
#include "runtime.h"

namespace mica::rt {

// A as cells (row, k), B as cells (column, k): data[outer * index + inner * k].
struct Operand {
  const void *data;
  int type;
  i64 outer;
  i64 inner;
};
struct Pair {
  Operand a, b;
  char *c;
  i64 c_row, c_column; // strides in cells
  int type_c;
  i64 m, n, k; // all positive
};
struct ProductKernels {
  void (*f32)(const Pair &);
  void (*f64)(const Pair &);
};
namespace avx2 {
extern const ProductKernels kKernels;
}
namespace avx512 {
extern const ProductKernels kKernels;
}
bool has_avx512();
extern int forced_width;  // tests: 0 as the processor has it, 256 or 512 bits
void *scratch(i64 bytes); // memory of this thread, kept for the next call; aligned to 64 bytes

template <class T> constexpr int type_of() { return sizeof(T) == 4 ? MICA_F32 : MICA_F64; }

// Cells of the four float types as the type that a product computes in.
template <class T> inline T widen(float x) { return static_cast<T>(x); }
template <class T> inline T widen(double x) { return static_cast<T>(x); }
template <class T> inline T widen(Float16 x) { return static_cast<T>(half_to_float(x)); }
template <class T> inline T widen(BFloat16 x) { return static_cast<T>(half_to_float(x)); }

template <class T, class F> inline void with_operand(const Operand &o, F f) {
  if constexpr (sizeof(T) == 8) {
    f(static_cast<const double *>(o.data));
  } else {
    switch (o.type) {
    case MICA_F16: f(static_cast<const Float16 *>(o.data)); break;
    case MICA_BF16: f(static_cast<const BFloat16 *>(o.data)); break;
    default: f(static_cast<const float *>(o.data)); break;
    }
  }
}

template <class T> inline void store_cell(char *c, int type, i64 at, T value) {
  if constexpr (sizeof(T) == 8) {
    reinterpret_cast<double *>(c)[at] = value;
  } else {
    switch (type) {
    case MICA_F16: reinterpret_cast<Float16 *>(c)[at] = float_to_f16(value); break;
    case MICA_BF16: reinterpret_cast<BFloat16 *>(c)[at] = float_to_bf16(value); break;
    default: reinterpret_cast<float *>(c)[at] = value; break;
    }
  }
}

} // namespace mica::rt
#endif
