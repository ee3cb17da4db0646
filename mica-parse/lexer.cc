#include "lexer.h"

#include "spectra/unicode.h"
#include <charconv>
#include <cmath>
#include <unordered_set>

namespace mica::parse {
namespace {

/// ⁰¹²³⁴⁵⁶⁷⁸⁹ and ₀ to ₉: no XID_Continue, but names such as β₁ and x² want them.
bool is_raised_digit(uint32_t c) {
  return c == 0xB2 || c == 0xB3 || c == 0xB9 || c == 0x2070 || (c >= 0x2074 && c <= 0x2079) ||
         (c >= 0x2080 && c <= 0x2089);
}

/// Nearly every name is ASCII, so that is decided without the tables.
bool starts_name(uint32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  return spectra::is_name_start(c);
}
bool continues_name(uint32_t c) {
  if (c < 0x80) return starts_name(c) || (c >= '0' && c <= '9');
  return spectra::is_name_continue(c) || is_raised_digit(c);
}
bool digit(char c) { return c >= '0' && c <= '9'; }
bool hex_digit(char c) { return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::string code_text(uint32_t code) {
  static const char *digits = "0123456789ABCDEF";
  std::string hex;
  for (int shift = code > 0xFFFF ? 20 : 12; shift >= 0; shift -= 4) hex += digits[code >> shift & 15];
  return "U+" + hex;
}

const std::unordered_set<std::string_view> kKeywords = {
    "address", "and",    "array", "as",     "begin",  "break",    "case",    "const",     "continue",
    "do",      "downto", "else",  "end",    "for",    "function", "if",      "imp",       "leave",
    "matrix",  "mod",    "not",   "object", "of",     "or",       "pointer", "procedure", "program",
    "record",  "repeat", "shl",   "shr",    "tape",   "tensor",   "then",    "to",        "tracked",
    "type",    "until",  "value", "var",    "vector", "while",    "xor"};

} // namespace

bool is_keyword(std::string_view word) { return kKeywords.count(word) > 0; }

std::string_view keyword_in_capitals(std::string_view word) {
  if (word.size() > 16) return {};
  std::string lower(word);
  for (char &c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 32);
  if (lower == word) return {};
  const auto found = kKeywords.find(lower);
  return found == kKeywords.end() ? std::string_view() : *found;
}

void Lexer::take_as_keyword() {
  kind = Token::keyword;
  text = keyword_in_capitals(text);
}

Lexer::Lexer(std::string_view source, std::vector<std::string> &lines, spectra::Diag &diag)
    : source_(source), lines_(lines), diag_(&diag) {
  if (source_.starts_with("\xEF\xBB\xBF")) source_.remove_prefix(3); // a byte order mark moves no column
  // The caret display wants the line of a message even while the lexer is in its middle, so lines are split
  // first.
  for (size_t from = 0; from <= source_.size();) {
    size_t to = from;
    while (to < source_.size() && source_[to] != '\n' && source_[to] != '\r') ++to;
    lines_.emplace_back(source_.substr(from, to - from));
    if (to >= source_.size()) break;
    from = to + (source_.substr(to, 2) == "\r\n" ? 2 : 1);
  }
  next();
}

void Lexer::error(spectra::Place at, std::string_view message, std::string_view hint) {
  error_line_ = at.line;
  if (diag_) diag_->error(at, message, hint);
}

Lexer Lexer::ahead(int tokens) const {
  Lexer copy(*this);
  copy.diag_ = nullptr;
  try {
    while (tokens--) copy.next();
  } catch (const Fatal &) { // said when the parser comes there
    copy.kind = Token::end;
    copy.text = {};
  }
  return copy;
}

void Lexer::advance(size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    if ((static_cast<unsigned char>(source_[cursor_ + i]) & 0xC0) != 0x80) ++column_;
  cursor_ += bytes;
}

void Lexer::advance_line(size_t end_bytes) {
  cursor_ += end_bytes;
  line_start_ = cursor_;
  ++line_;
  column_ = 1;
}

uint32_t Lexer::peek_code(size_t &length) {
  size_t after = cursor_;
  uint32_t code = spectra::decode_utf8(source_, after);
  if (code == spectra::kBadUtf8) {
    error({0, line_, column_}, "the source is not UTF-8 here", "save the file as UTF-8");
    throw Fatal();
  }
  length = after - cursor_;
  return code;
}

void Lexer::skip_blanks() {
  for (;;) {
    char c = at();
    if (cursor_ >= source_.size()) return;
    if (c == '\r' && at(1) == '\n')
      advance_line(2);
    else if (c == '\n' || c == '\r')
      advance_line(1);
    else if (c == ' ' || c == '\t' || c == '\f' || c == '\v')
      advance(1);
    else if (c == '{')
      skip_comment();
    else if (c == '(' && at(1) == '*') // no Mica text holds either of these two
      skip_foreign_comment("*)");
    else if (c == '/' && at(1) == '*')
      skip_foreign_comment("*/");
    else if (c == '/' && at(1) == '/') {
      while (cursor_ < source_.size() && at() != '\n' && at() != '\r') {
        size_t length = 1;
        peek_code(length);
        advance(length);
      }
    } else
      return;
    glued = false;
  }
}

void Lexer::skip_comment() {
  const spectra::Place opened{0, line_, column_};
  for (int depth = 0;;) {
    if (cursor_ >= source_.size()) {
      error(opened, "this comment is never closed", "comments nest: every `{` inside it needs its own `}`");
      throw Fatal();
    }
    char c = at();
    if (c == '{') ++depth;
    if (c == '}') --depth;
    if (c == '\r' && at(1) == '\n')
      advance_line(2);
    else if (c == '\n' || c == '\r')
      advance_line(1);
    else {
      size_t length = 1;
      peek_code(length);
      advance(length);
    }
    if (depth == 0) return;
  }
}

/// `(* ... *)` and `/* ... */` are skipped as one, so that a comment of another language costs one message.
void Lexer::skip_foreign_comment(std::string_view closing) {
  error({0, line_, column_}, "`" + std::string(source_.substr(cursor_, 2)) + "` begins no comment",
        "comments are `{ ... }` and `// ...`");
  const size_t close = source_.find(closing, cursor_ + 2);
  const size_t end = close == std::string_view::npos ? cursor_ + 2 : close + 2;
  while (cursor_ < end) {
    if (at() == '\r' && at(1) == '\n')
      advance_line(2);
    else if (at() == '\n' || at() == '\r')
      advance_line(1);
    else {
      size_t length = 1;
      peek_code(length);
      advance(length);
    }
  }
}

void Lexer::next() {
  after = {0, line_, column_};
  previous = text;
  swallowed_ = swallow_next_;
  swallow_next_ = false;
  for (;;) {
    glued = true;
    skip_blanks();
    place = {0, line_, column_};
    value.clear();
    if (cursor_ >= source_.size()) {
      kind = Token::end;
      text = {};
      return;
    }
    char c = at();
    if (digit(c)) return lex_number();
    if (c == '\'' || c == '"') return lex_quoted(c);
    size_t length = 1;
    uint32_t code = peek_code(length);
    if (starts_name(code)) return lex_name();
    if (std::string_view("()[],;:.=#<>+-*/").find(c) != std::string_view::npos) return lex_punct();

    // A character that begins nothing: said once, with the way out where a habit of another language explains
    // it.
    std::string shown = code < 0x20 || code == 0x7F || code == 0xFEFF
                            ? code_text(code)
                            : std::string(source_.substr(cursor_, length));
    const char *hint = "";
    if (c == '!')
      hint = "not equal is `#`, negation is `not`";
    else if (c == '&')
      hint = "the logical operator is `and`; a variable's address is `address x`";
    else if (c == '|')
      hint = "the logical operator is `or`";
    else if (c == '%')
      hint = "the remainder is `mod`";
    else if (c == '^')
      hint = "a pointer is followed by `value p`, `p.field` or `p[i]`; its type is `pointer T`";
    else if (c == '@')
      hint = "a variable's address is `address x`";
    else if (c == '}')
      hint = "no comment is open here";
    else if (code == 0xFEFF)
      hint = "a byte order mark stands only at a file's start";
    error(place, "unexpected character `" + shown + "`", hint);
    if (code == 0) throw Fatal(); // a binary file would only repeat itself
    char first = c;
    do advance(length);
    while (length == 1 && at() == first && (first == '&' || first == '|'));
  }
}

void Lexer::lex_name() {
  size_t start = cursor_;
  bool ascii = true;
  size_t length = 1;
  while (cursor_ < source_.size() && continues_name(peek_code(length))) {
    ascii &= length == 1;
    advance(length);
  }
  text = source_.substr(start, cursor_ - start);
  if (!ascii) value = spectra::to_nfc(text);
  if (value == text) value.clear();
  kind = is_keyword(text) ? Token::keyword : Token::name;
}

void Lexer::lex_number() {
  size_t start = cursor_;
  kind = Token::integer;
  auto digits = [&](bool (*accepts)(char)) {
    bool any = false;
    while (accepts(at()) || (any && at() == '_' && accepts(at(1)))) {
      any = true;
      advance(1);
    }
    return any;
  };
  if (at() == '0' && (at(1) == 'x' || at(1) == 'X' || at(1) == 'b' || at(1) == 'B')) {
    bool hex = at(1) == 'x' || at(1) == 'X';
    advance(2);
    if (!digits(hex ? hex_digit : [](char c) { return c == '0' || c == '1'; }))
      error(place,
            hex ? "a hexadecimal number needs digits after `0x`" : "a binary number needs digits after `0b`");
  } else {
    digits(digit);
    if (at() == '.' && digit(at(1))) {
      kind = Token::real;
      advance(1);
      digits(digit);
    }
    if (at() == 'e' || at() == 'E') {
      size_t sign = at(1) == '+' || at(1) == '-' ? 2 : 1;
      if (digit(at(sign))) {
        kind = Token::real;
        advance(sign);
        digits(digit);
      }
    }
  }
  size_t length = 1;
  if (cursor_ < source_.size() && continues_name(peek_code(length))) {
    const spectra::Place here{0, line_, column_};
    while (cursor_ < source_.size() && continues_name(peek_code(length))) advance(length);
    error(here, "a number ends in letters: `" + std::string(source_.substr(start, cursor_ - start)) + "`",
          "put a blank or an operator between a number and a name");
  }
  text = source_.substr(start, cursor_ - start);
  check_number();
}

/// A number that no type can hold.
void Lexer::check_number() {
  std::string digits;
  for (char c : text)
    if (c != '_') digits += c;
  if (kind == Token::real) {
    double value = 0;
    std::from_chars_result read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec == std::errc::result_out_of_range && std::isinf(std::strtod(digits.c_str(), nullptr)))
      error(place, "the number is too large for float64", "its largest value is 1.7976931348623157e+308");
    return;
  }
  if (digits.size() < 33) return;
  const bool hex = digits[1] == 'x' || digits[1] == 'X';
  const bool binary = !hex && (digits[1] == 'b' || digits[1] == 'B');
  unsigned __int128 value = 0;
  for (char c : std::string_view(digits).substr(hex || binary ? 2 : 0)) {
    const int digit_value = digit(c) ? c - '0' : (c | 32) - 'a' + 10;
    if (__builtin_mul_overflow(value,
                               static_cast<unsigned __int128>(hex      ? 16
                                                              : binary ? 2
                                                                       : 10),
                               &value) ||
        __builtin_add_overflow(value, static_cast<unsigned __int128>(digit_value), &value)) {
      error(place, "the number is too large for every integer type",
            "the largest is uint128's, 340282366920938463463374607431768211455");
      return;
    }
  }
}

uint32_t Lexer::lex_escape() { // at the backslash
  const spectra::Place here{0, line_, column_};
  char c = at(1);
  static constexpr std::string_view kLetters = "ntrabfv0\\\"'?";
  static constexpr std::string_view kBytes{"\n\t\r\a\b\f\v\0\\\"'?", 12};
  size_t simple = kLetters.find(c);
  if (c != '\0' && simple != std::string_view::npos) {
    advance(2);
    return static_cast<unsigned char>(kBytes[simple]);
  }
  if (c == 'u' && at(2) == '{') {
    advance(3);
    uint32_t code = 0;
    int count = 0;
    for (; hex_digit(at()); advance(1), ++count) {
      char h = at();
      code = code << 4 | static_cast<uint32_t>(digit(h) ? h - '0' : (h | 32) - 'a' + 10);
      if (count >= 6) code = 0x110000;
    }
    bool good = count > 0 && at() == '}' && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    if (at() == '}') advance(1);
    if (!good) error(here, "this is no code point", "write `\\u{1F600}`, up to 10FFFF and no surrogate");
    return good ? code : '?';
  }
  size_t length = 1;
  advance(1);
  if (cursor_ < source_.size() && at() != '\n' && at() != '\r') {
    peek_code(length);
    error(here, "unknown escape `\\" + std::string(source_.substr(cursor_, length)) + "`",
          "the escapes are \\n \\t \\r \\a \\b \\f \\v \\0 \\\\ \\\" \\' \\? and \\u{1F600}");
    advance(length);
  }
  return '?';
}

void Lexer::lex_quoted(char quote) {
  size_t start = cursor_;
  advance(1);
  int count = 0;
  uint32_t last = 0;
  bool closed = true;
  for (;;) {
    char c = at();
    if (cursor_ >= source_.size() || c == '\n' || c == '\r') {
      error(place,
            quote == '"' ? "this string is not closed on its line"
                         : "this character is not closed on its line",
            quote == '"' ? "end it with `\"`; `\\n` starts a new line inside a string" : "write it as 'a'");
      swallow_next_ = true;
      closed = false;
      break;
    }
    if (c == quote) {
      advance(1);
      break;
    }
    if (c == '\\')
      last = lex_escape();
    else {
      size_t length = 1;
      last = peek_code(length);
      advance(length);
    }
    spectra::append_utf8(value, last);
    ++count;
  }
  text = source_.substr(start, cursor_ - start);
  kind = quote == '"' ? Token::string : Token::unicode;
  if (quote == '"') return;
  if (closed && count != 1)
    error(place, "a character in single quotes is one code point, not " + std::to_string(count),
          "text stands in double quotes");
  value = std::to_string(last);
}

void Lexer::lex_punct() {
  static constexpr std::string_view kPairs[] = {":=", "..", ".*", "./", "<=", ">="};
  size_t length = 1;
  for (std::string_view pair : kPairs)
    if (source_.substr(cursor_, 2) == pair) length = 2;
  if (at() == '.' && at(1) == '/' && at(2) == '/') length = 1; // `end.// a comment`
  kind = Token::punct;
  text = source_.substr(cursor_, length);
  advance(length);
}

} // namespace mica::parse
