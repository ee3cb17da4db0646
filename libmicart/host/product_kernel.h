// The product on one instruction set: included once for AVX2 and once for AVX-512, with the same bits
// (numerics.md 5). After Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS
// 34 (2008): A and B in packed panels, a register tile of C. The block of 128 consecutive k is at once the
// unit of rounding and the depth that a tile runs through: it starts each block from +0 and adds its result
// to what the blocks before gave.
//
// The includer defines MICA_ISA (a namespace), MICA_VECTOR_BYTES and MICA_TILE_ROWS (even).
#include "product_pack.h"

namespace mica::rt::MICA_ISA {
namespace {

template <class T> struct Vector {
  static constexpr int lanes = MICA_VECTOR_BYTES / sizeof(T);
  typedef T type __attribute__((ext_vector_type(lanes)));
  typedef T loose __attribute__((ext_vector_type(lanes), aligned(alignof(T))));
};
constexpr int kRows = MICA_TILE_ROWS;                             // of a tile of C
template <class T> constexpr int kColumns = 2 * Vector<T>::lanes; // of a tile of C
constexpr i64 kDepth = 128;                                       // k of a block
constexpr i64 kTaskTiles = 168 / MICA_TILE_ROWS; // tiles of a task, one below the other, at most
constexpr i64 kTaskColumns = 512;                // columns of a task, at most
/// Cells of A and B that are packed at a time.
constexpr i64 kSlabA = i64(1) << 20, kSlabB = i64(4) << 20;
/// Rows that don't repay packing B, how far apart its rows may lie then, in bytes, and the bytes of a B that
/// stays in the second-level cache.
constexpr i64 kFewRows = 192, kNearRows = 4096, kCacheB = i64(1) << 19;
/// Multiplications that are worth sharing out, and that a task has at least: 5 to 10 µs.
constexpr i64 kWorthSharing = i64(1) << 19, kTaskWork = i64(1) << 18;

/// A tile of C, R rows by V vectors, := or += A panel [depth][kRows] times a panel of B with rows b_stride
/// apart.
template <class T, int R, int V>
void tile(i64 depth, const T *a, const T *b, i64 b_stride, T *c, i64 ldc, bool first) {
  using Lanes = typename Vector<T>::type;
  using Loose = typename Vector<T>::loose;
  constexpr int L = Vector<T>::lanes;
  Lanes sum[R][V];
#pragma clang loop unroll(full)
  for (int i = 0; i < R; i++)
    for (int v = 0; v < V; v++) sum[i][v] = Lanes(T(0));
  for (i64 k = 0; k < depth; k++) {
    Lanes row[V];
    for (int v = 0; v < V; v++) row[v] = *reinterpret_cast<const Loose *>(b + v * L);
#pragma clang loop unroll(full)
    for (int i = 0; i < R; i++) {
      Lanes x = a[i];
      for (int v = 0; v < V; v++) sum[i][v] = __builtin_elementwise_fma(x, row[v], sum[i][v]);
    }
    a += kRows;
    b += b_stride;
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < R; i++) {
    Loose *to = reinterpret_cast<Loose *>(c + i * ldc);
    for (int v = 0; v < V; v++) to[v] = first ? Lanes(sum[i][v]) : Lanes(to[v] + sum[i][v]);
  }
}

template <class T> using TileFunction = void (*)(i64, const T *, const T *, i64, T *, i64, bool);
template <class T, int V>
constexpr TileFunction<T> kTiles[] = { // by half of the rows
    tile<T, 1, V>, tile<T, 2, V>,  tile<T, 4, V>,
    tile<T, 6, V>,
#if MICA_TILE_ROWS > 6
    tile<T, 8, V>, tile<T, 10, V>, tile<T, 12, V>,
    tile<T, 14, V>
#endif
};

/// The rows that a tile for `rows` computes.
inline i64 tile_rows(i64 rows) { return rows == 1 ? 1 : (rows + 1) / 2 * 2; }

/// One product of one pair, as its parts see it.
template <class T> struct Work {
  Operand a, b; // as (row, k) and (column, k)
  char *c;      // (row, column)
  i64 c_row, c_column;
  int type_c;
  i64 m, n, k;
  T *packed_a, *packed_b;       // panels [k][kRows], [k][kColumns]; null: packed by each task, read in place
  i64 a_begin, a_end;           // rows whose panels are packed
  i64 b_begin, b_end;           // columns likewise
  i64 a_panels;                 // to be packed: so many of A, then those of B
  i64 task_tiles, task_columns; // of a task, at most
  i64 tasks_across;
};

template <class T, int W> void pack_lines(const Operand &o, i64 line, i64 end, i64 k0, i64 depth, T *out) {
  i64 width = end - line < W ? end - line : W;
  with_operand<T>(o, [&](auto *s) {
    pack_panel<T, W>(s + line * o.outer + k0 * o.inner, o.outer, o.inner, width, depth, out);
  });
}

template <class T> void pack_panels(void *context, i64 begin, i64 end) {
  const Work<T> &w = *static_cast<const Work<T> *>(context);
  constexpr int W = kColumns<T>;
  for (i64 panel = begin; panel < end; panel++) {
    if (panel < w.a_panels) {
      i64 row = w.a_begin + panel * kRows;
      pack_lines<T, kRows>(w.a, row, w.a_end, 0, w.k, w.packed_a + panel * kRows * w.k);
    } else {
      i64 at = panel - w.a_panels;
      pack_lines<T, W>(w.b, w.b_begin + at * W, w.b_end, 0, w.k, w.packed_b + at * W * w.k);
    }
  }
}

/// One tile with a part of it beyond C's edge, or all of it inside.
template <class T>
void add_tile(i64 rows, i64 columns, i64 depth, const T *a, const T *b, i64 b_stride, T *c, i64 ldc,
              bool first) {
  constexpr int L = Vector<T>::lanes, W = kColumns<T>;
  TileFunction<T> function = columns > L ? kTiles<T, 2>[rows == 1 ? 0 : (rows + 1) / 2]
                                         : kTiles<T, 1>[rows == 1 ? 0 : (rows + 1) / 2];
  if (columns % L == 0 && tile_rows(rows) == rows) return function(depth, a, b, b_stride, c, ldc, first);
  alignas(64) T edge[kRows * W];
  function(depth, a, b, b_stride, edge, W, true);
  for (i64 r = 0; r < rows; r++)
    for (i64 x = 0; x < columns; x++)
      c[r * ldc + x] = first ? edge[r * W + x] : c[r * ldc + x] + edge[r * W + x];
}

template <class T> void run_tasks(void *context, i64 begin, i64 end) {
  const Work<T> &w = *static_cast<const Work<T> *>(context);
  constexpr int W = kColumns<T>;
  alignas(64) T a_panel[kRows * kDepth];
  alignas(64) T b_tail[W * kDepth];
  for (i64 task = begin; task < end; task++) {
    i64 i0 = w.a_begin + task / w.tasks_across * w.task_tiles * kRows;
    i64 j0 = w.b_begin + task % w.tasks_across * w.task_columns;
    i64 i1 = i0 + w.task_tiles * kRows < w.a_end ? i0 + w.task_tiles * kRows : w.a_end;
    i64 j1 = j0 + w.task_columns < w.b_end ? j0 + w.task_columns : w.b_end;
    // Sums stand in C itself where its type and layout allow, else beside it.
    bool direct = w.type_c == type_of<T>() && w.c_column == 1;
    T *sums = direct ? reinterpret_cast<T *>(w.c) + i0 * w.c_row + j0
                     : static_cast<T *>(allocate((i1 - i0) * (j1 - j0) * static_cast<i64>(sizeof(T))));
    i64 ld = direct ? w.c_row : j1 - j0;
    // Either a panel of A stays in the first-level cache and those of B pass by, or the other way round.
    for (i64 i = i0; !w.packed_a && i < i1; i += kRows) {
      i64 rows = i1 - i < kRows ? i1 - i : kRows;
      for (i64 k0 = 0; k0 < w.k; k0 += kDepth) {
        i64 depth = w.k - k0 < kDepth ? w.k - k0 : kDepth;
        pack_lines<T, kRows>(w.a, i, i1, k0, depth, a_panel);
        for (i64 j = j0; j < j1; j += W)
          add_tile<T>(rows, j1 - j < W ? j1 - j : W, depth, a_panel,
                      w.packed_b + (j - w.b_begin) * w.k + k0 * W, W, sums + (i - i0) * ld + (j - j0), ld,
                      k0 == 0);
      }
    }
    for (i64 k0 = 0; w.packed_a && k0 < w.k; k0 += kDepth) {
      i64 depth = w.k - k0 < kDepth ? w.k - k0 : kDepth;
      for (i64 j = j0; j < j1; j += W) {
        i64 columns = j1 - j < W ? j1 - j : W;
        const T *b = nullptr;
        i64 b_stride = W;
        if (w.packed_b) {
          b = w.packed_b + (j - w.b_begin) * w.k + k0 * W;
        } else if (columns == W) {
          b = static_cast<const T *>(w.b.data) + j + k0 * w.b.inner;
          b_stride = w.b.inner;
        } else {
          pack_lines<T, W>(w.b, j, j1, k0, depth, b_tail);
          b = b_tail;
        }
        for (i64 i = i0; i < i1; i += kRows) {
          const T *a = w.packed_a + (i - w.a_begin) * w.k + k0 * kRows;
          add_tile<T>(i1 - i < kRows ? i1 - i : kRows, columns, depth, a, b, b_stride,
                      sums + (i - i0) * ld + (j - j0), ld, k0 == 0);
        }
      }
    }
    if (direct) continue;
    for (i64 i = i0; i < i1; i++)
      for (i64 j = j0; j < j1; j++)
        store_cell<T>(w.c, w.type_c, i * w.c_row + j * w.c_column, sums[(i - i0) * ld + (j - j0)]);
    release(sums);
  }
}

constexpr i64 parts(i64 whole, i64 part) { return (whole + part - 1) / part; }

/// How the packed rows and columns are cut into tasks; gives their number. Rows first: a task over fewer rows
/// reads all of the packed B, which the cores share.
template <class T> i64 cut_tasks(Work<T> &w, i64 threads) {
  i64 tiles = parts(w.a_end - w.a_begin, kRows), columns = w.b_end - w.b_begin;
  i64 work = (w.a_end - w.a_begin) * columns * w.k;
  i64 wanted = threads == 1 ? 1 : 4 * threads;
  if (wanted > work / kTaskWork) wanted = work / kTaskWork;
  w.task_tiles = kTaskTiles < tiles ? kTaskTiles : tiles;
  w.task_columns = kTaskColumns;
  while (parts(tiles, w.task_tiles) * parts(columns, w.task_columns) < wanted) {
    if (w.task_tiles > 2)
      w.task_tiles = parts(w.task_tiles, 2);
    else if (w.task_columns > 2 * kColumns<T>)
      w.task_columns /= 2;
    else if (w.task_tiles > 1)
      w.task_tiles = 1;
    else
      break;
  }
  w.tasks_across = parts(columns, w.task_columns);
  return parts(tiles, w.task_tiles) * w.tasks_across;
}

template <class T> void multiply(const Pair &pair) {
  Work<T> w = {};
  w.a = pair.a;
  w.b = pair.b;
  w.c = pair.c;
  w.c_row = pair.c_row;
  w.c_column = pair.c_column;
  w.type_c = pair.type_c;
  w.m = pair.m;
  w.n = pair.n;
  w.k = pair.k;
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
  // Few rows over a B whose columns lie side by side read it in place, unless its rows lie so far apart that
  // they meet in the caches; else it is packed, slab by slab. A B that the second-level cache holds lets each
  // task pack A.
  i64 apart = w.b.inner * static_cast<i64>(sizeof(T));
  bool in_place = w.b.outer == 1 && w.b.type == type_of<T>() &&
                  (w.m <= kRows || (w.m <= kFewRows && apart <= kNearRows && apart % 2048 != 0));
  bool packs_a = in_place || w.n > kTaskColumns || w.n * w.k * static_cast<i64>(sizeof(T)) > kCacheB;
  auto slab = [&](i64 cells, i64 least, i64 panel, i64 lines) {
    i64 size = cells / w.k / panel * panel;
    if (size < least) size = least;
    return size < lines ? size : parts(lines, panel) * panel;
  };
  i64 slab_a = packs_a ? slab(kSlabA, kTaskTiles * kRows, kRows, w.m) : w.m;
  i64 slab_b = in_place ? w.n : slab(kSlabB, kTaskColumns, W, w.n);
  i64 cells_a = packs_a ? slab_a * w.k : 0, cells_b = in_place ? 0 : slab_b * w.k;
  T *memory = static_cast<T *>(scratch((cells_a + cells_b) * static_cast<i64>(sizeof(T))));
  w.packed_b = in_place ? nullptr : memory; // of the two the one whose panels are whole cache lines
  w.packed_a = packs_a ? memory + cells_b : nullptr;
  i64 threads = mica_thread_count();
  bool shares = threads > 1 && w.m * w.n * w.k >= kWorthSharing;
  for (i64 j = 0; j < w.n; j += slab_b) {
    w.b_begin = j;
    w.b_end = j + slab_b < w.n ? j + slab_b : w.n;
    for (i64 i = 0; i < w.m; i += slab_a) {
      w.a_begin = i;
      w.a_end = i + slab_a < w.m ? i + slab_a : w.m;
      w.a_panels = packs_a ? parts(w.a_end - w.a_begin, kRows) : 0;
      bool packs_b = i == 0 && w.packed_b;
      i64 panels = w.a_panels + (packs_b ? parts(w.b_end - w.b_begin, W) : 0);
      mica_parallel(pack_panels<T>, &w, panels, shares ? 1024 / w.k + 1 : panels);
      i64 tasks = cut_tasks(w, threads);
      mica_parallel(run_tasks<T>, &w, tasks, shares ? 1 : tasks);
    }
  }
}
} // namespace

extern const ProductKernels kKernels;
const ProductKernels kKernels = {multiply<float>, multiply<double>};

} // namespace mica::rt::MICA_ISA
