// Cell-by-cell operations: broadcasting, rounding, functions.
#include "eval.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

namespace mica::eval {
using namespace spectra;

namespace {

float half_value(uint16_t bits, bool brain) {
  if (brain) {
    uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float f;
    std::memcpy(&f, &wide, sizeof f);
    return f;
  }
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double v = exponent == 0    ? std::ldexp(mantissa, -24)
             : exponent == 31 ? (mantissa ? std::numeric_limits<double>::quiet_NaN()
                                          : std::numeric_limits<double>::infinity())
                              : std::ldexp(1024 + mantissa, exponent - 25);
  return static_cast<float>(bits & 0x8000 ? -v : v);
}

/// To nearest even with `digits` bits of mantissa and the smallest exponent `low`.
double to_half(double v, int digits, int low, double largest) {
  if (!std::isfinite(v) || v == 0) return v;
  int exponent;
  std::frexp(v, &exponent);
  int unit = std::max(exponent - digits, low);
  double r = std::ldexp(std::nearbyint(std::ldexp(v, -unit)), unit);
  if (std::fabs(r) > largest) return std::copysign(std::numeric_limits<double>::infinity(), r);
  return r;
}

double gelu_slope(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2) +
         x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
}
const double kTanhScale = std::sqrt(2 / std::numbers::pi);
double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(kTanhScale * (x + 0.044715 * x * x * x))); }
double gelu_tanh_slope(double x) {
  double c = std::fmin(std::fmax(x, -1e4), 1e4);
  double t = std::tanh(kTanhScale * (c + 0.044715 * c * c * c));
  return 0.5 * (1 + t) + 0.5 * c * (1 - t * t) * kTanhScale * (1 + 3 * 0.044715 * c * c);
}

double function(OpCode code, double x, bool &known) {
  switch (code) {
  case OpCode::neg: return -x;
  case OpCode::abs: return std::fabs(x);
  case OpCode::sqrt: return std::sqrt(x);
  case OpCode::exp: return std::exp(x);
  case OpCode::ln: return std::log(x);
  case OpCode::log10: return std::log10(x);
  case OpCode::sin: return std::sin(x);
  case OpCode::cos: return std::cos(x);
  case OpCode::tan: return std::tan(x);
  case OpCode::arcsin: return std::asin(x);
  case OpCode::arccos: return std::acos(x);
  case OpCode::arctan: return std::atan(x);
  case OpCode::tanh: return std::tanh(x);
  case OpCode::sigmoid: return 1 / (1 + std::exp(-x));
  case OpCode::silu: return x / (1 + std::exp(-x));
  case OpCode::erf: return std::erf(x);
  case OpCode::erfc: return std::erfc(x);
  case OpCode::relu: return x > 0 || std::isnan(x) ? x : 0;
  case OpCode::gelu: return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
  case OpCode::gelu_slope: return gelu_slope(x);
  case OpCode::gelu_tanh: return gelu_tanh(x);
  case OpCode::gelu_tanh_slope: return gelu_tanh_slope(x);
  case OpCode::floor: return std::floor(x);
  case OpCode::ceil: return std::ceil(x);
  case OpCode::trunc: return std::trunc(x);
  case OpCode::round: return std::round(x);
  default: known = false; return 0;
  }
}

double two(OpCode code, double a, double b, bool &known) {
  switch (code) {
  case OpCode::add: return a + b;
  case OpCode::sub: return a - b;
  case OpCode::mul: return a * b;
  case OpCode::div: return a / b;
  case OpCode::pow: return std::pow(a, b);
  case OpCode::fmod: return std::fmod(a, b);
  case OpCode::maximum: return std::isnan(a) || std::isnan(b) ? a + b : a > b ? a : b;
  case OpCode::minimum: return std::isnan(a) || std::isnan(b) ? a + b : a < b ? a : b;
  default: known = false; return 0;
  }
}

template <class T> int compare(OpCode code, T a, T b) {
  switch (code) {
  case OpCode::eq: return a == b;
  case OpCode::ne: return a != b;
  case OpCode::lt: return a < b;
  case OpCode::le: return a <= b;
  case OpCode::gt: return a > b;
  case OpCode::ge: return a >= b;
  default: return -1;
  }
}

int64_t integers(OpCode code, int64_t a, int64_t b, bool is_bool, bool &known) {
  uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (code) {
  case OpCode::add: return static_cast<int64_t>(x + y);
  case OpCode::sub: return static_cast<int64_t>(x - y);
  case OpCode::mul: return static_cast<int64_t>(x * y);
  case OpCode::div:
    if (b == 0) throw Failure("division by zero");
    return b == -1 ? static_cast<int64_t>(0 - x) : a / b;
  case OpCode::mod:
    if (b == 0) throw Failure("division by zero");
    return b == -1 ? 0 : a % b;
  case OpCode::and_: return a & b;
  case OpCode::or_: return a | b;
  case OpCode::xor_: return a ^ b;
  case OpCode::neg: return static_cast<int64_t>(0 - x);
  case OpCode::not_: return is_bool ? !a : ~a;
  case OpCode::abs: return a < 0 ? static_cast<int64_t>(0 - x) : a;
  case OpCode::maximum: return a > b ? a : b;
  case OpCode::minimum: return a < b ? a : b;
  default: known = false; return 0;
  }
}

/// Where the cell of an operand lies that belongs to cell `k` of the result.
class Index {
public:
  Index(const Type *operand, const Type *result) {
    size_t rank = result->sizes.size(), own = operand->sizes.size();
    strides_.assign(rank, 0);
    int64_t stride = 1;
    for (size_t d = own; d-- > 0;) {
      if (operand->sizes[d] != 1) strides_[rank - own + d] = stride;
      stride *= operand->sizes[d];
    }
    sizes_ = result->sizes;
  }
  size_t of(size_t k) const {
    int64_t at = 0;
    for (size_t d = sizes_.size(); d-- > 0;) {
      at += static_cast<int64_t>(k % static_cast<size_t>(sizes_[d])) * strides_[d];
      k /= static_cast<size_t>(sizes_[d]);
    }
    return static_cast<size_t>(at);
  }

private:
  std::vector<int64_t> strides_, sizes_;
};

} // namespace

double round_to(Scalar type, double value) {
  switch (type) {
  case Scalar::f32: return static_cast<double>(static_cast<float>(value));
  case Scalar::f16: return to_half(value, 11, -24, half_value(0x7bff, false));
  case Scalar::bf16: return to_half(value, 8, -133, half_value(0x7f7f, true));
  default: return value;
  }
}

int64_t wrap_to(Scalar type, int64_t value) {
  switch (type) {
  case Scalar::i8: return static_cast<int8_t>(value);
  case Scalar::i16: return static_cast<int16_t>(value);
  case Scalar::i32: return static_cast<int32_t>(value);
  case Scalar::u8: return static_cast<uint8_t>(value);
  case Scalar::u16: return static_cast<uint16_t>(value);
  case Scalar::u32: return static_cast<uint32_t>(value);
  case Scalar::boolean: return value != 0;
  default: return value;
  }
}

bool cells_operation(const Op &op, const std::vector<const Datum *> &operands, Datum &result) {
  if (op.results.size() != 1) return false;
  const Type *type = op.result()->type;
  if (!type->is_scalar() && !type->is_whole()) return false;
  std::vector<Index> index;
  for (const Value *v : op.operands) {
    if (!v->type->is_scalar() && !v->type->is_whole()) return false;
    std::vector<int64_t> sizes;
    if (!broadcast_sizes(v->type->sizes, type->sizes, sizes) || sizes != type->sizes) return false;
    index.emplace_back(v->type, type);
  }
  size_t cells = static_cast<size_t>(type->cells());
  bool half = type->scalar == Scalar::f16 || type->scalar == Scalar::bf16;
  auto rounded = [&](double v) {
    return round_to(type->scalar, half && op.code != OpCode::cast ? round_to(Scalar::f32, v) : v);
  };
  auto f = [&](size_t o, size_t k) { return operands[o]->f[index[o].of(k)]; };
  auto i = [&](size_t o, size_t k) { return operands[o]->i[index[o].of(k)]; };
  bool floats = !op.operands.empty() && op.operands[0]->type->is_float();
  bool known = true;
  if (type->is_float())
    result.f.resize(cells);
  else
    result.i.resize(cells);

  switch (op.code) {
  case OpCode::select:
    for (size_t k = 0; k < cells; ++k)
      if (type->is_float())
        result.f[k] = i(0, k) ? f(1, k) : f(2, k);
      else
        result.i[k] = i(0, k) ? i(1, k) : i(2, k);
    return true;
  case OpCode::cast:
    for (size_t k = 0; k < cells; ++k) {
      if (type->is_float())
        result.f[k] = rounded(floats ? f(0, k) : static_cast<double>(i(0, k)));
      else if (floats)
        result.i[k] =
            std::isnan(f(0, k))
                ? 0
                : wrap_to(type->scalar, static_cast<int64_t>(std::fmin(std::fmax(f(0, k), -9e18), 9e18)));
      else
        result.i[k] = wrap_to(type->scalar, i(0, k));
    }
    return true;
  case OpCode::fma:
    for (size_t k = 0; k < cells; ++k)
      result.f[k] = type->scalar == Scalar::f64
                        ? std::fma(f(0, k), f(1, k), f(2, k))
                        : rounded(std::fmaf(static_cast<float>(f(0, k)), static_cast<float>(f(1, k)),
                                            static_cast<float>(f(2, k))));
    return true;
  case OpCode::rsqrt:
    for (size_t k = 0; k < cells; ++k) {
      Scalar t = half ? Scalar::f32 : type->scalar;
      result.f[k] = rounded(round_to(t, 1 / round_to(t, std::sqrt(f(0, k)))));
    }
    return true;
  case OpCode::finite:
    for (size_t k = 0; k < cells; ++k) result.i[k] = std::isfinite(f(0, k));
    return true;
  case OpCode::detach:
  case OpCode::broadcast:
  case OpCode::filled:
  case OpCode::to_host:
  case OpCode::to_gpu:
    for (size_t k = 0; k < cells; ++k)
      if (type->is_float())
        result.f[k] = f(0, k);
      else
        result.i[k] = i(0, k);
    return true;
  case OpCode::zeros: return true;
  case OpCode::shl:
  case OpCode::shr: return false;
  default: break;
  }
  if (op.operands.size() == 2 && compare(op.code, 0, 0) >= 0) {
    for (size_t k = 0; k < cells; ++k)
      result.i[k] = floats ? compare(op.code, f(0, k), f(1, k)) : compare(op.code, i(0, k), i(1, k));
    return true;
  }
  if (op.operands.empty() || op.operands.size() > 2 || floats != type->is_float()) return false;
  if (floats && op.operands.size() == 1)
    function(op.code, 0.5, known);
  else if (floats)
    two(op.code, 1, 1, known);
  else
    integers(op.code, 1, 1, false, known);
  if (!known) return false;
  for (size_t k = 0; k < cells; ++k) {
    if (!floats)
      result.i[k] = wrap_to(type->scalar, integers(op.code, i(0, k), op.operands.size() > 1 ? i(1, k) : 0,
                                                   type->is_bool(), known));
    else if (op.operands.size() == 1)
      result.f[k] = rounded(function(op.code, f(0, k), known));
    else
      result.f[k] = rounded(two(op.code, f(0, k), f(1, k), known));
  }
  return true;
}

} // namespace mica::eval
