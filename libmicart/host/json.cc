// The little of JSON that the header of a safetensors file needs; bad text is told, never followed outside
// its end.
#include "tensors.h"

namespace mica::rt {

void Json::skip_blank() {
  while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) at++;
}

bool Json::take(char c) {
  skip_blank();
  if (at >= end || *at != c) return false;
  at++;
  return true;
}

bool Json::expect(char c) {
  if (!take(c)) failed = true;
  return !failed;
}

namespace {
int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Four hexadecimal digits behind \u, or -1.
i64 read_unit(Json &json) {
  if (json.end - json.at < 4) return -1;
  i64 unit = 0;
  for (int i = 0; i < 4; i++) {
    int digit = hex_digit(*json.at++);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}
} // namespace

bool Json::read_string(Text &out) {
  out.length = 0;
  if (!expect('"')) return false;
  while (at < end && *at != '"') {
    char c = *at++;
    if (static_cast<u8>(c) < 0x20) failed = true; // no text of JSON holds such a byte as itself
    if (c != '\\') {
      out.put_char(c);
      continue;
    }
    if (at >= end) break;
    c = *at++;
    switch (c) {
    case 'n': out.put_char('\n'); break;
    case 't': out.put_char('\t'); break;
    case 'r': out.put_char('\r'); break;
    case 'b': out.put_char('\b'); break;
    case 'f': out.put_char('\f'); break;
    case 'u': {
      i64 unit = read_unit(*this);
      if (unit >= 0xD800 && unit < 0xDC00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
        at += 2;
        i64 low = read_unit(*this);
        unit = low < 0 ? -1 : 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
      }
      if (unit <= 0) { // a zero would end the text early
        failed = true;
        return false;
      }
      out.put_code(static_cast<u32>(unit));
      break;
    }
    default: out.put_char(c); break;
    }
  }
  return expect('"');
}

i64 Json::read_integer() {
  skip_blank();
  i64 value = 0;
  const char *start = at;
  for (; at < end && *at >= '0' && *at <= '9'; at++) {
    if (value > (INT64_MAX - 9) / 10) failed = true;
    if (!failed) value = value * 10 + (*at - '0');
  }
  if (at == start) failed = true;
  return value;
}

void Json::skip_value(int depth) {
  skip_blank();
  if (failed || at >= end || depth > 64) {
    failed = true;
    return;
  }
  if (*at == '"') {
    Text ignored;
    read_string(ignored);
  } else if (*at == '{' || *at == '[') {
    bool object = *at++ == '{';
    char close = object ? '}' : ']';
    if (take(close)) return;
    do {
      if (object) {
        Text ignored;
        read_string(ignored);
        expect(':');
      }
      skip_value(depth + 1);
    } while (!failed && take(','));
    expect(close);
  } else {
    const char *start = at;
    while (at < end && *at != ',' && *at != '}' && *at != ']' && *at > ' ') at++;
    if (at == start) failed = true;
  }
}

void put_json_string(Text &out, const char *text) {
  out.put_char('"');
  for (; *text; text++) {
    u8 c = static_cast<u8>(*text);
    if (c == '"' || c == '\\') out.put_char('\\');
    if (c < 0x20) {
      out.putf("\\u%04x", c);
    } else {
      out.put_char(static_cast<char>(c));
    }
  }
  out.put_char('"');
}

} // namespace mica::rt
