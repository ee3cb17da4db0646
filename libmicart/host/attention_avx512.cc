// The attention for AVX-512.
#define MICA_ISA avx512
#define MICA_VECTOR_BYTES 64
#define MICA_TILE_ROWS 8
#include "attention_kernel.h"
