// The product for AVX2 and FMA.
#define MICA_ISA avx2
#define MICA_VECTOR_BYTES 32
#define MICA_TILE_ROWS 6
#include "product_kernel.h"
