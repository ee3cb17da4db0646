// The product on one instruction set: included once for AVX2 and once for AVX-512, with the same bits
// (numerics.md 5). After Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS
// 34 (2008): B in packed panels, A in packed blocks, a register tile of C. The block of 128 consecutive k is
// at once the unit of rounding and the depth of a packed block: a tile starts each block from +0 and adds its
// result to what the blocks before gave.
//
// The includer defines MICA_ISA (a namespace), MICA_VECTOR_BYTES and MICA_TILE_ROWS.
#include "product.h"

#include <immintrin.h>
#include <string.h>

namespace mica::rt::MICA_ISA {
namespace {

template <class T> struct Vector {
  static constexpr int lanes = MICA_VECTOR_BYTES / sizeof(T);
  typedef T type __attribute__((ext_vector_type(lanes)));
  typedef T loose __attribute__((ext_vector_type(lanes), aligned(alignof(T))));
};
constexpr int kRows = MICA_TILE_ROWS;                               // of a tile of C
template <class T> constexpr int kColumns = 2 * Vector<T>::lanes;   // of a tile of C
constexpr i64 kDepth = 128;                                         // k of a block
constexpr i64 kBlockRows = MICA_TILE_ROWS * (168 / MICA_TILE_ROWS); // rows of a packed block of A, at most
constexpr i64 kTaskColumns = 512;                                   // columns of a task, at most

// C tile (R x kColumns) := or += A panel [depth][R] times B panel [depth][kColumns] with rows b_stride apart.
template <class T, int R>
void tile(i64 depth, const T *a, i64 a_stride, const T *b, i64 b_stride, T *c, i64 ldc, bool first) {
  using V = typename Vector<T>::type;
  using Loose = typename Vector<T>::loose;
  constexpr int L = Vector<T>::lanes;
  V sum[R][2];
#pragma clang loop unroll(full)
  for (int i = 0; i < R; i++) sum[i][0] = sum[i][1] = V(T(0));
  for (i64 k = 0; k < depth; k++) {
    V b0 = *reinterpret_cast<const Loose *>(b), b1 = *reinterpret_cast<const Loose *>(b + L);
#pragma clang loop unroll(full)
    for (int i = 0; i < R; i++) {
      V x = a[i];
      sum[i][0] = __builtin_elementwise_fma(x, b0, sum[i][0]);
      sum[i][1] = __builtin_elementwise_fma(x, b1, sum[i][1]);
    }
    a += a_stride;
    b += b_stride;
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < R; i++) {
    Loose *row = reinterpret_cast<Loose *>(c + i * ldc);
    if (first) {
      row[0] = sum[i][0];
      row[1] = sum[i][1];
    } else {
      row[0] = row[0] + sum[i][0];
      row[1] = row[1] + sum[i][1];
    }
  }
}

template <class T>
void tile_of(i64 rows, i64 depth, const T *a, const T *b, i64 b_stride, T *c, i64 ldc, bool first) {
  if (rows > 4) return tile<T, kRows>(depth, a, kRows, b, b_stride, c, ldc, first);
  if (rows > 2) return tile<T, 4>(depth, a, kRows, b, b_stride, c, ldc, first);
  if (rows > 1) return tile<T, 2>(depth, a, kRows, b, b_stride, c, ldc, first);
  tile<T, 1>(depth, a, kRows, b, b_stride, c, ldc, first);
}

// The rows that tile_of writes for so many valid ones.
inline i64 tile_rows(i64 rows) { return rows > 4 ? kRows : rows > 2 ? 4 : rows; }

// Packed [depth][width] from cells (w, k) at s[w * ws + k * ks]; what is missing of the width is zero.
template <class T, int W, class S> void pack_panel(const S *s, i64 ws, i64 ks, i64 width, i64 depth, T *out) {
  if (width < W) memset(out, 0, sizeof(T) * static_cast<size_t>(W * depth));
  if (ws == 1) {
    for (i64 k = 0; k < depth; k++) {
      const S *row = s + k * ks;
      if (width == W) {
#pragma clang loop vectorize(enable)
        for (int w = 0; w < W; w++) out[k * W + w] = widen<T>(row[w]);
      } else {
        for (i64 w = 0; w < width; w++) out[k * W + w] = widen<T>(row[w]);
      }
    }
    return;
  }
  for (i64 w = 0; w < width; w++) {
    const S *row = s + w * ws;
    for (i64 k = 0; k < depth; k++) out[k * W + w] = widen<T>(row[k * ks]);
  }
}

// Eight rows of eight floats turned over.
inline void transpose8(const float *s, i64 stride, float *out, i64 out_stride) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps(s + i * stride);
  for (int i = 0; i < 4; i++) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 2; i++) {
    r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
    r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xEE);
    r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
    r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xEE);
  }
  for (int i = 0; i < 4; i++) {
    _mm256_storeu_ps(out + i * out_stride, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(out + (i + 4) * out_stride, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}

template <class T, class S> void pack_b(const S *s, i64 ws, i64 ks, i64 width, i64 depth, T *out) {
  constexpr int W = kColumns<T>;
  if constexpr (__is_same(S, float) && __is_same(T, float)) {
    if (ks == 1 && width == W) {
      i64 k = 0;
      for (; k + 8 <= depth; k += 8) {
        for (int w = 0; w < W; w += 8) transpose8(s + w * ws + k, ws, out + k * W + w, W);
      }
      if (k < depth) pack_panel<T, W>(s + k, ws, ks, width, depth - k, out + k * W);
      return;
    }
  }
  pack_panel<T, W>(s, ws, ks, width, depth, out);
}

// One product of one pair, as its parts see it.
template <class T> struct Work {
  Operand a, b; // as (row, k) and (column, k)
  char *c;      // (row, column)
  i64 c_row, c_column;
  int type_c;
  i64 m, n, k;
  T *packed;                // panels of B, each [k][kColumns]; null where B is read in place
  i64 slab_begin, slab_end; // columns whose panels are packed
  i64 task_rows, task_columns, tasks_across;
};

template <class T> void pack_panels(void *context, i64 begin, i64 end) {
  const Work<T> &w = *static_cast<const Work<T> *>(context);
  constexpr int W = kColumns<T>;
  for (i64 panel = begin; panel < end; panel++) {
    i64 column = w.slab_begin + panel * W;
    i64 width = w.slab_end - column < W ? w.slab_end - column : W;
    T *out = w.packed + panel * W * w.k;
    with_operand<T>(w.b, [&](auto *s) {
      for (i64 k = 0; k < w.k; k += kDepth) {
        i64 depth = w.k - k < kDepth ? w.k - k : kDepth;
        pack_b<T>(s + column * w.b.outer + k * w.b.inner, w.b.outer, w.b.inner, width, depth, out + k * W);
      }
    });
  }
}

template <class T> void run_tasks(void *context, i64 begin, i64 end) {
  const Work<T> &w = *static_cast<const Work<T> *>(context);
  constexpr int W = kColumns<T>;
  alignas(64) T a_block[kBlockRows * kDepth];
  alignas(64) T b_tail[W * kDepth];
  alignas(64) T edge[kRows * W];
  for (i64 task = begin; task < end; task++) {
    i64 i0 = task / w.tasks_across * w.task_rows, j0 = w.slab_begin + task % w.tasks_across * w.task_columns;
    i64 i1 = i0 + w.task_rows < w.m ? i0 + w.task_rows : w.m;
    i64 j1 = j0 + w.task_columns < w.slab_end ? j0 + w.task_columns : w.slab_end;
    // Sums stand in C itself where its type and layout allow, else beside it.
    bool direct = w.type_c == type_of<T>() && w.c_column == 1;
    T *sums = direct ? reinterpret_cast<T *>(w.c) + i0 * w.c_row + j0
                     : static_cast<T *>(allocate((i1 - i0) * (j1 - j0) * static_cast<i64>(sizeof(T))));
    i64 ld = direct ? w.c_row : j1 - j0;
    for (i64 k0 = 0; k0 < w.k; k0 += kDepth) {
      i64 depth = w.k - k0 < kDepth ? w.k - k0 : kDepth;
      for (i64 i = i0; i < i1; i += kRows) {
        i64 rows = i1 - i < kRows ? i1 - i : kRows;
        with_operand<T>(w.a, [&](auto *s) {
          pack_panel<T, kRows>(s + i * w.a.outer + k0 * w.a.inner, w.a.outer, w.a.inner, rows, depth,
                               a_block + (i - i0) * kDepth);
        });
      }
      for (i64 j = j0; j < j1; j += W) {
        i64 columns = j1 - j < W ? j1 - j : W;
        const T *b = nullptr;
        i64 b_stride = W;
        if (w.packed) {
          b = w.packed + (j - w.slab_begin) * w.k + k0 * W;
        } else if (columns == W) {
          b = static_cast<const T *>(w.b.data) + j + k0 * w.b.inner;
          b_stride = w.b.inner;
        } else {
          with_operand<T>(w.b, [&](auto *s) {
            pack_b<T>(s + j * w.b.outer + k0 * w.b.inner, w.b.outer, w.b.inner, columns, depth, b_tail);
          });
          b = b_tail;
        }
        for (i64 i = i0; i < i1; i += kRows) {
          i64 rows = i1 - i < kRows ? i1 - i : kRows;
          const T *a = a_block + (i - i0) * kDepth;
          T *c = sums + (i - i0) * ld + (j - j0);
          if (columns == W && tile_rows(rows) == rows) {
            tile_of<T>(rows, depth, a, b, b_stride, c, ld, k0 == 0);
            continue;
          }
          tile_of<T>(rows, depth, a, b, b_stride, edge, W, true);
          for (i64 r = 0; r < rows; r++) {
            for (i64 x = 0; x < columns; x++)
              c[r * ld + x] = k0 == 0 ? edge[r * W + x] : c[r * ld + x] + edge[r * W + x];
          }
        }
      }
    }
    if (!direct) {
      for (i64 i = i0; i < i1; i++) {
        for (i64 j = j0; j < j1; j++) {
          store_cell<T>(w.c, w.type_c, i * w.c_row + j * w.c_column, sums[(i - i0) * ld + (j - j0)]);
        }
      }
      release(sums);
    }
  }
}

template <class T> void multiply(const Pair &pair) {
  Work<T> w = {pair.a,      pair.b, pair.c, pair.c_row, pair.c_column,
               pair.type_c, pair.m, pair.n, pair.k,     nullptr,
               0,           0,      0,      0,          0};
  constexpr int W = kColumns<T>;
  // A narrow answer is computed turned over: a * b is b * a, so the bits are the same.
  if (w.n < W / 2 && w.n < w.m) {
    w.a = pair.b;
    w.b = pair.a;
    w.m = pair.n;
    w.n = pair.m;
    w.c_row = pair.c_column;
    w.c_column = pair.c_row;
  }
  // Few rows over a B whose columns lie side by side read it in place; else its panels are packed, slab by
  // slab.
  bool in_place = w.b.outer == 1 && w.b.type == type_of<T>() && w.m <= kRows;
  i64 slab = w.n;
  if (!in_place) {
    slab = (i64(4) << 20) / w.k / W * W;
    if (slab < kTaskColumns) slab = kTaskColumns;
    if (slab > w.n) slab = (w.n + W - 1) / W * W;
    w.packed = static_cast<T *>(scratch(slab * w.k * static_cast<i64>(sizeof(T))));
  }
  i64 threads = mica_thread_count();
  for (i64 j = 0; j < w.n; j += slab) {
    w.slab_begin = j;
    w.slab_end = j + slab < w.n ? j + slab : w.n;
    i64 columns = w.slab_end - w.slab_begin;
    if (w.packed) mica_parallel(pack_panels<T>, &w, (columns + W - 1) / W, w.k < 1024 ? 4 : 1);
    w.task_rows = kBlockRows;
    w.task_columns = kTaskColumns;
    // Enough tasks for every thread, as far as that leaves them sensible.
    while (threads > 1 &&
           ((w.m + w.task_rows - 1) / w.task_rows) * ((columns + w.task_columns - 1) / w.task_columns) <
               4 * threads) {
      if (w.task_columns > 2 * W && w.task_columns * 2 >= w.task_rows) {
        w.task_columns /= 2;
      } else if (w.task_rows > 2 * kRows) {
        w.task_rows = (w.task_rows / 2 + kRows - 1) / kRows * kRows;
      } else {
        break;
      }
    }
    w.tasks_across = (columns + w.task_columns - 1) / w.task_columns;
    i64 tasks = (w.m + w.task_rows - 1) / w.task_rows * w.tasks_across;
    i64 work = w.m * columns * w.k;
    mica_parallel(run_tasks<T>, &w, tasks, work < 65536 ? tasks : 1);
  }
}
} // namespace

extern const ProductKernels kKernels;
const ProductKernels kKernels = {multiply<float>, multiply<double>};

} // namespace mica::rt::MICA_ISA
