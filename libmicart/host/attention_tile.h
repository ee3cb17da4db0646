// The products of one attention panel: a register tile whose left operand is read where it lies, by any
// strides, and whose right operand has its columns side by side. The order of every sum is that of products
// (numerics.md 5): blocks of 128 consecutive k, inside a block fused multiply-adds ascending from +0.
// `Part` tiles have fewer columns than a vector.
//
// Included by attention_kernel.h, within a clone's namespace; MICA_VECTOR_BYTES and MICA_TILE_ROWS are set.
#ifndef MICA_ISA
#error "included by attention_kernel.h"
#endif

template <class T> struct Vector {
  static constexpr int lanes = MICA_VECTOR_BYTES / sizeof(T);
  typedef T type __attribute__((ext_vector_type(lanes)));
  typedef T loose __attribute__((ext_vector_type(lanes), aligned(alignof(T))));
};
// The first `columns` cells of a vector; the others are zero when loaded and left alone when stored.
#if MICA_VECTOR_BYTES == 64
inline auto load_first(const float *x, int columns) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << columns) - 1), x);
}
inline auto load_first(const double *x, int columns) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << columns) - 1), x);
}
inline void store_first(float *x, int columns, __m512 v) {
  _mm512_mask_storeu_ps(x, static_cast<__mmask16>((1u << columns) - 1), v);
}
inline void store_first(double *x, int columns, __m512d v) {
  _mm512_mask_storeu_pd(x, static_cast<__mmask8>((1u << columns) - 1), v);
}
#else
inline __m256i first_32(int columns) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(columns), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline __m256i first_64(int columns) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(columns), _mm256_setr_epi64x(0, 1, 2, 3));
}
inline auto load_first(const float *x, int columns) { return _mm256_maskload_ps(x, first_32(columns)); }
inline auto load_first(const double *x, int columns) { return _mm256_maskload_pd(x, first_64(columns)); }
inline void store_first(float *x, int columns, __m256 v) { _mm256_maskstore_ps(x, first_32(columns), v); }
inline void store_first(double *x, int columns, __m256d v) { _mm256_maskstore_pd(x, first_64(columns), v); }
#endif

constexpr int kRows = MICA_TILE_ROWS; // of a tile
constexpr i64 kDepth = 128;           // k of a block

// What becomes of a tile's sums: the cells themselves, added to the cells, or the cells carried on with.
enum class Into { set, add, carry };

// Row i, inner index k of the left operand lies at data[i * row + k * inner].
template <class T> struct Left {
  const T *data;
  i64 row, inner;
};

// c tile of R rows and N vectors. `Unit`: rows of the left operand lie side by side. `Part`: only `part`
// columns exist.
template <class T, int R, int N, bool Unit, bool Part>
void tile(i64 depth, Left<T> a, const T *b, i64 b_stride, T *c, i64 ldc, Into into, int part) {
  using V = typename Vector<T>::type;
  using Loose = typename Vector<T>::loose;
  constexpr int L = Vector<T>::lanes;
  auto load = [&](const T *from) -> V {
    if constexpr (Part) return V(load_first(from, part));
    return *reinterpret_cast<const Loose *>(from);
  };
  V sum[R][N];
#pragma clang loop unroll(full)
  for (int i = 0; i < R; i++) {
#pragma clang loop unroll(full)
    for (int n = 0; n < N; n++) sum[i][n] = into == Into::carry ? load(c + i * ldc + n * L) : V(T(0));
  }
  i64 row = Unit ? 1 : a.row;
  const T *x = a.data;
  for (i64 k = 0; k < depth; k++) {
    V right[N];
#pragma clang loop unroll(full)
    for (int n = 0; n < N; n++) right[n] = load(b + n * L);
#pragma clang loop unroll(full)
    for (int i = 0; i < R; i++) {
      V left = x[i * row];
#pragma clang loop unroll(full)
      for (int n = 0; n < N; n++) sum[i][n] = __builtin_elementwise_fma(left, right[n], sum[i][n]);
    }
    x += a.inner;
    b += b_stride;
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < R; i++) {
#pragma clang loop unroll(full)
    for (int n = 0; n < N; n++) {
      T *to = c + i * ldc + n * L;
      V value = into == Into::add ? load(to) + sum[i][n] : sum[i][n];
      if constexpr (Part) {
        store_first(to, part, value);
      } else {
        *reinterpret_cast<Loose *>(to) = value;
      }
    }
  }
}

template <class T, int N, bool Unit, bool Part>
void tile_column(i64 rows, i64 depth, Left<T> a, const T *b, i64 b_stride, T *c, i64 ldc, Into into,
                 int part) {
  i64 i = 0;
  auto from = [&] { return Left<T>{a.data + i * a.row, a.row, a.inner}; };
  for (; i + kRows <= rows; i += kRows)
    tile<T, kRows, N, Unit, Part>(depth, from(), b, b_stride, c + i * ldc, ldc, into, part);
  for (; i + 4 <= rows; i += 4)
    tile<T, 4, N, Unit, Part>(depth, from(), b, b_stride, c + i * ldc, ldc, into, part);
  for (; i + 2 <= rows; i += 2)
    tile<T, 2, N, Unit, Part>(depth, from(), b, b_stride, c + i * ldc, ldc, into, part);
  for (; i < rows; i++) tile<T, 1, N, Unit, Part>(depth, from(), b, b_stride, c + i * ldc, ldc, into, part);
}

template <class T, bool Unit>
void tile_all(i64 rows, i64 columns, i64 depth, Left<T> a, const T *b, i64 b_stride, T *c, i64 ldc,
              Into into) {
  constexpr int L = Vector<T>::lanes;
  i64 j = 0;
  for (; j + 2 * L <= columns; j += 2 * L)
    tile_column<T, 2, Unit, false>(rows, depth, a, b + j, b_stride, c + j, ldc, into, L);
  for (; j + L <= columns; j += L)
    tile_column<T, 1, Unit, false>(rows, depth, a, b + j, b_stride, c + j, ldc, into, L);
  if (j == columns) return;
  tile_column<T, 1, Unit, true>(rows, depth, a, b + j, b_stride, c + j, ldc, into,
                                static_cast<int>(columns - j));
}

// c := or += or carries on over one block of depth.
template <class T>
void multiply_block(i64 rows, i64 columns, i64 depth, Left<T> a, const T *b, i64 b_stride, T *c, i64 ldc,
                    Into into) {
  if (a.row == 1) return tile_all<T, true>(rows, columns, depth, a, b, b_stride, c, ldc, into);
  tile_all<T, false>(rows, columns, depth, a, b, b_stride, c, ldc, into);
}

// c := a * b over any depth; nothing to add gives zeros.
template <class T>
void multiply_rows(i64 rows, i64 columns, i64 depth, Left<T> a, const T *b, i64 b_stride, T *c, i64 ldc) {
  multiply_block<T>(rows, columns, depth < kDepth ? depth : kDepth, a, b, b_stride, c, ldc, Into::set);
  for (i64 k = kDepth; k < depth; k += kDepth) {
    a.data += kDepth * a.inner;
    b += kDepth * b_stride;
    i64 here = depth - k < kDepth ? depth - k : kDepth;
    multiply_block<T>(rows, columns, here, a, b, b_stride, c, ldc, Into::add);
  }
}
