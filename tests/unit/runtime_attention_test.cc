// Attention: the bits of its lines (docs/language.md), written out here over whole score
// matrices, for every shape, type, clone and number of threads.
#include "../../libmicart/host/product.h"
#include "runtime_program.h"

#include <cmath>
#include <limits>
#include <random>

using namespace mica::rt;

extern "C" {
float mica_exp_f32(float);
double mica_exp_f64(double);
}

namespace {
float exponential(float x) { return mica_exp_f32(x); }
double exponential(double x) { return mica_exp_f64(x); }
float sum_of(const float *x, int64_t n) { return mica_sum_f32(x, n); }
double sum_of(const double *x, int64_t n) { return mica_sum_f64(x, n); }

std::mt19937 generator(7);
template <class T> std::vector<T> numbers(int64_t count) {
  std::vector<T> x(static_cast<size_t>(count));
  for (T &v : x) v = static_cast<T>(static_cast<double>(generator()) / 1073741824.0 - 2);
  return x;
}

struct Shape {
  int64_t batch, heads, queries, keys, width;
  bool causal, packed;
  double p;
};

// Operands and results side by side as a program has them: packed is [batch, rows, 3 * columns].
template <class T> struct Problem {
  Shape s;
  int64_t columns, cells_q, cells_k;
  std::vector<T> q, k, v, dy, y, stats, dq, dk, dv;
  explicit Problem(const Shape &shape)
      : s(shape), columns(s.heads * s.width), cells_q(s.batch * s.queries * columns),
        cells_k(s.batch * s.keys * columns) {
    q = numbers<T>(s.packed ? 3 * cells_q : cells_q);
    if (!s.packed) k = numbers<T>(cells_k), v = numbers<T>(cells_k);
    dy = numbers<T>(cells_q);
  }
  struct mica_attention call() {
    struct mica_attention c = {};
    const T none = T(77);
    y.assign(dy.size(), none);
    stats.assign(static_cast<size_t>(2 * s.batch * s.heads * s.queries), none);
    dq.assign(q.size(), none);
    dk.assign(k.size(), none);
    dv.assign(v.size(), none);
    int64_t row = s.packed ? 3 * columns : columns;
    c.q = q.data();
    c.k = s.packed ? q.data() + columns : k.data();
    c.v = s.packed ? q.data() + 2 * columns : v.data();
    c.dq = dq.data();
    c.dk = s.packed ? dq.data() + columns : dk.data();
    c.dv = s.packed ? dq.data() + 2 * columns : dv.data();
    c.y = y.data();
    c.dy = dy.data();
    c.stats = stats.data();
    c.batch = s.batch;
    c.heads = s.heads;
    c.queries = s.queries;
    c.keys = s.keys;
    c.width = s.width;
    c.q_row = c.k_row = c.v_row = c.dq_row = c.dk_row = c.dv_row = row;
    c.y_row = columns;
    c.p = s.p;
    c.draw_key = 42;
    c.draw_counter = 5;
    c.type = type_of<T>();
    c.causal = s.causal;
    return c;
  }
};

template <class T>
std::vector<T> product(int64_t m, int64_t n, int64_t k, const std::vector<T> &a, bool ta,
                       const std::vector<T> &b, bool tb) {
  std::vector<T> c(static_cast<size_t>(m * n));
  struct mica_product p = {};
  p.a = a.data();
  p.b = b.data();
  p.c = c.data();
  p.m = m;
  p.n = n;
  p.k = k;
  p.lda = ta ? m : k;
  p.ldb = tb ? k : n;
  p.ldc = n;
  p.batch0 = p.batch1 = 1;
  p.type_a = p.type_b = p.type_c = type_of<T>();
  p.transpose_a = ta;
  p.transpose_b = tb;
  mica_multiply(&p);
  return c;
}

// A head's rows out of the columns, and back into them.
template <class T>
std::vector<T> take(const void *from, int64_t row, int64_t rows, int64_t width, int64_t at) {
  std::vector<T> out;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t c = 0; c < width; c++) out.push_back(static_cast<const T *>(from)[at + i * row + c]);
  return out;
}
template <class T>
void put(void *to, int64_t row, int64_t rows, int64_t width, int64_t at, const std::vector<T> &x) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t c = 0; c < width; c++)
      static_cast<T *>(to)[at + i * row + c] = x[static_cast<size_t>(i * width + c)];
}

// The lines, one head after the other.
template <class T> void lines(const struct mica_attention &c) {
  const T lowest = -std::numeric_limits<T>::infinity();
  T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(c.width)));
  T factor = static_cast<T>(1 / (1 - c.p));
  int64_t m = c.queries, n = c.keys, w = c.width;
  for (int64_t head = 0; head < c.batch * c.heads; head++) {
    int64_t batch = head / c.heads, column = head % c.heads * w;
    auto at = [&](int64_t rows, int64_t row) { return batch * rows * row + column; };
    auto q = take<T>(c.q, c.q_row, m, w, at(m, c.q_row)), k = take<T>(c.k, c.k_row, n, w, at(n, c.k_row));
    auto v = take<T>(c.v, c.v_row, n, w, at(n, c.v_row)), dy = take<T>(c.dy, c.y_row, m, w, at(m, c.y_row));
    auto seen = [&](int64_t i, int64_t j) { return !c.causal || j <= i + n - m; };
    auto s = product(m, n, w, q, false, k, true);
    std::vector<uint16_t> draws(static_cast<size_t>(m * n));
    uint32_t threshold = static_cast<uint32_t>(std::floor(c.p * 65536 + 0.5));
    if (c.p != 0) mica_draw16(draws.data(), 0, m, n, static_cast<uint32_t>(head), c.draw_key, c.draw_counter);
    auto drop = [&](std::vector<T> &x) {
      if (c.p == 0) return;
      for (size_t t = 0; t < x.size(); t++) x[t] = draws[t] < threshold ? T(0) : x[t] * factor;
    };
    for (int64_t i = 0; i < m; i++) {
      T *row = s.data() + i * n;
      T most = lowest;
      for (int64_t j = 0; j < n; j++) {
        row[j] = seen(i, j) ? row[j] * scale : lowest;
        most = std::isnan(row[j]) || row[j] > most ? row[j] : most;
      }
      if (most == lowest) most = 0;
      for (int64_t j = 0; j < n; j++) row[j] = exponential(row[j] - most);
      T sum = sum_of(row, n);
      if (sum == 0) sum = 1;
      for (int64_t j = 0; j < n; j++) row[j] /= sum;
    }
    auto dropped = s;
    drop(dropped);
    auto y = product(m, w, n, dropped, false, v, false);
    auto dv = product(n, w, m, dropped, true, dy, false);
    auto ds = product(m, n, w, dy, false, v, true);
    drop(ds);
    for (int64_t i = 0; i < m; i++) {
      T *row = ds.data() + i * n;
      const T *p = s.data() + i * n;
      std::vector<T> terms;
      for (int64_t j = 0; j < n; j++) terms.push_back(row[j] * p[j]);
      T sum = sum_of(terms.data(), n);
      for (int64_t j = 0; j < n; j++) row[j] = (seen(i, j) ? p[j] * (row[j] - sum) : T(0)) * scale;
    }
    put<T>(c.y, c.y_row, m, w, at(m, c.y_row), y);
    put<T>(c.dq, c.dq_row, m, w, at(m, c.dq_row), product(m, w, n, ds, false, k, false));
    put<T>(c.dk, c.dk_row, n, w, at(n, c.dk_row), product(n, w, m, ds, true, q, false));
    put<T>(c.dv, c.dv_row, n, w, at(n, c.dv_row), dv);
  }
}

// Bits, but for the sign of a zero (a sum may stop where only hidden zeros follow) and of a NaN.
template <class T> bool same(T a, T b) { return a == b || (std::isnan(a) && std::isnan(b)); }
template <class T> void compare(const char *what, const std::vector<T> &got, const std::vector<T> &want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t t = 0; t < got.size(); t++)
    ASSERT_TRUE(same(got[t], want[t])) << what << ' ' << t << ": " << got[t] << ", not " << want[t];
}

template <class T> void check(const Shape &s) {
  SCOPED_TRACE(testing::Message() << "batch " << s.batch << " heads " << s.heads << " queries " << s.queries
                                  << " keys " << s.keys << " width " << s.width << " causal " << s.causal
                                  << " packed " << s.packed << " p " << s.p << " bytes " << sizeof(T));
  Problem<T> want(s);
  struct mica_attention reference = want.call();
  lines<T>(reference);
  for (int width : {256, 512}) {
    if (width == 512 && !has_avx512()) continue;
    forced_width = width;
    Problem<T> got = want;
    struct mica_attention c = got.call();
    mica_attention(&c);
    mica_attention_gradient(&c);
    std::vector<T> y = got.y;
    c.stats = nullptr; // not wanted: the same answer
    mica_attention(&c);
    forced_width = 0;
    compare("y", y, want.y);
    compare("y alone", got.y, want.y);
    compare("dq", got.dq, want.dq);
    compare("dk", got.dk, want.dk);
    compare("dv", got.dv, want.dv);
  }
}

void check_both(const Shape &s) {
  check<float>(s);
  check<double>(s);
}

TEST(RuntimeAttention, Shapes) {
  for (bool causal : {false, true})
    for (double p : {0.0, 0.1}) {
      check_both({1, 1, 1, 1, 1, causal, true, p});
      check_both({2, 3, 5, 5, 8, causal, true, p});
      check_both({2, 4, 64, 64, 32, causal, true, p});
      check_both({1, 2, 70, 70, 20, causal, true, p});
      check_both({1, 3, 200, 200, 24, causal, true, p});
      check_both({2, 2, 33, 33, 64, causal, false, p});
      check_both({1, 1, 7, 300, 40, causal, false, p});
      check_both({1, 1, 300, 7, 16, causal, false, p});
      check_both({1, 2, 1, 50, 48, causal, false, p});
      check_both({1, 1, 20, 1, 136, causal, false, p});
      check_both({1, 1, 140, 140, 260, causal, false, p});
    }
}

TEST(RuntimeAttention, LongRows) {
  check<float>({1, 1, 40, 1100, 16, false, false, 0});
  check<double>({1, 1, 40, 2100, 8, true, false, 0.2});
  check<float>({1, 1, 1200, 1200, 8, true, true, 0});
}

TEST(RuntimeAttention, RandomShapes) {
  for (int n = 0; n < 60; n++) {
    auto upto = [](int64_t most) {
      return static_cast<int64_t>(generator() % static_cast<uint64_t>(most)) + 1;
    };
    bool packed = generator() % 2;
    int64_t queries = upto(150), keys = packed ? queries : upto(150);
    check_both({upto(3), upto(3), queries, keys, upto(40), generator() % 2 != 0, packed,
                generator() % 2 ? 0.25 : 0.0});
  }
}

TEST(RuntimeAttention, NothingAndEverythingDropped) {
  check_both({1, 2, 17, 17, 8, true, true, 1.0});
  check_both({0, 2, 17, 17, 8, true, true, 0.0});
  check_both({1, 2, 0, 9, 8, true, false, 0.0});
  check_both({1, 2, 9, 0, 8, true, false, 0.0});
}

// Keys and values that are no numbers reach the queries that see them and no other, whatever the panel.
TEST(RuntimeAttention, HiddenNumbersStayHidden) {
  for (int width : {256, 512}) {
    if (width == 512 && !has_avx512()) continue;
    forced_width = width;
    Problem<float> clean({1, 1, 50, 50, 8, true, false, 0});
    const int64_t bad = 20;
    Problem<float> spoilt = clean;
    for (int64_t c = 0; c < 8; c++) {
      spoilt.k[static_cast<size_t>(bad * 8 + c)] = NAN;
      spoilt.v[static_cast<size_t>(bad * 8 + c)] = INFINITY;
    }
    for (Problem<float> *p : {&clean, &spoilt}) {
      // The rows that see it are no numbers and give nothing back.
      for (int64_t t = bad * 8; t < 50 * 8; t++) p->dy[static_cast<size_t>(t)] = 0;
      struct mica_attention c = p->call();
      mica_attention(&c);
      mica_attention_gradient(&c);
    }
    forced_width = 0;
    for (int64_t t = 0; t < 50 * 8; t++) {
      size_t at = static_cast<size_t>(t);
      if (t < bad * 8) {
        EXPECT_EQ(clean.y[at], spoilt.y[at]);
        EXPECT_EQ(clean.dq[at], spoilt.dq[at]);
      } else {
        EXPECT_TRUE(std::isnan(spoilt.y[at]));
      }
    }
  }
}

TEST(RuntimeAttention, QueriesThatSeeNothingGiveZeros) {
  Problem<double> p({1, 1, 10, 4, 3, true, false, 0});
  struct mica_attention c = p.call();
  mica_attention(&c);
  mica_attention_gradient(&c);
  for (size_t t = 0; t < 6 * 3; t++) {
    EXPECT_EQ(p.y[t], 0);
    EXPECT_EQ(p.dq[t], 0);
  }
  EXPECT_NE(p.y[6 * 3], 0);
}

// Within a body every call runs on one thread.
TEST(RuntimeAttention, ThreadsChangeNoBit) {
  for (bool causal : {false, true})
    for (int64_t heads : {1, 3}) {
      Problem<float> many({1, heads, 150, 150, 16, causal, true, 0.1});
      Problem<float> one = many;
      auto both = [](void *problem, int64_t, int64_t) {
        struct mica_attention c = static_cast<Problem<float> *>(problem)->call();
        mica_attention(&c);
        mica_attention_gradient(&c);
      };
      both(&many, 0, 1);
      struct Alone {
        void (*run)(void *, int64_t, int64_t);
        void *problem;
      } alone = {both, &one};
      mica_parallel(
          [](void *context, int64_t begin, int64_t end) {
            Alone &a = *static_cast<Alone *>(context);
            if (begin == 0) a.run(a.problem, begin, end);
          },
          &alone, 2, 1);
      EXPECT_EQ(memcmp(many.y.data(), one.y.data(), many.y.size() * sizeof(float)), 0);
      EXPECT_EQ(memcmp(many.stats.data(), one.stats.data(), many.stats.size() * sizeof(float)), 0);
      EXPECT_EQ(memcmp(many.dq.data(), one.dq.data(), many.dq.size() * sizeof(float)), 0);
    }
}
} // namespace
