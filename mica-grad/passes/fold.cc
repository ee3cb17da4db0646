// Integers and bools folded, as far as trip counts, indices and conditions of windows need it.
#include "passes/fold.h"

namespace mica::grad {
using namespace spectra;

std::optional<int64_t> constant_of(const Value *value) {
  if (!value->def || value->def->code != OpCode::const_ || value->type->is_float()) return std::nullopt;
  const AttrValue *v = value->def->find(Attr::value);
  const int64_t *i = v ? std::get_if<int64_t>(v) : nullptr;
  return i ? std::optional<int64_t>(*i) : std::nullopt;
}

namespace {

/// What a register of the type holds.
int64_t wrap(int64_t value, const Type *type) {
  switch (type->scalar) {
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

bool less(int64_t a, int64_t b, const Type *type) {
  return type->scalar == Scalar::u64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}

} // namespace

std::optional<int64_t> fold(const Op &op, const std::vector<Value *> &operands) {
  if (op.results.size() != 1 || operands.empty() || operands.size() > 3) return std::nullopt;
  const Type *type = op.results[0]->type;
  if (!type->is_scalar() || type->is_float() || type->gpu) return std::nullopt;
  int64_t x[3] = {0, 0, 0};
  for (size_t i = 0; i < operands.size(); ++i) {
    std::optional<int64_t> c = constant_of(operands[i]);
    if (!c || operands[i]->type->gpu) return std::nullopt;
    x[i] = *c;
  }
  const Type *from = operands[0]->type;
  auto inside = [&] { return x[0] >= op.integer(Attr::low) && x[0] <= op.integer(Attr::high); };
  // Sums are taken as unsigned: the checked tier reports overflow, so a wrapped sum is left to the program.
  auto exact = [&](bool overflows, int64_t value) -> std::optional<int64_t> {
    if (overflows || wrap(value, type) != value || type->scalar == Scalar::u64) return std::nullopt;
    return value;
  };
  int64_t r = 0;
  switch (op.code) {
  case OpCode::add: return exact(__builtin_add_overflow(x[0], x[1], &r), r);
  case OpCode::sub: return exact(__builtin_sub_overflow(x[0], x[1], &r), r);
  case OpCode::mul: return exact(__builtin_mul_overflow(x[0], x[1], &r), r);
  case OpCode::neg: return exact(__builtin_sub_overflow(int64_t{0}, x[0], &r), r);
  case OpCode::div: return x[1] <= 0 ? std::nullopt : exact(false, x[0] / x[1]);
  case OpCode::mod: return x[1] <= 0 ? std::nullopt : exact(false, x[0] % x[1]);
  case OpCode::eq: return x[0] == x[1];
  case OpCode::ne: return x[0] != x[1];
  case OpCode::lt: return less(x[0], x[1], from);
  case OpCode::le: return !less(x[1], x[0], from);
  case OpCode::gt: return less(x[1], x[0], from);
  case OpCode::ge: return !less(x[0], x[1], from);
  case OpCode::and_: return x[0] & x[1];
  case OpCode::or_: return x[0] | x[1];
  case OpCode::xor_: return x[0] ^ x[1];
  case OpCode::not_: return type->is_bool() ? std::optional<int64_t>(!x[0]) : std::nullopt;
  case OpCode::cast: return exact(false, x[0]);
  case OpCode::select: return x[0] ? x[1] : x[2];
  case OpCode::check_index:
  case OpCode::check_range: return inside() ? std::optional<int64_t>(x[0]) : std::nullopt;
  default: return std::nullopt;
  }
}

uint64_t trip_count(int64_t low, int64_t high, int64_t by, bool down, bool is_unsigned) {
  if (down) std::swap(low, high);
  bool none = is_unsigned ? static_cast<uint64_t>(low) > static_cast<uint64_t>(high) : low > high;
  if (none) return 0;
  return (static_cast<uint64_t>(high) - static_cast<uint64_t>(low)) / static_cast<uint64_t>(by) + 1;
}

} // namespace mica::grad
