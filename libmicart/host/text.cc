// Bytes that grow, and UTF-8 both ways.
#include "runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

namespace mica::rt {

Text::~Text() { release(data); }

void Text::reserve(i64 more) {
  if (length + more + 1 <= capacity) return;
  i64 wanted = capacity * 2 > length + more + 1 ? capacity * 2 : length + more + 1;
  if (wanted < 128) wanted = 128;
  data = static_cast<char *>(reallocate(data, wanted));
  capacity = wanted;
}

void Text::put(const char *bytes, i64 count) {
  if (count <= 0) return;
  reserve(count);
  memcpy(data + length, bytes, static_cast<size_t>(count));
  length += count;
}

void Text::put(const char *zero_ended) { put(zero_ended, static_cast<i64>(strlen(zero_ended))); }

void Text::put_repeated(char c, i64 count) {
  if (count <= 0) return;
  reserve(count);
  memset(data + length, c, static_cast<size_t>(count));
  length += count;
}

void Text::put_code(u32 code) {
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) code = 0xFFFD;
  char bytes[4];
  int count = 0;
  if (code < 0x80) {
    bytes[count++] = static_cast<char>(code);
  } else if (code < 0x800) {
    bytes[count++] = static_cast<char>(0xC0 | code >> 6);
    bytes[count++] = static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    bytes[count++] = static_cast<char>(0xE0 | code >> 12);
    bytes[count++] = static_cast<char>(0x80 | (code >> 6 & 0x3F));
    bytes[count++] = static_cast<char>(0x80 | (code & 0x3F));
  } else {
    bytes[count++] = static_cast<char>(0xF0 | code >> 18);
    bytes[count++] = static_cast<char>(0x80 | (code >> 12 & 0x3F));
    bytes[count++] = static_cast<char>(0x80 | (code >> 6 & 0x3F));
    bytes[count++] = static_cast<char>(0x80 | (code & 0x3F));
  }
  put(bytes, count);
}

void Text::put_byte(u8 byte) {
  if (raw) {
    put_char(static_cast<char>(byte));
  } else {
    put_code(byte);
  }
}

void Text::put_string(mica_string s) {
  for (i64 i = 0; i < s.length; i++) put_code(s.data[i]);
}

void Text::putf(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  reserve(256);
  int count = vsnprintf(data + length, static_cast<size_t>(capacity - length), format, arguments);
  if (count >= capacity - length) {
    reserve(count);
    count = vsnprintf(data + length, static_cast<size_t>(capacity - length), format, again);
  }
  if (count > 0) length += count;
  va_end(again);
  va_end(arguments);
}

const char *Text::zero_ended() {
  reserve(1);
  data[length] = 0;
  return data;
}

// After the Unicode standard's table 3-7 of well-formed sequences: each maximal ill-formed part gives one
// U+FFFD.
u32 decode_utf8(const char *bytes, i64 length, i64 &at) {
  u8 first = static_cast<u8>(bytes[at++]);
  if (first < 0x80) return first;
  int more = first >= 0xC2 && first <= 0xDF   ? 1
             : first >= 0xE0 && first <= 0xEF ? 2
             : first >= 0xF0 && first <= 0xF4 ? 3
                                              : 0;
  if (more == 0) return 0xFFFD;
  u8 low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  u8 high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  u32 code = first & (0x3Fu >> more);
  for (int i = 0; i < more; i++) {
    if (at >= length) return 0xFFFD;
    u8 next = static_cast<u8>(bytes[at]);
    if (next < low || next > high) return 0xFFFD;
    code = code << 6 | (next & 0x3F);
    low = 0x80;
    high = 0xBF;
    at++;
  }
  return code;
}

i64 count_codes(const char *bytes, i64 length) {
  i64 count = 0;
  for (i64 i = 0; i < length; i++) count += (static_cast<u8>(bytes[i]) & 0xC0) != 0x80;
  return count;
}

const char *bytes_in_words(i64 bytes, char *buffer, size_t size) {
  static const char *const kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) {
    snprintf(buffer, size, "%lld bytes", static_cast<long long>(bytes));
    return buffer;
  }
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  while (value >= 1023.95 && unit < 5) {
    value /= 1024;
    unit++;
  }
  snprintf(buffer, size, "%.1f %s", value, kUnits[unit]);
  return buffer;
}

} // namespace mica::rt
