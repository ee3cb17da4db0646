// Operations over whole values: layout, products, reductions, rows.
#include "eval.h"

#include <cmath>
#include <limits>

namespace mica::eval {
using namespace spectra;

namespace {

bool is_half(Scalar s) { return s == Scalar::f16 || s == Scalar::bf16; }
Scalar working(Scalar s) { return is_half(s) ? Scalar::f32 : s; }

/// Sizes grouped into rows (all leading) and columns (the last).
struct Rows {
  explicit Rows(const Type *t)
      : rows(static_cast<size_t>(t->rows())), columns(static_cast<size_t>(t->columns())) {}
  size_t rows, columns;
};

/// Moves cells, floats or others alike.
template <class Move> void move_cells(const Type *type, const Datum &from, Datum &to, const Move &source) {
  size_t cells = static_cast<size_t>(type->cells());
  for (size_t k = 0; k < cells; ++k) {
    size_t s = source(k);
    if (type->is_float())
      to.f.push_back(from.f[s]);
    else
      to.i.push_back(from.i[s]);
  }
}

std::vector<size_t> strides_of(const std::vector<int64_t> &sizes) {
  std::vector<size_t> strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * static_cast<size_t>(sizes[d]);
  return strides;
}

void permuted(const Type *from, const Type *to, const std::vector<int64_t> &order, const Datum &x, Datum &y) {
  std::vector<size_t> strides = strides_of(from->sizes), out = strides_of(to->sizes);
  move_cells(to, x, y, [&](size_t k) {
    size_t at = 0;
    for (size_t d = 0; d < order.size(); ++d)
      at += k / out[d] % static_cast<size_t>(to->sizes[d]) * strides[static_cast<size_t>(order[d])];
    return at;
  });
}

void product(const Op &op, const Datum &a, const Datum &b, Datum &c) {
  std::vector<int64_t> as = op.arg(0)->type->sizes, bs = op.arg(1)->type->sizes;
  if (as.size() == 1) as.insert(as.begin(), 1);
  if (bs.size() == 1) bs.push_back(1);
  bool ta = op.flag(Attr::transpose_a), tb = op.flag(Attr::transpose_b);
  size_t ra = static_cast<size_t>(as[as.size() - 2]), ca = static_cast<size_t>(as.back());
  size_t rb = static_cast<size_t>(bs[bs.size() - 2]), cb = static_cast<size_t>(bs.back());
  size_t m = ta ? ca : ra, k = ta ? ra : ca, n = tb ? rb : cb, batches = 1;
  for (size_t d = 0; d + 2 < as.size(); ++d) batches *= static_cast<size_t>(as[d]);
  bool shared = bs.size() == 2;
  Scalar type = op.result()->type->scalar, w = working(type);
  for (size_t batch = 0; batch < batches; ++batch)
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j) {
        double total = 0;
        for (size_t block = 0; block < k; block += 128) {
          double sum = 0;
          for (size_t l = block; l < std::min(k, block + 128); ++l) {
            double x = a.f[batch * ra * ca + (ta ? l * ca + i : i * ca + l)];
            double y = b.f[(shared ? 0 : batch * rb * cb) + (tb ? j * cb + l : l * cb + j)];
            sum = w == Scalar::f64
                      ? std::fma(x, y, sum)
                      : static_cast<double>(
                            std::fmaf(static_cast<float>(x), static_cast<float>(y), static_cast<float>(sum)));
          }
          total = block ? round_to(w, total + sum) : sum;
        }
        c.f.push_back(round_to(type, total));
      }
}

size_t first_largest(size_t n, const std::function<double(size_t)> &at) {
  size_t best = 0;
  for (size_t k = 0; k < n; ++k) {
    if (std::isnan(at(k))) return k;
    if (at(k) > at(best)) best = k;
  }
  return best;
}

double norm(Scalar type, const std::vector<double> &x) {
  double largest = 0;
  for (double v : x) largest = std::fmax(largest, std::fabs(v));
  if (largest == 0 || !std::isfinite(largest)) return largest;
  double scale = type == Scalar::f64 ? std::exp2(-std::ilogb(largest)) : 1;
  double sum = ordered_sum(Scalar::f64, x.size(), [&](size_t k) { return x[k] * scale * (x[k] * scale); });
  return round_to(type, std::sqrt(sum) / scale);
}

/// The normalizations by their meaning: statistics of rows or columns (or given), then gamma and beta.
void normalized(const Op &op, const std::vector<const Datum *> &v, Datum &y) {
  Rows r(op.arg(0)->type);
  Scalar type = op.result()->type->scalar;
  const std::vector<double> &x = v[0]->f;
  const double eps = v.back()->f[0];
  const bool by_rows =
      op.code == OpCode::layer_norm || op.code == OpCode::layer_norm_scaled || op.code == OpCode::rms_norm;
  const bool has_beta = op.code != OpCode::rms_norm && op.code != OpCode::layer_norm_scaled;
  size_t groups = by_rows ? r.rows : r.columns, length = by_rows ? r.columns : r.rows;
  y.f.resize(x.size());
  for (size_t g = 0; g < groups; ++g) {
    auto place = [&](size_t k) { return by_rows ? g * r.columns + k : k * r.columns + g; };
    double mean = 0, variance = 0;
    if (op.code == OpCode::batch_norm_fixed) {
      mean = v[3]->f[g];
      variance = v[4]->f[g];
    } else {
      if (op.code != OpCode::rms_norm)
        mean = ordered_sum(type, length, [&](size_t k) { return x[place(k)]; }) / static_cast<double>(length);
      variance =
          ordered_sum(type, length, [&](size_t k) { return (x[place(k)] - mean) * (x[place(k)] - mean); }) /
          static_cast<double>(length);
    }
    for (size_t k = 0; k < length; ++k) {
      size_t column = by_rows ? k : g;
      double n = (x[place(k)] - mean) / std::sqrt(variance + eps) * v[1]->f[column];
      y.f[place(k)] = round_to(type, has_beta ? n + v[2]->f[column] : n);
    }
  }
}

void row_function(const Op &op, const Datum &x, Datum &y) {
  Rows r(op.arg(0)->type);
  Scalar type = op.result()->type->scalar, w = working(type);
  for (size_t row = 0; row < r.rows; ++row) {
    auto at = [&](size_t k) { return x.f[row * r.columns + k]; };
    if (r.columns == 0 && (op.code == OpCode::softmax || op.code == OpCode::log_softmax)) continue;
    switch (op.code) {
    case OpCode::row_sum: y.f.push_back(round_to(type, ordered_sum(type, r.columns, at))); break;
    case OpCode::row_mean:
      y.f.push_back(
          round_to(type, round_to(w, ordered_sum(type, r.columns, at) / static_cast<double>(r.columns))));
      break;
    case OpCode::row_max:
      y.f.push_back(r.columns ? at(first_largest(r.columns, at)) : -std::numeric_limits<double>::infinity());
      break;
    case OpCode::row_arg_max: y.i.push_back(static_cast<int64_t>(first_largest(r.columns, at))); break;
    case OpCode::softmax: {
      double top = at(first_largest(r.columns, at));
      std::vector<double> e;
      for (size_t k = 0; k < r.columns; ++k)
        e.push_back(top == -INFINITY ? 0 : round_to(w, std::exp(round_to(w, at(k) - top))));
      double sum = ordered_sum(w, r.columns, [&](size_t k) { return e[k]; });
      for (double v : e) y.f.push_back(round_to(type, sum == 0 ? 0 : round_to(w, v / sum)));
      break;
    }
    default: { // log_softmax
      double top = at(first_largest(r.columns, at));
      std::vector<double> d;
      for (size_t k = 0; k < r.columns; ++k) d.push_back(round_to(w, at(k) - top));
      double sum = ordered_sum(w, r.columns, [&](size_t k) { return round_to(w, std::exp(d[k])); });
      double log = round_to(w, std::log(sum));
      for (double v : d) y.f.push_back(round_to(type, round_to(w, v - log)));
    }
    }
  }
}

/// Sums the cells of x that broadcasting would have made from each cell of `to`.
void summed(const Type *from, const Type *to, const Datum &x, Datum &y) {
  size_t rank = from->sizes.size(), own = to->sizes.size();
  std::vector<size_t> strides = strides_of(from->sizes);
  std::vector<size_t> target(rank, 0);
  size_t stride = 1;
  for (size_t d = own; d-- > 0;) {
    if (to->sizes[d] != 1) target[rank - own + d] = stride;
    stride *= static_cast<size_t>(to->sizes[d]);
  }
  std::vector<std::vector<double>> terms(static_cast<size_t>(to->cells()));
  for (size_t k = 0; k < x.f.size(); ++k) {
    size_t at = 0;
    for (size_t d = 0; d < rank; ++d) at += k / strides[d] % static_cast<size_t>(from->sizes[d]) * target[d];
    terms[at].push_back(x.f[k]);
  }
  for (const std::vector<double> &t : terms)
    y.f.push_back(round_to(to->scalar, ordered_sum(to->scalar, t.size(), [&](size_t k) { return t[k]; })));
}

} // namespace

double ordered_sum(Scalar type, size_t n, const std::function<double(size_t)> &at) {
  Scalar w = working(type);
  if (n <= 1024) {
    double lanes[16] = {};
    for (size_t k = 0; k < n; ++k) lanes[k % 16] = round_to(w, lanes[k % 16] + at(k));
    for (size_t half = 8; half > 0; half /= 2)
      for (size_t l = 0; l < half; ++l) lanes[l] = round_to(w, lanes[l] + lanes[l + half]);
    return lanes[0];
  }
  std::vector<double> sums;
  for (size_t first = 0; first < n; first += 1024)
    sums.push_back(
        ordered_sum(w, std::min<size_t>(1024, n - first), [&](size_t k) { return at(first + k); }));
  return ordered_sum(w, sums.size(), [&](size_t k) { return sums[k]; });
}

bool whole_operation(const Op &op, const std::vector<const Datum *> &operands, Datum &y,
                     std::string &failure) {
  if (op.results.size() != 1 || op.operands.empty()) return false;
  const Type *to = op.result()->type, *from = op.arg(0)->type;
  const Datum &x = *operands[0];
  auto number = [&](int operand, int64_t limit) {
    int64_t v = operands[static_cast<size_t>(operand)]->i[0];
    if (v < 0 || v >= limit)
      failure = "index " + std::to_string(v) + " is outside 0.." + std::to_string(limit - 1);
    return static_cast<size_t>(failure.empty() ? v : 0);
  };
  switch (op.code) {
  case OpCode::reshape: y = x; return true;
  case OpCode::transpose: {
    std::vector<int64_t> order;
    for (size_t d = 0; d < from->sizes.size(); ++d) order.push_back(static_cast<int64_t>(d));
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    permuted(from, to, order, x, y);
    return true;
  }
  case OpCode::permute: permuted(from, to, *op.integers(Attr::order), x, y); return true;
  case OpCode::concat: {
    for (size_t row = 0; row < static_cast<size_t>(to->rows()); ++row)
      for (size_t o = 0; o < operands.size(); ++o) {
        size_t width = static_cast<size_t>(op.arg(static_cast<int>(o))->type->columns());
        for (size_t k = 0; k < width; ++k)
          if (to->is_float())
            y.f.push_back(operands[o]->f[row * width + k]);
          else
            y.i.push_back(operands[o]->i[row * width + k]);
      }
    return true;
  }
  case OpCode::slice: {
    size_t count = static_cast<size_t>(op.integer(Attr::count)), wide = static_cast<size_t>(from->columns());
    size_t first = number(1, from->columns() - op.integer(Attr::count) + 1);
    if (count) move_cells(to, x, y, [&](size_t k) { return k / count * wide + first + k % count; });
    return true;
  }
  case OpCode::slice_rows:
  case OpCode::row: {
    int64_t count = op.code == OpCode::row ? 1 : op.integer(Attr::count);
    size_t first = number(1, from->sizes[0] - count + 1);
    size_t below = from->sizes[0] ? static_cast<size_t>(from->cells() / from->sizes[0]) : 0;
    move_cells(to, x, y, [&](size_t k) { return first * below + k; });
    return true;
  }
  case OpCode::cell: {
    size_t at = 0;
    for (size_t d = 0; d < from->sizes.size(); ++d)
      at = at * static_cast<size_t>(from->sizes[d]) + number(static_cast<int>(d) + 1, from->sizes[d]);
    move_cells(to, x, y, [&](size_t) { return at; });
    return true;
  }
  case OpCode::put: {
    y.f.assign(static_cast<size_t>(to->cells()), 0);
    bool rows = op.flag(Attr::rows);
    int64_t have = rows ? from->sizes[0] : from->columns(), room = rows ? to->sizes[0] : to->columns();
    size_t first = number(1, room - have + 1);
    for (size_t k = 0; k < x.f.size(); ++k) {
      size_t h = static_cast<size_t>(have), w = static_cast<size_t>(room);
      y.f[rows ? first * (x.f.size() / h) + k : k / h * w + first + k % h] = x.f[k];
    }
    return true;
  }
  case OpCode::product: product(op, x, *operands[1], y); return true;
  case OpCode::gather: {
    size_t width = static_cast<size_t>(from->columns());
    for (int64_t id : operands[1]->i) {
      if (id < 0 || id >= from->sizes[0]) {
        failure = "row " + std::to_string(id) + " is outside the table";
        return true;
      }
      for (size_t k = 0; k < width; ++k) y.f.push_back(x.f[static_cast<size_t>(id) * width + k]);
    }
    return true;
  }
  case OpCode::scatter_rows: {
    size_t width = static_cast<size_t>(to->columns());
    const std::vector<int64_t> &ids = operands[1]->i;
    for (int64_t row = 0; row < to->sizes[0]; ++row)
      for (size_t k = 0; k < width; ++k) {
        std::vector<double> terms;
        for (size_t n = 0; n < ids.size(); ++n)
          if (ids[n] == row) terms.push_back(x.f[n * width + k]);
        y.f.push_back(
            round_to(to->scalar, ordered_sum(to->scalar, terms.size(), [&](size_t t) { return terms[t]; })));
      }
    return true;
  }
  case OpCode::row_pick: {
    size_t width = static_cast<size_t>(from->columns());
    for (size_t row = 0; row < operands[1]->i.size(); ++row) {
      int64_t id = operands[1]->i[row];
      if (id < -1 || id >= from->columns()) failure = "row_pick outside the row";
      y.f.push_back(id < 0 || !failure.empty() ? 0 : x.f[row * width + static_cast<size_t>(id)]);
    }
    return true;
  }
  case OpCode::row_put: {
    size_t width = static_cast<size_t>(to->columns());
    y.f.assign(static_cast<size_t>(to->cells()), 0);
    for (size_t row = 0; row < operands[1]->i.size(); ++row)
      if (operands[1]->i[row] >= 0) y.f[row * width + static_cast<size_t>(operands[1]->i[row])] = x.f[row];
    return true;
  }
  case OpCode::sum:
  case OpCode::mean: {
    double sum = ordered_sum(from->scalar, x.f.size(), [&](size_t k) { return x.f[k]; });
    if (op.code == OpCode::mean) sum = round_to(working(from->scalar), sum / static_cast<double>(x.f.size()));
    y.f.push_back(round_to(to->scalar, sum));
    return true;
  }
  case OpCode::max:
    y.f.push_back(x.f[first_largest(x.f.size(), [&](size_t k) { return x.f[k]; })]);
    return true;
  case OpCode::min:
    y.f.push_back(x.f[first_largest(x.f.size(), [&](size_t k) { return -x.f[k]; })]);
    return true;
  case OpCode::arg_max:
    y.i.push_back(static_cast<int64_t>(first_largest(x.f.size(), [&](size_t k) { return x.f[k]; })));
    return true;
  case OpCode::norm: y.f.push_back(norm(from->scalar, x.f)); return true;
  case OpCode::count_from_zero: {
    int64_t n = 0;
    for (int64_t v : x.i) n += v >= 0;
    y.f.push_back(static_cast<double>(n));
    return true;
  }
  case OpCode::sum_to:
  case OpCode::column_sum: summed(from, to, x, y); return true;
  case OpCode::column_mean:
    summed(from, to, x, y);
    for (double &v : y.f) v = round_to(to->scalar, v / static_cast<double>(from->rows()));
    return true;
  case OpCode::row_sum:
  case OpCode::row_mean:
  case OpCode::row_max:
  case OpCode::row_arg_max:
  case OpCode::softmax:
  case OpCode::log_softmax: row_function(op, x, y); return true;
  case OpCode::layer_norm:
  case OpCode::layer_norm_scaled:
  case OpCode::rms_norm:
  case OpCode::batch_norm:
  case OpCode::batch_norm_fixed: normalized(op, operands, y); return true;
  case OpCode::cross_entropy:
  case OpCode::cross_entropy_sum: {
    size_t width = static_cast<size_t>(from->columns());
    int64_t classes = op.integer(Attr::classes, from->columns());
    double total = 0, counted = 0;
    for (size_t row = 0; row < operands[1]->i.size(); ++row) {
      int64_t id = operands[1]->i[row];
      if (id < -1 || id >= classes)
        failure = "class " + std::to_string(id) + " in row " + std::to_string(row) + " is outside 0.." +
                  std::to_string(classes - 1);
      if (id < 0 || !failure.empty()) continue;
      double top = -INFINITY, sum = 0;
      for (size_t k = 0; k < static_cast<size_t>(classes); ++k) top = std::fmax(top, x.f[row * width + k]);
      for (size_t k = 0; k < static_cast<size_t>(classes); ++k) sum += std::exp(x.f[row * width + k] - top);
      total -= x.f[row * width + static_cast<size_t>(id)] - top - std::log(sum);
      counted += 1;
    }
    y.f.push_back(
        round_to(to->scalar, op.code == OpCode::cross_entropy ? total / std::fmax(counted, 1) : total));
    return true;
  }
  default: return false;
  }
}

} // namespace mica::eval
