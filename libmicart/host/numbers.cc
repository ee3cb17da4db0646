// Names and sizes of types, and reading numbers from text exactly: one rounding, straight to the type that is
// wanted.
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

namespace mica::rt {

i64 type_size(int type) {
  switch (type) {
  case MICA_BOOL:
  case MICA_I8:
  case MICA_U8: return 1;
  case MICA_I16:
  case MICA_U16:
  case MICA_F16:
  case MICA_BF16: return 2;
  case MICA_I32:
  case MICA_U32:
  case MICA_F32:
  case MICA_UNICODE: return 4;
  case MICA_I128:
  case MICA_U128:
  case MICA_STRING:
  case MICA_RANDOM: return 16;
  default: return 8;
  }
}

const char *type_name(int type) {
  static const char *const kNames[] = {"?",           "bool",     "int8",    "int16",   "int32",   "int64",
                                       "int128",      "uint8",    "uint16",  "uint32",  "uint64",  "uint128",
                                       "float16",     "bfloat16", "float32", "float64", "unicode", "string",
                                       "enumeration", "pointer",  "random"};
  return type >= 1 && type <= MICA_RANDOM ? kNames[type] : kNames[0];
}

namespace {
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

struct Range {
  bool is_signed;
  int bits;
};
Range integer_range(int type) {
  switch (type) {
  case MICA_I8: return {true, 8};
  case MICA_I16: return {true, 16};
  case MICA_I32: return {true, 32};
  case MICA_I64: return {true, 64};
  case MICA_I128: return {true, 128};
  case MICA_U8: return {false, 8};
  case MICA_U16: return {false, 16};
  case MICA_U32: return {false, 32};
  case MICA_U64: return {false, 64};
  default: return {false, 128};
  }
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// [+-] then decimal digits, or 0x or 0b and digits; underscores between digits as in the source language.
bool parse_integer(const char *text, const char *end, int type, void *out) {
  bool negative = false;
  if (text < end && (*text == '+' || *text == '-')) negative = *text++ == '-';
  unsigned base = 10;
  if (end - text > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) base = 16;
  if (end - text > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B')) base = 2;
  if (base != 10) text += 2;
  if (text == end || *text == '_' || end[-1] == '_') return false;
  u128 magnitude = 0;
  for (; text < end; text++) {
    if (*text == '_') continue;
    unsigned digit = static_cast<unsigned>(digit_of(*text));
    if (digit >= base) return false;
    if (magnitude > (~u128(0) - digit) / base) return false;
    magnitude = magnitude * base + digit;
  }
  Range range = integer_range(type);
  u128 limit =
      range.is_signed ? (u128(1) << (range.bits - 1)) - (negative ? 0 : 1) : ~u128(0) >> (128 - range.bits);
  if (negative && !range.is_signed) limit = 0;
  if (magnitude > limit) return false;
  u128 value = negative ? -magnitude : magnitude;
  memcpy(out, &value, static_cast<size_t>(range.bits / 8));
  return true;
}

// The rounding mode of both floating-point units (the C library's strtod asks the older one), without libm.
struct RoundingMode {
  u16 control = 0;
  u32 state = 0;
  RoundingMode() { asm volatile("fnstcw %0\n\tstmxcsr %1" : "=m"(control), "=m"(state)); }
  void set(u32 mode) const { // 0 nearest, 1 down, 2 up, 3 toward zero
    u16 new_control = static_cast<u16>((control & ~0xC00u) | mode << 10);
    u32 new_state = (state & ~0x6000u) | mode << 13;
    asm volatile("fldcw %0\n\tldmxcsr %1" : : "m"(new_control), "m"(new_state) : "memory");
  }
  ~RoundingMode() { asm volatile("fldcw %0\n\tldmxcsr %1" : : "m"(control), "m"(state) : "memory"); }
};

// A double with what follows folded into its last bit (round to odd), so that one more rounding to a narrower
// type is exact: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008.
double parse_to_odd(const char *text, char **end) {
  RoundingMode mode;
  mode.set(3);
  double low = strtod(text, end);
  mode.set(*text == '-' ? 1 : 2);
  double high = strtod(text, nullptr);
  mode.set(0);
  u64 word = __builtin_bit_cast(u64, low);
  return low == high || low != low ? low : __builtin_bit_cast(double, word | 1);
}

// A round-to-odd double to a half of `fraction` fraction bits and `exponent_bits` exponent bits, nearest
// even.
u16 narrow(double value, int fraction, int exponent_bits) {
  u64 word = __builtin_bit_cast(u64, value);
  u16 sign = static_cast<u16>(word >> 63 << 15);
  word &= ~(u64(1) << 63);
  int highest = (1 << exponent_bits) - 1, bias = highest / 2;
  u16 infinity = static_cast<u16>(highest << fraction);
  if (word > u64(0x7FF) << 52) return static_cast<u16>(sign | infinity | 1u << (fraction - 1));
  int exponent = static_cast<int>(word >> 52) - 1023;
  if (exponent > bias) return static_cast<u16>(sign | infinity);
  u64 mantissa = (word & ((u64(1) << 52) - 1)) | (word >> 52 ? u64(1) << 52 : 0);
  int drop = 52 - fraction;
  int lowest = 1 - bias;
  if (exponent < lowest) drop += lowest - exponent;
  if (drop > 62) return sign;
  u64 kept = mantissa >> drop, rest = mantissa & ((u64(1) << drop) - 1), half = u64(1) << (drop - 1);
  if (rest > half || (rest == half && (kept & 1))) kept++;
  // kept holds the leading one where the result is normal; adding lets a carry move into the exponent.
  u64 bits = exponent < lowest ? kept : kept + (static_cast<u64>(exponent - lowest) << fraction);
  return static_cast<u16>(sign | (bits > infinity ? infinity : bits));
}

bool parse_float(const char *text, const char *end, int type, void *out) {
  // Digits, point, exponent, "inf" and "nan" as C reads them, hexadecimal floats too; underscores are
  // dropped.
  Text copy;
  for (const char *c = text; c < end; c++) {
    if (*c == '_' && c > text && c + 1 < end && digit_of(c[-1]) < 10 && digit_of(c[1]) < 10) continue;
    copy.put_char(*c);
  }
  const char *start = copy.zero_ended();
  if (copy.length == 0 || is_space(*start) || static_cast<i64>(strlen(start)) != copy.length) return false;
  char *stop = nullptr;
  if (type == MICA_F32) {
    float value = strtof(start, &stop);
    if (*stop) return false;
    memcpy(out, &value, 4);
  } else if (type == MICA_F64) {
    double value = strtod(start, &stop);
    if (*stop) return false;
    memcpy(out, &value, 8);
  } else {
    double value = parse_to_odd(start, &stop);
    if (*stop) return false;
    u16 half = type == MICA_F16 ? narrow(value, 10, 5) : narrow(value, 7, 8);
    memcpy(out, &half, 2);
  }
  return true;
}
} // namespace

bool parse_number(const char *text, i64 length, int type, void *out) {
  const char *end = text + length;
  while (text < end && is_space(*text)) text++;
  while (end > text && is_space(end[-1])) end--;
  if (text == end) return false;
  switch (type) {
  case MICA_BOOL: {
    bool yes = end - text == 4 && (memcmp(text, "true", 4) == 0 || memcmp(text, "True", 4) == 0);
    bool no = end - text == 5 && (memcmp(text, "false", 5) == 0 || memcmp(text, "False", 5) == 0);
    if (!yes && !no) return false;
    *static_cast<u8 *>(out) = yes;
    return true;
  }
  case MICA_F16:
  case MICA_BF16:
  case MICA_F32:
  case MICA_F64: return parse_float(text, end, type, out);
  case MICA_UNICODE:
  case MICA_STRING:
  case MICA_ENUM:
  case MICA_POINTER:
  case MICA_RANDOM: return false;
  default: return parse_integer(text, end, type, out);
  }
}

} // namespace mica::rt
