// Attention on the card, for every generation: the processor's definition (ops.yaml, attention) with its sums
// in another order. A warp works on one row: forward and dQ a query's, dK and dV a key's. It takes the other
// side 32 rows at a time: each lane the score of one of them, then all lanes the columns. No memory grows
// with queries * keys; a row's numbers are added in the order of the other side's rows, so every run gives
// the same digits. Online softmax: M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax",
// 2018; the way back redraws the scores from each row's maximum and sum, as T. Dao and others,
// "FlashAttention", 2022.
#include "../math/exp.h"
#include "../math/random.h"
#include "card.h"

namespace mica::device {
namespace {

constexpr int kWarp = 32;
constexpr int kPieces = 8; ///< a lane's columns of a head: mica-codegen/card/limits.cc admits 256
constexpr u32 kAll = ~0u;

MICA_INLINE u32 shuffle(u32 x, int lane) {
  return __nvvm_shfl_sync_idx_i32(kAll, static_cast<int>(x), lane, kWarp - 1);
}
MICA_INLINE float from_lane(float x, int lane) {
  return __builtin_bit_cast(float, shuffle(__builtin_bit_cast(u32, x), lane));
}
MICA_INLINE double from_lane(double x, int lane) {
  u64 bits = __builtin_bit_cast(u64, x);
  u64 low = shuffle(static_cast<u32>(bits), lane), high = shuffle(static_cast<u32>(bits >> 32), lane);
  return __builtin_bit_cast(double, high << 32 | low);
}
/// Lane i with lane i xor step, until all have the same; the order is the same for every lane.
template <class T> MICA_INLINE T warp_sum(T x) {
  const int lane = static_cast<int>(thread() % kWarp);
#pragma clang loop unroll(full)
  for (int step = kWarp / 2; step; step /= 2) x += from_lane(x, lane ^ step);
  return x;
}
template <class T> MICA_INLINE T warp_greatest(T x) {
  const int lane = static_cast<int>(thread() % kWarp);
#pragma clang loop unroll(full)
  for (int step = kWarp / 2; step; step /= 2) {
    T other = from_lane(x, lane ^ step);
    x = other > x || other != other ? other : x;
  }
  return x;
}
MICA_INLINE float e_to(float x) {
  return static_cast<float>(mica::math::exp_for_f32(static_cast<double>(x)));
}
MICA_INLINE double e_to(double x) { return mica::math::exp_f64(x); }
MICA_INLINE float root(float x) { return __builtin_sqrtf(x); }
MICA_INLINE double root(double x) { return __builtin_sqrt(x); }

template <class T> constexpr T kLowest = -__builtin_inff();

/// What one call works on, as its routine's arguments say.
template <class T> struct Call {
  const T *q, *k, *v;
  i64 heads, queries, keys, width, row, y_row; ///< `row`: cells from one row of q, k and v to the next
  bool causal;
  double p;
  u64 key, counter;

  /// Keys that query i sees: the first of them.
  MICA_INLINE i64 sees(const Call &c, i64 i) {
    i64 n = c.causal ? i + 1 + c.keys - c.queries : c.keys;
    return n < 0 ? 0 : n > c.keys ? c.keys : n;
  }
  /// The factor of the pair: 0 where it is dropped, else 1 / (1 - p).
  MICA_INLINE T kept(const Call &c, i64 plane, i64 i, i64 j) {
    if (c.p == 0) return 1;
    u32 draw = mica::math::draw16(c.key, c.counter, static_cast<u32>(plane), static_cast<u64>(i),
                                  static_cast<u64>(j));
    return draw < mica::math::drop_threshold(c.p) ? T(0) : static_cast<T>(1 / (1 - c.p));
  }
};

constexpr int kWarps = 8;       ///< of a block: mica-codegen/card/device.h, kBlockThreads
constexpr int kTileBytes = 128; ///< of a row that a tile holds at once
constexpr int kTileWords = kWarps * kWarp * (kTileBytes / 4 + 2);
MICA_SHARED float tiles[kTileWords] __attribute__((aligned(8)));

/// Each lane's row of `rows` times `common`, for the first `count` lanes. The warp fetches the rows together,
/// a piece at a time, so that neighbours in memory are neighbours in the warp; rows of a tile lie so that no
/// two lanes meet in a bank.
template <class T> MICA_INLINE T dots(const T *common, const T *rows, i64 stride, int count, i64 width) {
  constexpr int kPiece = kTileBytes / static_cast<int>(sizeof(T)), kPitch = kPiece + 1;
  const int lane = static_cast<int>(thread() % kWarp);
  MICA_SHARED T *tile = reinterpret_cast<MICA_SHARED T *>(tiles) + thread() / kWarp * (kWarp * kPitch);
  T sum = 0;
  for (i64 from = 0; from < width; from += kPiece) {
    const int n = width - from < kPiece ? static_cast<int>(width - from) : kPiece;
    __nvvm_bar_warp_sync(kAll);
    // Of float64 two rows at once: a piece is half a warp wide.
    const int column = lane % kPiece, step = kWarp / kPiece;
    for (int r = lane / kPiece; r < count; r += step)
      if (column < n) tile[r * kPitch + column] = rows[r * stride + from + column];
    __nvvm_bar_warp_sync(kAll);
    T own = lane < n ? common[from + lane] : T(0);
    for (int i = 0; i < n; i++) sum += from_lane(own, i) * tile[lane * kPitch + i];
  }
  return sum;
}

/// Two rows that all lanes have in common.
template <class T> MICA_INLINE T dot(const T *a, const T *b, i64 width) {
  T sum = 0;
  for (i64 i = thread() % kWarp; i < width; i += kWarp) sum += a[i] * b[i];
  return warp_sum(sum);
}

/// The warp's row of `rows`: its plane (batch * heads + head) and number; false where there is none.
MICA_INLINE bool row_of_warp(i64 planes, i64 rows, i64 &plane, i64 &row) {
  i64 warp = static_cast<i64>(global_thread() / kWarp);
  if (warp >= planes * rows) return false;
  plane = warp / rows;
  row = warp % rows;
  return true;
}

template <class T> MICA_INLINE void forward(Call<T> c, T *y, T *stats, i64 batch) {
  i64 plane = 0, i = 0;
  if (!row_of_warp(batch * c.heads, c.queries, plane, i)) return;
  const int lane = static_cast<int>(thread() % kWarp);
  const i64 b = plane / c.heads, column = plane % c.heads * c.width;
  const T *q = c.q + (b * c.queries + i) * c.row + column;
  const T *keys = c.k + b * c.keys * c.row + column, *values = c.v + b * c.keys * c.row + column;
  const T scale = root(static_cast<T>(c.width));
  const i64 seen = Call<T>::sees(c, i);
  T greatest = kLowest<T>, total = 0, out[kPieces] = {};
  for (i64 first = 0; first < seen; first += kWarp) {
    const i64 j = first + lane;
    const int count = seen - first < kWarp ? static_cast<int>(seen - first) : kWarp;
    T product = dots(q, keys + first * c.row, c.row, count, c.width);
    T score = j < seen ? product / scale : kLowest<T>;
    T top = warp_greatest(score);
    top = top > greatest || top != top ? top : greatest;
    T base = top == kLowest<T> ? T(0) : top;
    T shrink = greatest == kLowest<T> ? T(0) : e_to(greatest - base);
    T e = j < seen ? e_to(score - base) : T(0);
    total = total * shrink + warp_sum(e);
    greatest = top;
    T weight = j < seen ? e * Call<T>::kept(c, plane, i, j) : T(0);
#pragma clang loop unroll(full)
    for (int piece = 0; piece < kPieces; piece++) out[piece] *= shrink;
    for (int other = 0; other < count; other++) {
      T w = from_lane(weight, other);
      const T *row = values + (first + other) * c.row;
#pragma clang loop unroll(full)
      for (int piece = 0; piece < kPieces; piece++)
        if (piece * kWarp + lane < c.width) out[piece] += w * row[piece * kWarp + lane];
    }
  }
  T *to = y + (b * c.queries + i) * c.y_row + column;
#pragma clang loop unroll(full)
  for (int piece = 0; piece < kPieces; piece++)
    if (piece * kWarp + lane < c.width) to[piece * kWarp + lane] = total == 0 ? T(0) : out[piece] / total;
  if (lane == 0 && stats) {
    stats[(plane * c.queries + i) * 2] = greatest == kLowest<T> ? T(0) : greatest;
    stats[(plane * c.queries + i) * 2 + 1] = total == 0 ? T(1) : total;
  }
}

/// The gradient of one pair's score, times 1 / scale, and its kept weight.
template <class T> struct Pair { T score_gradient, weight; };
template <class T>
MICA_INLINE Pair<T> pair(const Call<T> &c, i64 plane, i64 i, i64 j, T qk, T dyv, const T *stats, T delta,
                         T scale) {
  T e = e_to(qk / scale - stats[0]) / stats[1];
  T kept = Call<T>::kept(c, plane, i, j);
  return {e * (kept * dyv - delta) / scale, e * kept};
}

template <class T>
MICA_INLINE void queries(Call<T> c, const T *y, const T *stats, const T *dy, T *dq, i64 dq_row, i64 batch) {
  i64 plane = 0, i = 0;
  if (!row_of_warp(batch * c.heads, c.queries, plane, i)) return;
  const int lane = static_cast<int>(thread() % kWarp);
  const i64 b = plane / c.heads, column = plane % c.heads * c.width;
  const T *q = c.q + (b * c.queries + i) * c.row + column;
  const T *keys = c.k + b * c.keys * c.row + column, *values = c.v + b * c.keys * c.row + column;
  const i64 at = (b * c.queries + i) * c.y_row + column;
  const T scale = root(static_cast<T>(c.width)), delta = dot(dy + at, y + at, c.width);
  const i64 seen = Call<T>::sees(c, i);
  T out[kPieces] = {};
  for (i64 first = 0; first < seen; first += kWarp) {
    const i64 j = first + lane;
    const int count = seen - first < kWarp ? static_cast<int>(seen - first) : kWarp;
    T qk = dots(q, keys + first * c.row, c.row, count, c.width);
    T dyv = dots(dy + at, values + first * c.row, c.row, count, c.width);
    T ds = 0;
    if (j < seen)
      ds = pair(c, plane, i, j, qk, dyv, stats + (plane * c.queries + i) * 2, delta, scale).score_gradient;
    for (int other = 0; other < count; other++) {
      T w = from_lane(ds, other);
      const T *row = keys + (first + other) * c.row;
#pragma clang loop unroll(full)
      for (int piece = 0; piece < kPieces; piece++)
        if (piece * kWarp + lane < c.width) out[piece] += w * row[piece * kWarp + lane];
    }
  }
  T *to = dq + (b * c.queries + i) * dq_row + column;
#pragma clang loop unroll(full)
  for (int piece = 0; piece < kPieces; piece++)
    if (piece * kWarp + lane < c.width) to[piece * kWarp + lane] = out[piece];
}

template <class T>
MICA_INLINE void keys(Call<T> c, const T *y, const T *stats, const T *dy, T *dk, T *dv, i64 dk_row,
                      i64 batch) {
  i64 plane = 0, j = 0;
  if (!row_of_warp(batch * c.heads, c.keys, plane, j)) return;
  const int lane = static_cast<int>(thread() % kWarp);
  const i64 b = plane / c.heads, column = plane % c.heads * c.width;
  const T *k = c.k + (b * c.keys + j) * c.row + column, *v = c.v + (b * c.keys + j) * c.row + column;
  const T *all = c.q + b * c.queries * c.row + column;
  const i64 at = b * c.queries * c.y_row + column;
  const T scale = root(static_cast<T>(c.width));
  i64 begin = c.causal ? j - (c.keys - c.queries) : 0; // the first query that sees this key
  begin = begin < 0 ? 0 : begin;
  T out_k[kPieces] = {}, out_v[kPieces] = {};
  for (i64 first = begin; first < c.queries; first += kWarp) {
    const i64 i = first + lane;
    const int count = c.queries - first < kWarp ? static_cast<int>(c.queries - first) : kWarp;
    const T *rows_dy = dy + at + first * c.y_row;
    T qk = dots(k, all + first * c.row, c.row, count, c.width);
    T dyv = dots(v, rows_dy, c.y_row, count, c.width);
    T delta = 0;
    for (int other = 0; other < count; other++) {
      T one = dot(rows_dy + other * c.y_row, y + at + (first + other) * c.y_row, c.width);
      delta = lane == other ? one : delta;
    }
    Pair<T> own = {0, 0};
    if (i < c.queries) own = pair(c, plane, i, j, qk, dyv, stats + (plane * c.queries + i) * 2, delta, scale);
    for (int other = 0; other < count; other++) {
      T ds = from_lane(own.score_gradient, other), w = from_lane(own.weight, other);
      const T *row = all + (first + other) * c.row, *row_dy = dy + at + (first + other) * c.y_row;
#pragma clang loop unroll(full)
      for (int piece = 0; piece < kPieces; piece++)
        if (piece * kWarp + lane < c.width) {
          out_k[piece] += ds * row[piece * kWarp + lane];
          out_v[piece] += w * row_dy[piece * kWarp + lane];
        }
    }
  }
  const i64 to = (b * c.keys + j) * dk_row + column;
#pragma clang loop unroll(full)
  for (int piece = 0; piece < kPieces; piece++)
    if (piece * kWarp + lane < c.width) {
      dk[to + piece * kWarp + lane] = out_k[piece];
      dv[to + piece * kWarp + lane] = out_v[piece];
    }
}

} // namespace
} // namespace mica::device

using namespace mica::device;

#define MICA_ATTENTION(T, NAME)                                                                              \
  MICA_KERNEL mica_attention_##NAME(const T *q, const T *k, const T *v, T *y, T *stats, i64 batch,           \
                                    i64 heads, i64 queries_, i64 keys_, i64 width, i64 row, i64 y_row,       \
                                    i64 causal, double p, u64 key, u64 counter) {                            \
    forward<T>({q, k, v, heads, queries_, keys_, width, row, y_row, causal != 0, p, key, counter}, y, stats, \
               batch);                                                                                       \
  }                                                                                                          \
  MICA_KERNEL mica_attention_queries_##NAME(const T *q, const T *k, const T *v, const T *y, const T *stats,  \
                                            const T *dy, T *dq, i64 batch, i64 heads, i64 queries_,          \
                                            i64 keys_, i64 width, i64 row, i64 y_row, i64 causal, double p,  \
                                            u64 key, u64 counter) {                                          \
    queries<T>({q, k, v, heads, queries_, keys_, width, row, y_row, causal != 0, p, key, counter}, y, stats, \
               dy, dq, row, batch);                                                                          \
  }                                                                                                          \
  MICA_KERNEL mica_attention_keys_##NAME(const T *q, const T *k, const T *v, const T *y, const T *stats,     \
                                         const T *dy, T *dk, T *dv, i64 batch, i64 heads, i64 queries_,      \
                                         i64 keys_, i64 width, i64 row, i64 y_row, i64 causal, double p,     \
                                         u64 key, u64 counter) {                                             \
    keys<T>({q, k, v, heads, queries_, keys_, width, row, y_row, causal != 0, p, key, counter}, y, stats,    \
            dy, dk, dv, row, batch);                                                                         \
  }
MICA_ATTENTION(float, f32)
MICA_ATTENTION(double, f64)
