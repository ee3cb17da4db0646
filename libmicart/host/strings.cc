// Strings: immutable texts of code points. What an operation makes stays until the program ends.
#include "runtime.h"

#include <string.h>

using namespace mica::rt;

namespace {
uint32_t *make_codes(int64_t count) { return static_cast<uint32_t *>(allocate(count * 4)); }
} // namespace

mica_string mica_string_concat(mica_string a, mica_string b) {
  if (a.length == 0) return b;
  if (b.length == 0) return a;
  uint32_t *codes = make_codes(a.length + b.length);
  memcpy(codes, a.data, static_cast<size_t>(a.length) * 4);
  memcpy(codes + a.length, b.data, static_cast<size_t>(b.length) * 4);
  return {codes, a.length + b.length};
}

mica_string mica_string_character(uint32_t code) {
  uint32_t *codes = make_codes(1);
  codes[0] = code;
  return {codes, 1};
}

mica_string mica_string_from_utf8(const char *bytes, int64_t length) {
  if (length <= 0) return {nullptr, 0};
  uint32_t *codes = make_codes(length);
  int64_t count = 0;
  for (int64_t at = 0; at < length;) codes[count++] = decode_utf8(bytes, length, at);
  if (count < length) codes = static_cast<uint32_t *>(reallocate(codes, count * 4));
  return {codes, count};
}

char *mica_string_to_utf8(mica_string s, int64_t *length) {
  Text text;
  text.put_string(s);
  text.zero_ended();
  if (length) *length = text.length;
  char *bytes = text.data;
  text.data = nullptr;
  return bytes;
}

void mica_string_free_utf8(char *bytes) { release(bytes); }

int32_t mica_string_equal(mica_string a, mica_string b) {
  return a.length == b.length &&
         (a.length == 0 || memcmp(a.data, b.data, static_cast<size_t>(a.length) * 4) == 0);
}

int32_t mica_string_compare(mica_string a, mica_string b) {
  int64_t shared = a.length < b.length ? a.length : b.length;
  for (int64_t i = 0; i < shared; i++) {
    if (a.data[i] != b.data[i]) return a.data[i] < b.data[i] ? -1 : 1;
  }
  return a.length < b.length ? -1 : a.length > b.length ? 1 : 0;
}

int32_t mica_parse(mica_string s, int32_t type, void *out) {
  Text text;
  text.put_string(s);
  return parse_number(text.zero_ended(), text.length, type, out);
}
