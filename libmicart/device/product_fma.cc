// Products by fused multiply-adds: C[m, n] = A[m, k] * B[k, n] for each of a batch. A block computes a tile
// of C; the operands' tiles go through shared memory, the next one being fetched into registers while this
// one is used. Each cell is one chain of fused multiply-adds, k ascending: the same bits on every run.
#include "card.h"

namespace mica::device {
namespace {

/// mica_constant's numbers here (mica-codegen/card/product.cc).
enum Constant {
  kM,
  kN,
  kK,
  kLda,     ///< cells from one stored row of A to the next
  kLdb,     ///
  kStrideA, ///< cells from one matrix of the batch to the next; 0: the same for all
  kStrideB, ///
  kTransposeA,
  kTransposeB,
  kVectorA, ///< rows of A are whole vectors of 16 bytes
  kVectorB, ///
  kVectorC, ///
};
constexpr u32 kThreads = 256;
constexpr u32 kGroup = 8; ///< tiles of so many rows are computed together: their operands stay in the cache

template <class T> struct Vector {
  static constexpr int kCells = 16 / sizeof(T);
  typedef T Type __attribute__((ext_vector_type(16 / sizeof(T)), aligned(16)));
};

MICA_INLINE float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
MICA_INLINE double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
MICA_INLINE u32 multiply_add(u32 a, u32 b, u32 c) { return a * b + c; }
MICA_INLINE u64 multiply_add(u64 a, u64 b, u64 c) { return a * b + c; }

/// A tile of one operand: kRows cells along m (or n), kDepth along k; held as [k][row].
template <class T, int kRows, int kDepth> struct Tile {
  static constexpr int kCells = kRows * kDepth / static_cast<int>(kThreads); ///< a thread's
  static constexpr int kWide = Vector<T>::kCells;
  static constexpr int kPitch = kRows + 16 / static_cast<int>(sizeof(T));
  using Wide = typename Vector<T>::Type;
  T cells[kCells];

  /// `along_k`: k is the stored rows' direction. `vector`: rows are whole vectors.
  MICA_INLINE void fetch(Tile &t, const T *x, i64 row_stride, bool along_k, bool vector, i64 row0, i64 rows,
                         i64 k0, i64 depth) {
    const u32 id = thread();
    if (vector) {
      constexpr int kSteps = kCells / kWide > 0 ? kCells / kWide : 1;
#pragma clang loop unroll(full)
      for (int i = 0; i < kSteps; i++) {
        const u32 piece = id + static_cast<u32>(i) * kThreads;
        const u32 minor_count = (along_k ? kDepth : kRows) / kWide;
        const i64 minor = static_cast<i64>(piece % minor_count) * kWide,
                  major = static_cast<i64>(piece / minor_count);
        const i64 row = along_k ? row0 + major : row0 + minor, k = along_k ? k0 + minor : k0 + major;
        Wide v = 0;
        const bool inside = piece < kRows * kDepth / kWide && row < rows && k < depth;
        if (inside)
          v = *reinterpret_cast<const Wide *>(x + (along_k ? row * row_stride + k : k * row_stride + row));
#pragma clang loop unroll(full)
        for (int j = 0; j < kWide && i * kWide + j < kCells; j++) t.cells[i * kWide + j] = v[j];
      }
      return;
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < kCells; i++) {
      const u32 piece = id + static_cast<u32>(i) * kThreads;
      const u32 minor_count = along_k ? kDepth : kRows;
      const i64 minor = piece % minor_count, major = piece / minor_count;
      const i64 row = along_k ? row0 + major : row0 + minor, k = along_k ? k0 + minor : k0 + major;
      t.cells[i] = row < rows && k < depth ? x[along_k ? row * row_stride + k : k * row_stride + row] : T(0);
    }
  }

  MICA_INLINE void put(const Tile &t, MICA_SHARED T *to, bool along_k, bool vector) {
    const u32 id = thread();
    if (vector) {
      constexpr int kSteps = kCells / kWide > 0 ? kCells / kWide : 1;
#pragma clang loop unroll(full)
      for (int i = 0; i < kSteps; i++) {
        const u32 piece = id + static_cast<u32>(i) * kThreads;
        const u32 minor_count = (along_k ? kDepth : kRows) / kWide;
        const u32 minor = piece % minor_count * kWide, major = piece / minor_count;
        if (piece >= kRows * kDepth / kWide) continue;
        if (along_k) {
#pragma clang loop unroll(full)
          for (int j = 0; j < kWide && i * kWide + j < kCells; j++)
            to[(minor + static_cast<u32>(j)) * kPitch + major] = t.cells[i * kWide + j];
        } else {
          Wide v = 0;
#pragma clang loop unroll(full)
          for (int j = 0; j < kWide && i * kWide + j < kCells; j++) v[j] = t.cells[i * kWide + j];
          *reinterpret_cast<MICA_SHARED Wide *>(to + major * kPitch + minor) = v;
        }
      }
      return;
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < kCells; i++) {
      const u32 piece = id + static_cast<u32>(i) * kThreads;
      const u32 minor_count = along_k ? kDepth : kRows;
      const u32 minor = piece % minor_count, major = piece / minor_count;
      to[along_k ? minor * kPitch + major : major * kPitch + minor] = t.cells[i];
    }
  }
};

/// kCount cells that lie aligned as a whole, or as vectors of 16 bytes where they are longer.
template <int kCount, class T> MICA_INLINE void read_piece(T *to, const MICA_SHARED T *from) {
  constexpr int kWide = kCount < Vector<T>::kCells ? kCount : Vector<T>::kCells;
  typedef T Piece __attribute__((ext_vector_type(kWide), aligned(sizeof(T) * kWide)));
#pragma clang loop unroll(full)
  for (int i = 0; i < kCount; i += kWide) {
    Piece v = *reinterpret_cast<const MICA_SHARED Piece *>(from + i);
#pragma clang loop unroll(full)
    for (int j = 0; j < kWide; j++) to[i + j] = v[j];
  }
}

/// kSide x kSide cells a block, kOwn x kOwn a thread: in pieces of at most 4, so far apart that the threads
/// of a warp read neighbouring vectors.
template <class T, int kSide, int kOwn, int kDepth, class Cell, class Cells>
MICA_INLINE void product(const T *a, const T *b, const void *context, MICA_SHARED T *shared, Cell store,
                         Cells store_vector) {
  constexpr int kAcross = kSide / kOwn; // threads along a side
  static_assert(kAcross * kAcross == static_cast<int>(kThreads));
  constexpr int kPiece = kOwn < 4 ? kOwn : 4, kPieces = kOwn / kPiece;
  constexpr int kWide = Vector<T>::kCells;
  using Operand = Tile<T, kSide, kDepth>;
  constexpr int kTile = kDepth * Operand::kPitch;
  const i64 m = mica_constant(kM), n = mica_constant(kN), k = mica_constant(kK);
  const bool a_along_k = !mica_constant(kTransposeA), b_along_k = mica_constant(kTransposeB);
  const bool a_vector = mica_constant(kVectorA), b_vector = mica_constant(kVectorB);

  // Which tile: groups of kGroup rows of tiles, column by column inside a group.
  const u32 down = static_cast<u32>((m + kSide - 1) / kSide),
            right = static_cast<u32>((n + kSide - 1) / kSide);
  const u32 batch = block() / (down * right), tile = block() % (down * right);
  const u32 group = tile / (kGroup * right), first = group * kGroup;
  const u32 high = down - first < kGroup ? down - first : kGroup;
  const i64 row0 = static_cast<i64>(first + tile % (kGroup * right) % high) * kSide,
            column0 = static_cast<i64>(tile % (kGroup * right) / high) * kSide;
  a += static_cast<i64>(batch) * mica_constant(kStrideA);
  b += static_cast<i64>(batch) * mica_constant(kStrideB);
  const i64 lda = mica_constant(kLda), ldb = mica_constant(kLdb);

  T sums[kOwn][kOwn];
#pragma clang loop unroll(full)
  for (int i = 0; i < kOwn; i++)
#pragma clang loop unroll(full)
    for (int j = 0; j < kOwn; j++) sums[i][j] = T(0);

  const u32 tx = thread() % kAcross, ty = thread() / kAcross;
  MICA_SHARED T *a_tiles = shared, *b_tiles = shared + 2 * kTile;
  Operand a_next, b_next;
  const i64 steps = (k + kDepth - 1) / kDepth;
  if (steps > 0) {
    Operand::fetch(a_next, a, lda, a_along_k, a_vector, row0, m, 0, k);
    Operand::fetch(b_next, b, ldb, b_along_k, b_vector, column0, n, 0, k);
    Operand::put(a_next, a_tiles, a_along_k, a_vector);
    Operand::put(b_next, b_tiles, b_along_k, b_vector);
    wait_for_block();
  }
  for (i64 step = 0; step < steps; step++) {
    MICA_SHARED T *a_tile = a_tiles + (step & 1) * kTile, *b_tile = b_tiles + (step & 1) * kTile;
    const bool more = step + 1 < steps;
    if (more) {
      Operand::fetch(a_next, a, lda, a_along_k, a_vector, row0, m, (step + 1) * kDepth, k);
      Operand::fetch(b_next, b, ldb, b_along_k, b_vector, column0, n, (step + 1) * kDepth, k);
    }
#pragma clang loop unroll(full)
    for (int d = 0; d < kDepth; d++) {
      T x[kOwn], y[kOwn];
#pragma clang loop unroll(full)
      for (int p = 0; p < kPieces; p++) {
        read_piece<kPiece>(&x[p * kPiece], a_tile + d * Operand::kPitch + p * (kSide / kPieces) +
                                               static_cast<int>(ty) * kPiece);
        read_piece<kPiece>(&y[p * kPiece], b_tile + d * Operand::kPitch + p * (kSide / kPieces) +
                                               static_cast<int>(tx) * kPiece);
      }
#pragma clang loop unroll(full)
      for (int i = 0; i < kOwn; i++)
#pragma clang loop unroll(full)
        for (int j = 0; j < kOwn; j++) sums[i][j] = multiply_add(x[i], y[j], sums[i][j]);
    }
    if (more) {
      Operand::put(a_next, a_tiles + ((step + 1) & 1) * kTile, a_along_k, a_vector);
      Operand::put(b_next, b_tiles + ((step + 1) & 1) * kTile, b_along_k, b_vector);
    }
    wait_for_block();
  }

  const bool c_vector = mica_constant(kVectorC) && kPiece % kWide == 0;
  const u64 matrix = static_cast<u64>(batch) * static_cast<u64>(m) * static_cast<u64>(n);
#pragma clang loop unroll(full)
  for (int i = 0; i < kOwn; i++) {
    const i64 row = row0 + i / kPiece * (kSide / kPieces) + static_cast<i64>(ty) * kPiece + i % kPiece;
    if (row >= m) continue;
#pragma clang loop unroll(full)
    for (int p = 0; p < kPieces; p++) {
      const i64 column = column0 + p * (kSide / kPieces) + static_cast<i64>(tx) * kPiece;
      const u64 cell = matrix + static_cast<u64>(row) * static_cast<u64>(n) + static_cast<u64>(column);
      if (c_vector) {
#pragma clang loop unroll(full)
        for (int j = 0; j + kWide <= kPiece; j += kWide)
          if (column + j < n) store_vector(context, cell + static_cast<u64>(j), &sums[i][p * kPiece + j]);
        continue;
      }
#pragma clang loop unroll(full)
      for (int j = 0; j < kPiece; j++)
        if (column + j < n) store(context, cell + static_cast<u64>(j), sums[i][p * kPiece + j]);
    }
  }
}

} // namespace
} // namespace mica::device

using namespace mica::device;

/// One function a cell type and tile; `kDepth` cells along k at once.
#define MICA_PRODUCT(T, name, kSide, kOwn, kDepth)                                                           \
  static MICA_SHARED T name##_##kSide##_tiles[4 * kDepth * (kSide + 16 / sizeof(T))]                         \
      __attribute__((aligned(16)));                                                                          \
  extern "C" void mica_product_##name##_##kSide(const T *a, const T *b, const void *context) {               \
    product<T, kSide, kOwn, kDepth>(a, b, context, name##_##kSide##_tiles, mica_hook_cell_##name,            \
                                    mica_hook_cells_##name);                                                 \
  }
#define MICA_HOOKS(T, name)                                                                                  \
  extern "C" void mica_hook_cell_##name(const void *context, u64 cell, T sum);                               \
  extern "C" void mica_hook_cells_##name(const void *context, u64 cell, const T *sums);

MICA_HOOKS(float, f32)
MICA_HOOKS(double, f64)
MICA_HOOKS(u32, i32)
MICA_HOOKS(u64, i64)
MICA_PRODUCT(float, f32, 128, 8, 16)
MICA_PRODUCT(float, f32, 64, 4, 16)
MICA_PRODUCT(float, f32, 32, 2, 32)
MICA_PRODUCT(double, f64, 64, 4, 16)
MICA_PRODUCT(double, f64, 32, 2, 16)
MICA_PRODUCT(u32, i32, 64, 4, 16)
MICA_PRODUCT(u64, i64, 32, 2, 16)
