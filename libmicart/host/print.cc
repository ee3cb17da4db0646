// Formatting with the semantics of C's printf, for every type of the language. The compiler has checked the
// format against its arguments; what does not fit all the same is printed as by %v, never misread.
#include "runtime.h"

#include <stdio.h>
#include <string.h>

namespace mica::rt {
namespace {

struct Spec {
  bool minus = false, plus = false, space = false, hash = false, zero = false;
  i64 width = 0;
  i64 precision = -1; // -1: none given
  int length = 0;     // 1 hh, 2 h, 3 l, 4 ll and others
  u32 conversion = 0;
};

bool is_float(int type) { return type >= MICA_F16 && type <= MICA_F64; }
bool is_signed(int type) { return type >= MICA_I8 && type <= MICA_I128; }
bool is_integer(int type) { return type >= MICA_I8 && type <= MICA_U128; }

u128 integer_bits(const mica_argument &a) {
  if (a.type == MICA_I128 || a.type == MICA_U128) return u128(a.word1) << 64 | a.word0;
  if (is_signed(a.type)) return static_cast<u128>(static_cast<i128>(static_cast<i64>(a.word0)));
  return a.word0;
}

int integer_width(int type) { return is_integer(type) ? static_cast<int>(type_size(type)) * 8 : 64; }

// Digits of a number in a base, most significant first, into the end of a buffer of 130.
int write_digits(u128 value, unsigned base, bool upper, char *buffer) {
  const char *letters = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  int at = 130;
  if (base == 10) {
    while (value >> 64) {
      buffer[--at] = static_cast<char>('0' + static_cast<unsigned>(value % 10));
      value /= 10;
    }
    for (u64 small = static_cast<u64>(value); small; small /= 10)
      buffer[--at] = static_cast<char>('0' + small % 10);
    return at;
  }
  int shift = base == 16 ? 4 : 3;
  for (; value; value >>= shift) buffer[--at] = letters[static_cast<unsigned>(value) & (base - 1)];
  return at;
}

// Sign or prefix, zeros and digits in a field of the spec's width.
void put_field(Text &out, const Spec &spec, const char *prefix, i64 zeros, const char *digits, i64 count) {
  i64 prefix_length = static_cast<i64>(strlen(prefix));
  i64 total = prefix_length + zeros + count;
  i64 pad = spec.width > total ? spec.width - total : 0;
  if (spec.zero && !spec.minus) {
    zeros += pad;
    pad = 0;
  }
  if (!spec.minus) out.put_repeated(' ', pad);
  out.put(prefix);
  out.put_repeated('0', zeros);
  out.put(digits, count);
  if (spec.minus) out.put_repeated(' ', pad);
}

void put_integer(Text &out, Spec spec, const mica_argument &a) {
  u128 bits = integer_bits(a);
  int width = integer_width(a.type);
  if (spec.length == 1 && width > 8) width = 8;
  if (spec.length == 2 && width > 16) width = 16;
  bool decimal = spec.conversion == 'd' || spec.conversion == 'i';
  bool narrowed = width < integer_width(a.type);
  u128 mask = width == 128 ? ~u128(0) : (u128(1) << width) - 1;
  const char *prefix = "";
  u128 magnitude = bits & mask;
  if (decimal && (is_signed(a.type) || narrowed)) {
    if (magnitude >> (width - 1) & 1) {
      magnitude = (0 - magnitude) & mask;
      prefix = "-";
    }
  }
  if (decimal && !*prefix) prefix = spec.plus ? "+" : spec.space ? " " : "";
  unsigned base = spec.conversion == 'x' || spec.conversion == 'X' ? 16 : spec.conversion == 'o' ? 8 : 10;
  char buffer[130];
  int at = write_digits(magnitude, base, spec.conversion == 'X', buffer);
  i64 count = 130 - at;
  i64 minimum = spec.precision >= 0 ? spec.precision : 1;
  if (spec.precision >= 0) spec.zero = false;
  i64 zeros = minimum > count ? minimum - count : 0;
  if (spec.hash && base == 16 && magnitude) prefix = spec.conversion == 'X' ? "0X" : "0x";
  if (spec.hash && base == 8 && zeros == 0) zeros = 1;
  put_field(out, spec, prefix, zeros, buffer + at, count);
}

void put_float(Text &out, const Spec &spec, double value) {
  char format[64];
  int at = 0;
  format[at++] = '%';
  if (spec.minus) format[at++] = '-';
  if (spec.plus) format[at++] = '+';
  if (spec.space) format[at++] = ' ';
  if (spec.hash) format[at++] = '#';
  bool finite = value - value == 0;
  if (spec.zero && finite) format[at++] = '0';
  if (value != value) value = __builtin_nan(""); // a NaN's sign says nothing
  at += snprintf(format + at, sizeof format - static_cast<size_t>(at), spec.precision >= 0 ? "*.*%c" : "*%c",
                 static_cast<char>(spec.conversion));
  int width = static_cast<int>(spec.width), precision = static_cast<int>(spec.precision);
  char small[400];
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
  int count = spec.precision >= 0 ? snprintf(small, sizeof small, format, width, precision, value)
                                  : snprintf(small, sizeof small, format, width, value);
  if (count < static_cast<int>(sizeof small)) return out.put(small, count);
  out.reserve(count);
  char *to = out.data + out.length;
  size_t room = static_cast<size_t>(count) + 1;
  count = spec.precision >= 0 ? snprintf(to, room, format, width, precision, value)
                              : snprintf(to, room, format, width, value);
#pragma clang diagnostic pop
  out.length += count;
}

// What was written since `from`, in a field of code points.
void pad_from(Text &out, const Spec &spec, i64 from, i64 codes) {
  i64 pad = spec.width - codes;
  if (pad <= 0) return;
  out.put_repeated(' ', pad);
  if (spec.minus) return;
  i64 written = out.length - pad - from;
  memmove(out.data + from + pad, out.data + from, static_cast<size_t>(written));
  memset(out.data + from, ' ', static_cast<size_t>(pad));
}

void put_plain(Text &out, const mica_argument &a);

// One cell of a whole value as an argument of its own.
mica_argument cell_of(const mica_argument &whole, i64 index) {
  mica_argument cell = {whole.type & ~MICA_WHOLE, 0, 0, 0};
  i64 size = type_size(cell.type);
  memcpy(&cell.word0, reinterpret_cast<const char *>(whole.word0) + index * size,
         static_cast<size_t>(size > 8 ? 8 : size));
  if (size == 16) memcpy(&cell.word1, reinterpret_cast<const char *>(whole.word0) + index * size + 8, 8);
  if (is_signed(cell.type) && size < 8) {
    int shift = 64 - static_cast<int>(size) * 8;
    cell.word0 = static_cast<u64>(static_cast<i64>(cell.word0 << shift) >> shift);
  }
  return cell;
}

void put_value(Text &out, const Spec &spec, const mica_argument &a);

void put_whole(Text &out, const Spec &spec, const mica_argument &a, int level, i64 &next) {
  const i64 *sizes = reinterpret_cast<const i64 *>(a.word1);
  if (level == a.rank) return put_value(out, spec, cell_of(a, next++));
  out.put_char('[');
  for (i64 i = 0; i < sizes[level]; i++) {
    if (i) out.put(", ");
    put_whole(out, spec, a, level + 1, next);
  }
  out.put_char(']');
}

// %v
void put_plain(Text &out, const mica_argument &a) {
  Spec spec;
  switch (a.type) {
  case MICA_BOOL: return out.put(a.word0 & 1 ? "true" : "false");
  case MICA_UNICODE: return out.put_code(static_cast<u32>(a.word0));
  case MICA_STRING:
    return out.put_string({reinterpret_cast<const u32 *>(a.word0), static_cast<i64>(a.word1)});
  case MICA_ENUM: return out.put(reinterpret_cast<const char *const *>(a.word1)[a.word0]);
  case MICA_POINTER:
    if (!a.word0) return out.put("nil");
    return out.putf("0x%llx", static_cast<unsigned long long>(a.word0));
  case MICA_RANDOM:
    return out.putf("random(%llu, %llu)", static_cast<unsigned long long>(a.word0),
                    static_cast<unsigned long long>(a.word1));
  default: break;
  }
  if (is_float(a.type)) return put_shortest(out, a.type, a.word0);
  spec.conversion = is_signed(a.type) ? 'd' : 'u';
  put_integer(out, spec, a);
}

void put_text(Text &out, const Spec &spec, const mica_argument &a) {
  i64 from = out.length;
  if (a.type == MICA_STRING) {
    i64 length = static_cast<i64>(a.word1);
    if (spec.precision >= 0 && length > spec.precision) length = spec.precision;
    out.put_string({reinterpret_cast<const u32 *>(a.word0), length});
    pad_from(out, spec, from, length);
    return;
  }
  put_plain(out, a);
  pad_from(out, spec, from, count_codes(out.data + from, out.length - from));
}

void put_value(Text &out, const Spec &spec, const mica_argument &a) {
  if (a.type & MICA_WHOLE) {
    i64 next = 0;
    return put_whole(out, spec, a, 0, next);
  }
  switch (spec.conversion) {
  case 'd':
  case 'i':
  case 'u':
  case 'x':
  case 'X':
  case 'o':
    if (is_integer(a.type) || a.type == MICA_BOOL || a.type == MICA_UNICODE || a.type == MICA_ENUM)
      return put_integer(out, spec, a);
    break;
  case 'f':
  case 'F':
  case 'e':
  case 'E':
  case 'g':
  case 'G':
  case 'a':
  case 'A':
    if (is_float(a.type)) return put_float(out, spec, float_from_bits(a.type, a.word0));
    if (is_integer(a.type)) {
      u128 bits = integer_bits(a);
      return put_float(out, spec,
                       is_signed(a.type) ? static_cast<double>(static_cast<i128>(bits))
                                         : static_cast<double>(bits));
    }
    break;
  case 'c': {
    i64 from = out.length;
    if (a.type == MICA_UNICODE) {
      out.put_code(static_cast<u32>(a.word0));
    } else if (is_integer(a.type)) {
      out.put_byte(static_cast<u8>(a.word0));
    } else {
      break;
    }
    pad_from(out, spec, from, 1);
    return;
  }
  case 'p': {
    mica_argument pointer = a;
    pointer.type = MICA_POINTER;
    if (a.type == MICA_POINTER || is_integer(a.type)) return put_text(out, spec, pointer);
    break;
  }
  default: break;
  }
  put_text(out, spec, a);
}

bool is_digit(u32 c) { return c >= '0' && c <= '9'; }

// Reads a number of a format at `at`, or * and then an argument.
i64 read_number(mica_string format, i64 &at, i64 count, const mica_argument *arguments, i64 &next) {
  if (at < format.length && format.data[at] == '*') {
    at++;
    if (next >= count) return 0;
    i64 value = static_cast<i64>(arguments[next++].word0);
    return value > 1000000 ? 1000000 : value < -1000000 ? -1000000 : value;
  }
  i64 value = 0;
  for (; at < format.length && is_digit(format.data[at]); at++) {
    if (value < 1000000) value = value * 10 + (format.data[at] - '0');
  }
  return value > 1000000 ? 1000000 : value;
}

void format_text(Text &out, mica_string format, i64 count, const mica_argument *arguments) {
  i64 next = 0;
  for (i64 at = 0; at < format.length;) {
    if (format.data[at] != '%') {
      out.put_code(format.data[at++]);
      continue;
    }
    i64 start = at++;
    if (at < format.length && format.data[at] == '%') {
      out.put_char('%');
      at++;
      continue;
    }
    Spec spec;
    for (bool more = true; more && at < format.length;) {
      switch (format.data[at]) {
      case '-': spec.minus = true; break;
      case '+': spec.plus = true; break;
      case ' ': spec.space = true; break;
      case '#': spec.hash = true; break;
      case '0': spec.zero = true; break;
      default: more = false; continue;
      }
      at++;
    }
    spec.width = read_number(format, at, count, arguments, next);
    if (spec.width < 0) {
      spec.minus = true;
      spec.width = -spec.width;
    }
    if (at < format.length && format.data[at] == '.') {
      at++;
      spec.precision = read_number(format, at, count, arguments, next);
      if (spec.precision < 0) spec.precision = -1;
    }
    int h = 0, l = 0;
    for (; at < format.length; at++) {
      u32 c = format.data[at];
      if (c == 'h') {
        h++;
      } else if (c == 'l') {
        l++;
      } else if (c != 'L' && c != 'q' && c != 'j' && c != 'z' && c != 't') {
        break;
      }
    }
    spec.length = h >= 2 ? 1 : h == 1 ? 2 : l == 1 ? 3 : l >= 2 ? 4 : 0;
    if (at >= format.length || next >= count) { // nothing to convert: the text stands as it is
      for (i64 i = start; i < at; i++) out.put_code(format.data[i]);
      continue;
    }
    spec.conversion = format.data[at++];
    put_value(out, spec, arguments[next++]);
  }
}
} // namespace
} // namespace mica::rt

using namespace mica::rt;

void mica_print(mica_string format, int64_t count, const mica_argument *arguments, int32_t newline) {
  Text out;
  format_text(out, format, count, arguments);
  if (newline) out.put_char('\n');
  fwrite(out.data, 1, static_cast<size_t>(out.length), stdout);
}

mica_string mica_format(mica_string format, int64_t count, const mica_argument *arguments) {
  Text out;
  out.raw = false;
  format_text(out, format, count, arguments);
  return mica_string_from_utf8(out.data, out.length);
}

void mica_flush(void) { fflush(stdout); }
