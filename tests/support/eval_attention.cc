// Attention and its gradient, head by head over whole score matrices, in the order of docs/numerics. What
// drops (a probability, a draw) is held by the runtime's own units.
#include "eval.h"

#include <cmath>

namespace mica::eval {
using namespace spectra;

namespace {

/// Cells of one head's rows: at(i, c).
struct Rows {
  size_t rows, width, stride, first;
  double &at(std::vector<double> &cells, size_t i, size_t c) const { return cells[first + i * stride + c]; }
  double at(const std::vector<double> &cells, size_t i, size_t c) const {
    return cells[first + i * stride + c];
  }
};

struct Attention {
  const Op &op;
  const std::vector<const Datum *> &operands;
  size_t first; ///< the operand that is q
  bool packed;
  Scalar type;
  size_t batch = 1, heads, columns, width;

  Attention(const Op &o, const std::vector<const Datum *> &d, size_t from)
      : op(o), operands(d), first(from), packed(o.operands.size() - from == 1) {
    const Type *q = op.operands[first]->type;
    type = q->scalar;
    heads = static_cast<size_t>(op.integer(Attr::heads));
    columns = static_cast<size_t>(q->columns()) / (packed ? 3 : 1);
    width = columns / heads;
    for (size_t d2 = 0; d2 + 2 < q->sizes.size(); ++d2) batch *= static_cast<size_t>(q->sizes[d2]);
  }
  size_t rows_of(size_t part) const { // 0: q, 1: k, 2: v
    const std::vector<int64_t> &sizes = op.operands[first + (packed ? 0 : part)]->type->sizes;
    return static_cast<size_t>(sizes[sizes.size() - 2]);
  }
  const std::vector<double> &cells(size_t part) const { return operands[first + (packed ? 0 : part)]->f; }
  Rows part(size_t index, size_t which) const {
    size_t stride = packed ? 3 * columns : columns, rows = rows_of(which);
    return {rows, width, stride,
            index / heads * rows * stride + (packed ? which * columns : 0) + index % heads * width};
  }
  Rows answer(size_t index) const {
    size_t rows = rows_of(0);
    return {rows, width, columns, index / heads * rows * columns + index % heads * width};
  }
  bool seen(size_t i, size_t j) const { return !op.flag(Attr::causal) || j + rows_of(0) <= i + rows_of(1); }
  double round(double x) const { return round_to(type, x); }
  double sum(size_t n, const std::function<double(size_t)> &at) const { return ordered_sum(type, n, at); }
  double product(size_t n, const std::function<double(size_t)> &a,
                 const std::function<double(size_t)> &b) const {
    double total = 0;
    for (size_t block = 0; block < n; block += 128) {
      double part = 0;
      for (size_t k = block; k < std::min(n, block + 128); ++k)
        part = type == Scalar::f64
                   ? std::fma(a(k), b(k), part)
                   : static_cast<double>(std::fmaf(static_cast<float>(a(k)), static_cast<float>(b(k)),
                                                   static_cast<float>(part)));
      total = block ? round(total + part) : part;
    }
    return total;
  }
  double scale() const { return round(1 / std::sqrt(static_cast<double>(width))); }

  /// [queries][keys], and what each row subtracted and divided by.
  std::vector<std::vector<double>> probabilities(size_t index, std::vector<double> &numbers) const {
    Rows q = part(index, 0), k = part(index, 1);
    std::vector<std::vector<double>> p(q.rows, std::vector<double>(k.rows, 0));
    for (size_t i = 0; i < q.rows; ++i) {
      double most = -INFINITY;
      for (size_t j = 0; j < k.rows; ++j) {
        double s = product(
            width, [&](size_t c) { return q.at(cells(0), i, c); },
            [&](size_t c) { return k.at(cells(1), j, c); });
        p[i][j] = seen(i, j) ? round(s * scale()) : -INFINITY;
        most = std::isnan(p[i][j]) || p[i][j] > most ? p[i][j] : most;
      }
      if (most == -INFINITY) most = 0;
      for (double &x : p[i]) x = round(std::exp(round(x - most)));
      double total = sum(k.rows, [&](size_t j) { return p[i][j]; });
      if (total == 0) total = 1;
      for (double &x : p[i]) x = round(x / total);
      numbers.push_back(most);
      numbers.push_back(total);
    }
    return p;
  }
};

void forward(const Attention &a, Datum &y, Datum &numbers) {
  y.f.assign(static_cast<size_t>(a.op.results[0]->type->cells()), 0);
  for (size_t index = 0; index < a.batch * a.heads; ++index) {
    auto p = a.probabilities(index, numbers.f);
    Rows v = a.part(index, 2), out = a.answer(index);
    for (size_t i = 0; i < out.rows; ++i)
      for (size_t c = 0; c < a.width; ++c)
        out.at(y.f, i, c) = a.product(
            v.rows, [&](size_t j) { return p[i][j]; }, [&](size_t j) { return v.at(a.cells(2), j, c); });
  }
}

void backward(const Attention &a, std::vector<Datum> &results) {
  for (size_t r = 0; r < results.size(); ++r)
    results[r].f.assign(static_cast<size_t>(a.op.results[r]->type->cells()), 0);
  auto gradient = [&](size_t part) -> std::vector<double> & { return results[a.packed ? 0 : part].f; };
  const std::vector<double> &dy = a.operands[0]->f;
  for (size_t index = 0; index < a.batch * a.heads; ++index) {
    std::vector<double> numbers;
    auto p = a.probabilities(index, numbers);
    Rows q = a.part(index, 0), k = a.part(index, 1), v = a.part(index, 2), out = a.answer(index);
    std::vector<std::vector<double>> ds(q.rows, std::vector<double>(k.rows, 0));
    for (size_t i = 0; i < q.rows; ++i) {
      for (size_t j = 0; j < k.rows; ++j)
        ds[i][j] = a.product(
            a.width, [&](size_t c) { return out.at(dy, i, c); },
            [&](size_t c) { return v.at(a.cells(2), j, c); });
      double total = a.sum(k.rows, [&](size_t j) { return a.round(ds[i][j] * p[i][j]); });
      for (size_t j = 0; j < k.rows; ++j)
        ds[i][j] = a.seen(i, j) ? a.round(a.round(p[i][j] * a.round(ds[i][j] - total)) * a.scale()) : 0;
    }
    for (size_t c = 0; c < a.width; ++c) {
      for (size_t i = 0; i < q.rows; ++i)
        q.at(gradient(0), i, c) = a.product(
            k.rows, [&](size_t j) { return ds[i][j]; }, [&](size_t j) { return k.at(a.cells(1), j, c); });
      for (size_t j = 0; j < k.rows; ++j) {
        k.at(gradient(1), j, c) = a.product(
            q.rows, [&](size_t i) { return ds[i][j]; }, [&](size_t i) { return q.at(a.cells(0), i, c); });
        v.at(gradient(2), j, c) = a.product(
            q.rows, [&](size_t i) { return p[i][j]; }, [&](size_t i) { return out.at(dy, i, c); });
      }
    }
  }
}

} // namespace

bool attention_operation(const Op &op, const std::vector<const Datum *> &operands,
                         std::vector<Datum> &results) {
  if (op.code != OpCode::attention && op.code != OpCode::attention_gradient) return false;
  if (op.operands.back()->type->kind == TypeKind::draw) return false;
  results.resize(op.results.size());
  if (op.code == OpCode::attention)
    forward(Attention(op, operands, 0), results[0], results[1]);
  else
    backward(Attention(op, operands, 3), results);
  return true;
}

} // namespace mica::eval
