// The product for AVX-512: the same bits in wider vectors.
#define MICA_ISA avx512
#define MICA_VECTOR_BYTES 64
#define MICA_TILE_ROWS 14
#include "product_kernel.h"
