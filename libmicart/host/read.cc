// Reading from standard input: values stand apart by blanks and line ends; a string takes the rest of its
// line and a unicode one code point. What was printed so far is written out first, so that a question stands
// before its answer.
#include "runtime.h"

#include <stdio.h>
#include <string.h>

using namespace mica::rt;

namespace {
int next_byte() {
  int c = getc_unlocked(stdin);
  return c;
}
void put_back(int c) {
  if (c != EOF) ungetc(c, stdin);
}
bool is_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

mica_string read_line(const char *file, int line) {
  Text text;
  int c = next_byte();
  if (c == EOF) mica_fail(file, line, "the input has ended: a string was to be read");
  for (; c != EOF && c != '\n'; c = next_byte()) text.put_char(static_cast<char>(c));
  put_back(c);
  if (text.length && text.data[text.length - 1] == '\r') text.length--;
  return mica_string_from_utf8(text.data, text.length);
}

uint32_t read_code(const char *file, int line) {
  char bytes[4];
  int c = next_byte();
  if (c == EOF) mica_fail(file, line, "the input has ended: a unicode was to be read");
  int64_t length = 0;
  bytes[length++] = static_cast<char>(c);
  int more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : c >= 0xC0 ? 1 : 0;
  for (; more > 0; more--) {
    c = next_byte();
    if (c == EOF || (c & 0xC0) != 0x80) {
      put_back(c);
      break;
    }
    bytes[length++] = static_cast<char>(c);
  }
  int64_t at = 0;
  return decode_utf8(bytes, length, at);
}
} // namespace

void mica_read(const char *file, int32_t line, int32_t type, void *out) {
  fflush(stdout);
  if (type == MICA_STRING) {
    mica_string text = read_line(file, line);
    memcpy(out, &text, sizeof text);
    return;
  }
  if (type == MICA_UNICODE) {
    uint32_t code = read_code(file, line);
    memcpy(out, &code, sizeof code);
    return;
  }
  int c = next_byte();
  while (is_space(c)) c = next_byte();
  Text word;
  for (; c != EOF && !is_space(c); c = next_byte()) word.put_char(static_cast<char>(c));
  put_back(c);
  if (word.length == 0) mica_fail(file, line, "the input has ended: a %s was to be read", type_name(type));
  if (!parse_number(word.zero_ended(), word.length, type, out)) {
    mica_fail(file, line, "`%.80s` in the input is no %s, or outside its range", word.zero_ended(),
              type_name(type));
  }
}

void mica_read_end(void) {
  for (int c = next_byte(); c != EOF && c != '\n';) c = next_byte();
}
