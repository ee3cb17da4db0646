// The attention on one instruction set: included once for AVX2 and once for AVX-512, with the same bits.
//
// The queries of a head go in panels of two vectors. What belongs to a panel lies turned over: scores,
// probabilities and their gradients as [key][query of the panel], so that a softmax runs down the keys with a
// query a lane, no sum crosses lanes, and both products that follow read it in place. A panel's memory is its
// width times the keys: nothing grows with queries times keys. After Dao and others, "FlashAttention", 2022,
// in that nothing of the score matrix is kept for the way back, which computes it again from the rows' maxima
// and sums; rows are whole here, so the bits are those of the lines in ir-spec/verbs.
//
// The includer defines MICA_ISA (a namespace), MICA_VECTOR_BYTES and MICA_TILE_ROWS.
#include "attention.h"

#include "../math/random.h"

#include "../math/exp.h"
#include "product_pack.h"
#include "sums.h"

#include <immintrin.h>
#include <string.h>

namespace mica::rt::MICA_ISA {
namespace {

#include "attention_tile.h"

inline float exp_of(float x) { return static_cast<float>(mica::math::exp_for_f32(static_cast<double>(x))); }
inline double exp_of(double x) { return mica::math::exp_f64(x); }

// One head, as its panels see it.
template <class T> struct Head {
  static constexpr int W = 2 * Vector<T>::lanes; // queries of a panel
  const struct mica_attention &call;
  i64 queries, keys, width;
  i64 shift; // query i sees the keys up to i + shift where the call is causal
  u32 plane;
  const T *q, *k, *v, *dy;
  T *y, *stats, *dq, *dk, *dv;
  T scale, factor; // 1 / sqrt(width); what a cell that is not dropped is scaled by
  u32 threshold;   // draws below are dropped

  Head(const struct mica_attention &c, i64 index)
      : call(c), queries(c.queries), keys(c.keys), width(c.width), shift(c.keys - c.queries),
        plane(static_cast<u32>(index)) {
    i64 batch = index / c.heads, column = index % c.heads * width;
    auto at = [&](const void *p, i64 rows, i64 row) {
      return p ? const_cast<T *>(static_cast<const T *>(p)) + batch * rows * row + column : nullptr;
    };
    q = at(c.q, queries, c.q_row);
    k = at(c.k, keys, c.k_row);
    v = at(c.v, keys, c.v_row);
    dy = at(c.dy, queries, c.y_row);
    y = at(c.y, queries, c.y_row);
    dq = at(c.dq, queries, c.dq_row);
    dk = at(c.dk, keys, c.dk_row);
    dv = at(c.dv, keys, c.dv_row);
    stats = c.stats ? static_cast<T *>(const_cast<void *>(c.stats)) + index * queries * 2 : nullptr;
    scale = static_cast<T>(1.0 / __builtin_sqrt(static_cast<double>(width)));
    factor = static_cast<T>(1.0 / (1.0 - c.p));
    threshold = mica::math::drop_threshold(c.p);
  }
  // How many keys query i sees.
  i64 seen(i64 i) const {
    if (!call.causal) return keys;
    i64 count = i + shift + 1;
    return count < 0 ? 0 : count < keys ? count : keys;
  }
  bool drops() const { return call.p != 0; }
};

// A panel of queries of one head. `count` of its queries exist; the others are repetitions that nobody reads.
template <class T> struct Panel {
  static constexpr int W = Head<T>::W;
  const Head<T> &head;
  i64 first, count;
  i64 keys;  // that any of its queries sees
  i64 whole; // that all of them see
  Panel(const Head<T> &h, i64 begin)
      : head(h), first(begin), count(h.queries - begin < W ? h.queries - begin : W),
        keys(h.seen(begin + count - 1)), whole(h.seen(begin)) {}
};

// The panel's rows, `row` cells apart, as [width][W].
template <class T> void turn_over(const Panel<T> &p, const T *rows, i64 row, T *out) {
  pack_panel<T, Panel<T>::W>(rows + p.first * row, row, 1, p.count, p.head.width, out);
}

// Draws of 16 keys from key 16 * block on, for the panel's queries: out[key][query].
template <class T> void draws_of(const Panel<T> &p, i64 block, u16 (&out)[16][Panel<T>::W]) {
  constexpr int W = Panel<T>::W;
  const struct mica_attention &c = p.head.call;
  u64 generator = mica::math::generator_key(c.draw_key, c.draw_counter);
  u32 last = static_cast<u32>(c.draw_counter), plane = p.head.plane;
  for (i64 i = p.first / 16 * 16; i < p.first + W; i += 16) {
    for (u32 b = 0; b < 4; b++) {
      u32 words[4][8];
      u32 column = static_cast<u32>(4 * block) + b, row = static_cast<u32>(i >> 1);
#pragma clang loop vectorize(enable)
      for (u32 a = 0; a < 8; a++) {
        mica::math::Philox f = mica::math::philox(generator, column, row + a, plane, last);
        for (int w = 0; w < 4; w++) words[w][a] = f.w[w];
      }
      for (int w = 0; w < 4; w++) { // word 2 s + q is column 2 b + 8 q + s
        u16 *to = out[2 * b + 8 * (static_cast<u32>(w) & 1) + (static_cast<u32>(w) >> 1)];
        if constexpr (W >= 16) {
          to += i - p.first;
          for (int a = 0; a < 8; a++) to[a] = static_cast<u16>(words[w][a]);
          for (int a = 0; a < 8; a++) to[a + 8] = static_cast<u16>(words[w][a] >> 16);
        } else { // half of 16 queries
          int shift = p.first % 16 ? 16 : 0;
          for (int a = 0; a < 8; a++) to[a] = static_cast<u16>(words[w][a] >> shift);
        }
      }
    }
  }
}

// Sets what the mask hides.
template <class T> void hide(const Panel<T> &p, T *x, T value) {
  constexpr int W = Panel<T>::W;
  for (i64 j = p.whole; j < p.keys; j++) {
    i64 hidden = j - p.head.shift - p.first; // queries before this one don't see key j
    T *row = x + j * W;
    for (int w = 0; w < W; w++) row[w] = w < hidden ? value : row[w];
  }
}

// Scores of the panel, scaled, -inf where the mask hides the key: s[key][query].
template <class T> void scores_of(const Panel<T> &p, const T *turned, T *s) {
  constexpr int W = Panel<T>::W;
  const Head<T> &h = p.head;
  multiply_rows<T>(p.keys, W, h.width, {h.k, h.call.k_row, 1}, turned, W, s, W);
  for (i64 t = 0; t < p.keys * W; t++) s[t] *= h.scale;
  hide<T>(p, s, -static_cast<T>(__builtin_inff()));
}

template <class T> struct CellsAt {
  const T *data;
  T operator()(i64 t) const { return data[t]; }
};

// Sums down the keys in the order of sums (numerics.md 4), one a query: at(key * W + query) gives a cell.
template <class T, class At> void sum_keys(i64 begin, i64 end, At at, T *out) {
  constexpr int W = Panel<T>::W;
  i64 keys = end - begin;
  if (keys > kSumBlock) {
    i64 span = kSumBlock; // of a cell of the highest level
    while (span * kSumBlock < keys) span *= kSumBlock;
    i64 count = (keys + span - 1) / span;
    T *partial = static_cast<T *>(allocate(count * W * static_cast<i64>(sizeof(T))));
    for (i64 n = 0; n < count; n++) {
      i64 from = begin + n * span, to = end - from < span ? end : from + span;
      sum_keys<T>(from, to, at, partial + n * W);
    }
    sum_keys<T>(0, count, CellsAt<T>{partial}, out);
    release(partial);
    return;
  }
  T lane[kSumLanes][W] = {};
  for (i64 j = begin; j < end; j++) {
    T *to = lane[(j - begin) % kSumLanes];
    for (int w = 0; w < W; w++) to[w] += at(j * W + w);
  }
  for (int half = kSumLanes / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; l++) {
      for (int w = 0; w < W; w++) lane[l][w] += lane[l + half][w];
    }
  }
  for (int w = 0; w < W; w++) out[w] = lane[0][w];
}

// What a softmax subtracts and divides by, a query a lane. A row without a score above -inf subtracts 0 and
// divides by 1, which gives zeros.
template <class T> struct Stats { T most[Panel<T>::W], sum[Panel<T>::W]; };

// The scores become e to the power of their distance from the row's greatest, and these are summed.
template <class T> void exponentials_of(const Panel<T> &p, T *s, const T *most) {
  constexpr int W = Panel<T>::W;
  for (i64 j = 0; j < p.keys; j++) {
    T *row = s + j * W;
#pragma clang loop vectorize(enable)
    for (int w = 0; w < W; w++) row[w] = exp_of(row[w] - most[w]);
  }
}

template <class T> void softmax_of(const Panel<T> &p, T *s, Stats<T> &stats) {
  constexpr int W = Panel<T>::W;
  const T lowest = -static_cast<T>(__builtin_inff());
  T most[W];
  for (int w = 0; w < W; w++) most[w] = lowest;
  for (i64 j = 0; j < p.keys; j++) {
    const T *row = s + j * W;
    for (int w = 0; w < W; w++) most[w] = row[w] > most[w] || row[w] != row[w] ? row[w] : most[w];
  }
  for (int w = 0; w < W; w++) stats.most[w] = most[w] == lowest ? T(0) : most[w];
  exponentials_of<T>(p, s, stats.most);
  sum_keys<T>(0, p.keys, CellsAt<T>{s}, stats.sum);
  for (int w = 0; w < W; w++) stats.sum[w] = stats.sum[w] == T(0) ? T(1) : stats.sum[w];
}

template <class T> void divide_keys(const Panel<T> &p, T *s, const T *sum) {
  constexpr int W = Panel<T>::W;
  T by[W];
  for (int w = 0; w < W; w++) by[w] = sum[w];
  for (i64 j = 0; j < p.keys; j++) {
    for (int w = 0; w < W; w++) s[j * W + w] /= by[w];
  }
  hide<T>(p, s, T(0)); // where the row is no number, too
}

// to := from with what is dropped zero and the rest scaled; `from` may be `to`. A second pair shares the
// draws.
template <class T> void drop(const Panel<T> &p, const T *from, T *to, const T *from2, T *to2) {
  constexpr int W = Panel<T>::W;
  const Head<T> &h = p.head;
  u16 draws[16][W];
  for (i64 j0 = 0; j0 < p.keys; j0 += 16) {
    draws_of<T>(p, j0 / 16, draws);
    i64 end = p.keys - j0 < 16 ? p.keys - j0 : 16;
    for (i64 j = 0; j < end; j++) {
      const T *x = from + (j0 + j) * W, *x2 = from2 ? from2 + (j0 + j) * W : nullptr;
      T *y = to + (j0 + j) * W, *y2 = to2 + (j0 + j) * W;
#pragma clang loop vectorize(assume_safety)
      for (int w = 0; w < W; w++) y[w] = draws[j][w] < h.threshold ? T(0) : x[w] * h.factor;
      if (!from2) continue;
#pragma clang loop vectorize(assume_safety)
      for (int w = 0; w < W; w++) y2[w] = draws[j][w] < h.threshold ? T(0) : x2[w] * h.factor;
    }
  }
}

template <class T> bool all_finite(const T *rows, i64 row, i64 begin, i64 end, i64 width) {
  for (i64 i = begin; i < end; i++) {
    u32 wrong = 0;
    for (i64 c = 0; c < width; c++) {
      T x = rows[i * row + c];
      wrong |= x - x == T(0) ? 0u : 1u;
    }
    if (wrong) return false;
  }
  return true;
}

// out[query][column] = sum over keys of x[key][query] * rows[key][column]: y and dq. A key that is no number
// must not reach the queries that don't see it, not even times zero: then each query takes its own keys.
template <class T>
void over_keys(const Panel<T> &p, const T *x, const T *rows, i64 row, T *out, i64 out_row) {
  constexpr int W = Panel<T>::W;
  i64 width = p.head.width;
  if (all_finite<T>(rows, row, p.whole, p.keys, width)) {
    multiply_rows<T>(p.count, width, p.keys, {x, 1, W}, rows, row, out + p.first * out_row, out_row);
    return;
  }
  for (i64 w = 0; w < p.count; w++) {
    i64 i = p.first + w;
    multiply_rows<T>(1, width, p.head.seen(i), {x + w, 1, W}, rows, row, out + i * out_row, out_row);
  }
}

// sums[key][column] carries on with x[key][query] * rows[query][column] over the panel's queries: dk and dv.
template <class T>
void over_queries(const Panel<T> &p, const T *x, const T *rows, i64 row, T *sums, i64 sums_row) {
  constexpr int W = Panel<T>::W;
  i64 width = p.head.width;
  const T *here = rows + p.first * row;
  if (p.whole == p.keys || all_finite<T>(here, row, 0, p.count, width)) {
    multiply_block<T>(p.keys, width, p.count, {x, W, 1}, here, row, sums, sums_row, Into::carry);
    return;
  }
  for (i64 j = 0; j < p.keys; j++) {
    i64 hidden = j - p.head.shift - p.first;
    i64 from = j < p.whole || hidden < 0 ? 0 : hidden;
    multiply_block<T>(1, width, p.count - from, {x + j * W + from, W, 1}, here + from * row, row,
                      sums + j * sums_row, sums_row, Into::carry);
  }
}

// A sum that stops early may keep a zero's sign where one that goes on over hidden zeros would not: no zero
// has a sign then.
template <class T> void unsign_zeros(T *x, i64 row, i64 begin, i64 end, i64 width) {
  for (i64 i = begin; i < end; i++) {
    for (i64 c = 0; c < width; c++) x[i * row + c] += T(0);
  }
}

template <class T> void forward(const Panel<T> &p, T *turned, T *s) {
  const Head<T> &h = p.head;
  Stats<T> stats;
  turn_over<T>(p, h.q, h.call.q_row, turned);
  scores_of<T>(p, turned, s);
  softmax_of<T>(p, s, stats);
  divide_keys<T>(p, s, stats.sum);
  if (h.drops()) drop<T>(p, s, s, nullptr, s);
  over_keys<T>(p, s, h.v, h.call.v_row, h.y, h.call.y_row);
  if (h.call.causal) unsign_zeros<T>(h.y, h.call.y_row, p.first, p.first + p.count, h.width);
  if (!h.stats) return;
  for (i64 w = 0; w < p.count; w++) {
    h.stats[2 * (p.first + w)] = stats.most[w];
    h.stats[2 * (p.first + w) + 1] = stats.sum[w];
  }
}

// Panels of all heads, a range of them.
template <class T> struct ForwardJob {
  const struct mica_attention &call;
  i64 panels; // of a head
  static void run(void *context, int64_t begin, int64_t end) {
    const ForwardJob &job = *static_cast<const ForwardJob *>(context);
    const struct mica_attention &c = job.call;
    constexpr int W = Panel<T>::W;
    T *turned = static_cast<T *>(scratch((c.width + c.keys) * W * static_cast<i64>(sizeof(T))));
    for (i64 item = begin; item < end; item++) {
      // A late panel of a causal head has more keys than an early one: they alternate, so that halves of a
      // head weigh alike.
      i64 n = item % job.panels, at = n % 2 ? job.panels - 1 - n / 2 : n / 2;
      Head<T> head(c, item / job.panels);
      forward<T>(Panel<T>(head, at * W), turned, turned + c.width * W);
    }
  }
};

template <class T> void forward_all(const struct mica_attention &call) {
  ForwardJob<T> job = {call, (call.queries + Panel<T>::W - 1) / Panel<T>::W};
  mica_parallel(ForwardJob<T>::run, &job, call.batch * call.heads * job.panels, 1);
}

// A thread's memory on the way back.
template <class T> struct Back {
  static constexpr int W = Panel<T>::W;
  T *turned;                // a panel's queries, then its dy
  T *probabilities;         // undropped
  T *slopes;                // of the probabilities, then of the scores
  T *dropped;               // probabilities
  T *key_sums, *value_sums; // of a block of 128 queries: [keys][width]
  static i64 cells(const struct mica_attention &c) {
    return c.width * W + 3 * c.keys * W + 2 * c.keys * c.width;
  }
  Back(const struct mica_attention &c, T *memory) {
    turned = memory;
    probabilities = turned + c.width * W;
    slopes = probabilities + c.keys * W;
    dropped = slopes + c.keys * W;
    key_sums = dropped + c.keys * W;
    value_sums = key_sums + c.keys * c.width;
  }
};

// The panel's dq, and what it adds to a block's sums for dk and dv.
template <class T>
void backward(const Panel<T> &p, const Back<T> &m, T *key_sums, i64 key_row, T *value_sums, i64 value_row) {
  constexpr int W = Panel<T>::W;
  const Head<T> &h = p.head;
  const struct mica_attention &c = h.call;
  Stats<T> stats;
  for (int w = 0; w < W; w++) {
    stats.most[w] = w < p.count ? h.stats[2 * (p.first + w)] : T(0);
    stats.sum[w] = w < p.count ? h.stats[2 * (p.first + w) + 1] : T(1);
  }
  turn_over<T>(p, h.q, c.q_row, m.turned);
  scores_of<T>(p, m.turned, m.probabilities);
  exponentials_of<T>(p, m.probabilities, stats.most);
  divide_keys<T>(p, m.probabilities, stats.sum);
  turn_over<T>(p, h.dy, c.y_row, m.turned);
  multiply_rows<T>(p.keys, W, h.width, {h.v, c.v_row, 1}, m.turned, W, m.slopes, W);
  const T *weights = m.probabilities;
  if (h.drops()) {
    drop<T>(p, m.probabilities, m.dropped, m.slopes, m.slopes);
    weights = m.dropped;
  }
  hide<T>(p, m.slopes, T(0)); // a value that is hidden may be no number
  over_queries<T>(p, weights, h.dy, c.y_row, value_sums, value_row);
  const T *y = m.probabilities;
  T *d = m.slopes;
  T sums[W];
  sum_keys<T>(
      0, p.keys, [y, d](i64 t) { return d[t] * y[t]; }, sums);
  for (i64 j = 0; j < p.keys; j++) {
    const T *y_row = y + j * W;
    T *d_row = d + j * W;
    for (int w = 0; w < W; w++) d_row[w] = y_row[w] * (d_row[w] - sums[w]) * h.scale;
  }
  hide<T>(p, d, T(0));
  over_keys<T>(p, d, h.k, c.k_row, h.dq, c.dq_row);
  if (c.causal) unsign_zeros<T>(h.dq, c.dq_row, p.first, p.first + p.count, h.width);
  over_queries<T>(p, d, h.q, c.q_row, key_sums, key_row);
}

template <class T> void zero_rows(T *x, i64 row, i64 rows, i64 width) {
  for (i64 i = 0; i < rows; i++) memset(x + i * row, 0, sizeof(T) * static_cast<size_t>(width));
}

// One head, all of it: the sums over queries go in blocks of 128, as in a product.
template <class T> void backward_head(const Head<T> &h, const Back<T> &m) {
  const struct mica_attention &c = h.call;
  bool one_block = h.queries <= kDepth;
  T *key_sums = one_block ? h.dk : m.key_sums, *value_sums = one_block ? h.dv : m.value_sums;
  i64 key_row = one_block ? c.dk_row : h.width, value_row = one_block ? c.dv_row : h.width;
  if (h.queries == 0) {
    zero_rows(h.dk, c.dk_row, h.keys, h.width);
    zero_rows(h.dv, c.dv_row, h.keys, h.width);
  }
  for (i64 block = 0; block < h.queries; block += kDepth) {
    zero_rows(key_sums, key_row, h.keys, h.width);
    zero_rows(value_sums, value_row, h.keys, h.width);
    i64 end = h.queries - block < kDepth ? h.queries : block + kDepth;
    for (i64 i = block; i < end; i += Panel<T>::W)
      backward<T>(Panel<T>(h, i), m, key_sums, key_row, value_sums, value_row);
    if (one_block) break;
    auto put = [&](T *to, i64 row, const T *from) {
      for (i64 j = 0; j < h.keys; j++) {
        for (i64 x = 0; x < h.width; x++)
          to[j * row + x] = block == 0 ? from[j * h.width + x] : to[j * row + x] + from[j * h.width + x];
      }
    };
    put(h.dk, c.dk_row, key_sums);
    put(h.dv, c.dv_row, value_sums);
  }
  if (!c.causal) return;
  unsign_zeros<T>(h.dk, c.dk_row, 0, h.keys, h.width);
  unsign_zeros<T>(h.dv, c.dv_row, 0, h.keys, h.width);
}

template <class T> void backward_heads(void *context, int64_t begin, int64_t end) {
  const struct mica_attention &c = *static_cast<const struct mica_attention *>(context);
  T *memory = static_cast<T *>(scratch(Back<T>::cells(c) * static_cast<i64>(sizeof(T))));
  for (i64 head = begin; head < end; head++) backward_head<T>(Head<T>(c, head), Back<T>(c, memory));
}

template <class T> void backward_all(const struct mica_attention &call) {
  struct mica_attention copy = call;
  mica_parallel(backward_heads<T>, &copy, call.batch * call.heads, 1);
}
} // namespace

extern const AttentionKernels kAttention;
const AttentionKernels kAttention = {forward_all<float>, forward_all<double>, backward_all<float>,
                                     backward_all<double>};

} // namespace mica::rt::MICA_ISA
