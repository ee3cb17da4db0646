// The attention for AVX2 and FMA.
#define MICA_ISA avx2
#define MICA_VECTOR_BYTES 32
#define MICA_TILE_ROWS 6
#include "attention_kernel.h"
