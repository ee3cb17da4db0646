// The arithmetic of constants' conversions: one rounding each, as the generated code does it.
#include "constant.h"

#include <charconv>
#include <cmath>

namespace mica::check {

using spectra::Scalar;

const Type *type_of_integer(Types &types, __int128 value) {
  for (Scalar s : {Scalar::i32, Scalar::i64, Scalar::u64})
    if (value >= min_of(s) && value <= max_of(s)) return types.scalar(s);
  return types.scalar(Scalar::i128);
}

namespace {

/// `value` rounded to `digits` binary digits with the least exponent `lowest` (of the last digit of a
/// subnormal), to nearest even; above `greatest` it becomes infinite.
double round_digits(double value, int digits, int lowest, double greatest) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = std::ilogb(value) - (digits - 1);
  if (exponent < lowest) exponent = lowest;
  // Scaling by a power of two is exact here: every half's ulp is far above float64's least.
  double scaled = std::nearbyint(std::ldexp(value, -exponent)); // to nearest even, the default rounding mode
  double rounded = std::ldexp(scaled, exponent);
  if (std::fabs(rounded) > greatest) return std::copysign(HUGE_VAL, value);
  return rounded;
}

} // namespace

double round_to(Scalar type, double value) {
  switch (type) {
  case Scalar::f16: return round_digits(value, 11, -24, 65504.0);
  case Scalar::bf16: return round_digits(value, 8, -133, 0x1.FEp127);
  case Scalar::f32: return static_cast<double>(static_cast<float>(value));
  default: return value;
  }
}

double integer_to_float(Scalar type, __int128 value) {
  if (type == Scalar::f64) return static_cast<double>(value);
  if (type == Scalar::f32) return static_cast<double>(static_cast<float>(value));
  // Integers of up to 53 bits are exact in float64; longer ones overflow float16 and keep a sticky bit for
  // bfloat16.
  unsigned __int128 magnitude =
      value < 0 ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  int shift = 0;
  bool sticky = false;
  while (magnitude >> 52) {
    sticky = sticky || (magnitude & 1);
    magnitude >>= 1;
    ++shift;
  }
  double real = std::ldexp(static_cast<double>(static_cast<uint64_t>(magnitude | (sticky ? 1 : 0))), shift);
  return round_to(type, value < 0 ? -real : real);
}

__int128 wrap_to(Scalar type, __int128 value) {
  if (type == Scalar::boolean) return value != 0;
  int bits = bits_of(type);
  if (bits >= 128) return value;
  unsigned __int128 mask = (static_cast<unsigned __int128>(1) << bits) - 1;
  unsigned __int128 kept = static_cast<unsigned __int128>(value) & mask;
  if (is_integer(type) && is_signed(type) && (kept >> (bits - 1))) return static_cast<__int128>(kept | ~mask);
  return static_cast<__int128>(kept);
}

__int128 saturate_to(Scalar type, double value) {
  if (std::isnan(value)) return 0;
  double whole = std::trunc(value);
  __int128 low = min_of(type), high = max_of(type);
  if (whole <= static_cast<double>(low)) return low;
  if (whole >= static_cast<double>(high)) return high;
  return static_cast<__int128>(whole);
}

std::string text_of(__int128 value) {
  if (value == 0) return "0";
  unsigned __int128 rest =
      value < 0 ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  std::string text;
  while (rest) {
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  }
  return value < 0 ? "-" + text : text;
}

void append_utf8(std::string &text, uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 63));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 63));
    text += static_cast<char>(0x80 | (code & 63));
  } else {
    text += static_cast<char>(0xF0 | code >> 18);
    text += static_cast<char>(0x80 | (code >> 12 & 63));
    text += static_cast<char>(0x80 | (code >> 6 & 63));
    text += static_cast<char>(0x80 | (code & 63));
  }
}

std::string text_of(const Constant &constant) {
  const Type *t = Types::base(constant.type);
  if (t->is(Kind::string)) return '"' + constant.text + '"';
  if (t->is(Kind::enumeration)) {
    size_t ordinal = static_cast<size_t>(constant.integer);
    return ordinal < t->enumeration->names.size() ? std::string(t->enumeration->names[ordinal])
                                                  : text_of(constant.integer);
  }
  if (t->is_bool()) return constant.integer ? "true" : "false";
  if (t->is_unicode()) {
    std::string text = "'";
    append_utf8(text, static_cast<uint32_t>(constant.integer));
    return text + "'";
  }
  if (t->is_float()) {
    char buffer[64];
    std::to_chars_result end =
        t->scalar == Scalar::f32
            ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(constant.real))
            : std::to_chars(buffer, buffer + sizeof buffer, constant.real);
    return std::string(buffer, end.ptr);
  }
  if (t->scalar == Scalar::u128 && constant.integer < 0) { // bits beyond int128
    unsigned __int128 bits = static_cast<unsigned __int128>(constant.integer);
    return text_of(static_cast<__int128>(bits / 10)) + static_cast<char>('0' + static_cast<int>(bits % 10));
  }
  return text_of(constant.integer);
}

} // namespace mica::check
