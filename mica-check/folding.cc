// Constant folding with the bits that the program would compute: typed integers wrap, floats round once in
// their type, and what gives a not-a-number is left to the program (numerics.md 12).
#include "checker.h"

#include <cmath>

namespace mica::check {

using spectra::OpCode;

namespace {

using Wide = unsigned __int128;

/// Integers without a type of their own are exact; false where even 128 bits overflow.
bool exact(OpCode code, __int128 x, __int128 y, __int128 &result) {
  switch (code) {
  case OpCode::add: return !__builtin_add_overflow(x, y, &result);
  case OpCode::sub: return !__builtin_sub_overflow(x, y, &result);
  case OpCode::mul: return !__builtin_mul_overflow(x, y, &result);
  case OpCode::div: result = y == -1 ? static_cast<__int128>(-static_cast<Wide>(x)) : x / y; return true;
  case OpCode::mod: result = y == -1 ? 0 : x % y; return true;
  case OpCode::and_: result = x & y; return true;
  case OpCode::or_: result = x | y; return true;
  case OpCode::xor_: result = x ^ y; return true;
  case OpCode::shl:
    if (x == 0)
      result = 0;
    else if (y >= 127)
      return false;
    else {
      result = static_cast<__int128>(static_cast<Wide>(x) << static_cast<int>(y));
      return (result >> static_cast<int>(y)) == x;
    }
    return true;
  case OpCode::shr: result = y >= 127 ? (x < 0 ? -1 : 0) : x >> static_cast<int>(y); return true;
  default: return false;
  }
}

/// Typed integers: the bits kept by the type. `overflowed` where the exact answer does not fit.
__int128 wrapped(OpCode code, spectra::Scalar type, __int128 x, __int128 y, bool &overflowed) {
  __int128 result = 0;
  const int bits = bits_of(type);
  switch (code) {
  case OpCode::shl:
    result = y >= bits ? 0 : static_cast<__int128>(static_cast<Wide>(x) << static_cast<int>(y));
    return wrap_to(type, result);
  case OpCode::shr: return y >= bits ? (x < 0 ? -1 : 0) : x >> static_cast<int>(y);
  case OpCode::mul:
    result = static_cast<__int128>(static_cast<Wide>(x) * static_cast<Wide>(y));
    break; // low bits suffice
  default: exact(code, x, y, result);
  }
  __int128 kept = wrap_to(type, result);
  __int128 full;
  overflowed = !exact(code, x, y, full) || full != kept;
  return kept;
}

double real(OpCode code, spectra::Scalar type, double x, double y) {
  double result = 0;
  switch (code) {
  case OpCode::add: result = x + y; break;
  case OpCode::sub: result = x - y; break;
  case OpCode::mul: result = x * y; break;
  default: result = x / y; break;
  }
  // float64 has more than twice float32's digits plus two: rounding twice gives the bits of rounding once.
  return round_to(type, result);
}

} // namespace

bool Checker::fold_binary(OpCode code, const Operand &a, const Operand &b, spectra::Place at,
                          Operand &result) {
  if (!a.is_constant() || !b.is_constant()) return false;
  const Constant &x = a.constant, &y = b.constant;
  const Type *t = Types::base(x.type);
  if (t->scalar == spectra::Scalar::u128) return false; // the program computes what our integers don't hold
  Constant c;
  c.type = t;
  c.adapts = x.adapts && (y.adapts || code == OpCode::shl || code == OpCode::shr);
  if (t->is_float()) {
    c.real = real(code, t->scalar, x.real, y.real);
    if (std::isnan(c.real)) return false;
  } else if (t->is_bool()) {
    c.integer = code == OpCode::and_  ? x.integer & y.integer
                : code == OpCode::or_ ? x.integer | y.integer
                                      : x.integer ^ y.integer;
  } else if (c.adapts) {
    if (!exact(code, x.integer, y.integer, c.integer)) {
      result = error(at, "the constant is too large");
      return true;
    }
    c.type = type_of_integer(types, c.integer);
  } else {
    bool overflowed = false;
    c.integer = wrapped(code, t->scalar, x.integer, y.integer, overflowed);
    if (overflowed && checked_tier() && !constants_only) return false; // the program reports it
  }
  result = constant_operand(std::move(c), at);
  return true;
}

} // namespace mica::check
