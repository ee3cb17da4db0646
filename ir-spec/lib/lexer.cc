#include "lexer.h"

namespace spectra {
namespace {

bool name_start(char c) {
  unsigned char b = static_cast<unsigned char>(c);
  return (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || b == '_' || b == '\'' || b >= 0x80;
}
bool digit(char c) { return c >= '0' && c <= '9'; }
/// Inside a name; a dot only where another name byte follows, so that `..` and a field's dot stay tokens
/// after `^` or `]`.
bool name_byte(char c) { return name_start(c) || digit(c); }

} // namespace

void Lexer::next() {
  if (pending_line_) {
    ++line;
    line_start_ = at_;
    pending_line_ = false;
  }
  while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  token_start_ = at_;
  column = static_cast<uint32_t>(at_ - line_start_ + 1);
  if (at_ >= text_.size()) return take(Token::end, at_, at_);
  char c = text_[at_];
  auto peek = [&](size_t ahead) { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; };
  auto name_end = [&](size_t i, bool dots) {
    while (i < text_.size() && (name_byte(text_[i]) ||
                                (dots && text_[i] == '.' && i + 1 < text_.size() && name_byte(text_[i + 1]))))
      ++i;
    return i;
  };
  if (c == '\n') {
    pending_line_ = true;
    return take(Token::newline, at_, at_ + 1);
  }
  if ((c == '%' || c == '@' || c == '$') && name_byte(peek(1))) {
    size_t from = at_ + 1;
    size_t to = name_end(from, true);
    return take(c == '%' ? Token::value : c == '@' ? Token::symbol : Token::local, from, to);
  }
  bool minus = c == '-' && (digit(peek(1)) || text_.substr(at_ + 1, 3) == "inf");
  if (digit(c) || minus) {
    size_t i = at_ + (minus ? 1 : 0);
    if (minus && !digit(text_[i])) return take(Token::real, at_, i + 3);
    bool real = false;
    while (i < text_.size() && digit(text_[i])) ++i;
    if (i + 1 < text_.size() && text_[i] == '.' && digit(text_[i + 1])) {
      real = true;
      ++i;
      while (i < text_.size() && digit(text_[i])) ++i;
    }
    if (i < text_.size() && text_[i] == 'e') {
      size_t j = i + 1;
      if (j < text_.size() && (text_[j] == '+' || text_[j] == '-')) ++j;
      if (j < text_.size() && digit(text_[j])) {
        real = true;
        while (j < text_.size() && digit(text_[j])) ++j;
        i = j;
      }
    }
    return take(real ? Token::real : Token::integer, at_, i);
  }
  if (name_start(c)) {
    size_t to = name_end(at_, true);
    std::string_view word = text_.substr(at_, to - at_);
    if (word == "inf") return take(Token::real, at_, to);
    if (word == "nan" && text_.substr(to, 3) == ":0x") return take(Token::real, at_, name_end(to + 3, false));
    return take(Token::word, at_, to);
  }
  if (c == '"') {
    size_t i = at_ + 1;
    while (i < text_.size() && text_[i] != '"' && text_[i] != '\n') i += text_[i] == '\\' ? 2 : 1;
    if (i >= text_.size() || text_[i] != '"') return take(Token::bad, at_, at_ + 1);
    return take(Token::string, at_, i + 1);
  }
  if (c == '-' && peek(1) == '>') return take(Token::punct, at_, at_ + 2);
  if (c == '.' && peek(1) == '.') return take(Token::punct, at_, at_ + 2);
  if (std::string_view("(){}[]<>,:=^.!|").find(c) != std::string_view::npos)
    return take(Token::punct, at_, at_ + 1);
  take(Token::bad, at_, at_ + 1);
}

std::string_view Lexer::take_raw_line() {
  size_t end = text_.find('\n', token_start_);
  std::string_view raw = text_.substr(token_start_, end == std::string_view::npos ? end : end - token_start_);
  at_ = end == std::string_view::npos ? text_.size() : end + 1;
  pending_line_ = end != std::string_view::npos;
  next();
  return raw;
}

bool unquote(std::string_view quoted, std::string &out) {
  auto hex = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  out.clear();
  if (quoted.size() < 2) return false;
  for (size_t i = 1; i + 1 < quoted.size(); ++i) {
    char c = quoted[i];
    if (static_cast<unsigned char>(c) < 0x20) return false;
    if (c != '\\') {
      out += c;
      continue;
    }
    switch (quoted[++i]) {
    case 'n': out += '\n'; break;
    case 't': out += '\t'; break;
    case 'r': out += '\r'; break;
    case '"': out += '"'; break;
    case '\\': out += '\\'; break;
    case 'x': {
      if (i + 3 >= quoted.size() || hex(quoted[i + 1]) < 0 || hex(quoted[i + 2]) < 0) return false;
      out += static_cast<char>(hex(quoted[i + 1]) * 16 + hex(quoted[i + 2]));
      i += 2;
      break;
    }
    default: return false;
    }
  }
  return true;
}

} // namespace spectra
