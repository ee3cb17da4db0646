// A product's shape, from its operands' types.
#pragma once
#include "spectra/module.h"

namespace mica::codegen {

/// C[m, n] = A[m, k] * B[k, n] for each of `batch` pairs; rows and matrices lie dense.
struct ProductShape {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0;           ///< cells from one stored row to the next
  int64_t stride_a = 0, stride_b = 0; ///< from one matrix to the next; 0: the same for all
  bool transpose_a = false, transpose_b = false;
};
ProductShape product_shape(const spectra::Kernel &kernel);

} // namespace mica::codegen
