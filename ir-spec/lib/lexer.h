// The tokens of the operation levels (SPECTRA.md 1). Line ends are tokens, since an operation is a line.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace spectra {

enum class Token : uint8_t {
  end, ///< of the text
  newline,
  word,    ///< a name without a sign: `add`, `f32`
  value,   ///< `%x`
  symbol,  ///< `@x`
  local,   ///< `$x`
  integer, ///< `-12`
  real,    ///< `1.5e-3`, `inf`, `-inf`, `nan:0x...`
  string,  ///< `"..."`; `text` is still quoted
  punct,   ///< one of ( ) { } [ ] < > , : = ^ . ! and `->`, `..`
  bad      ///< a byte that begins no token, or a string without its end
};

class Lexer {
public:
  explicit Lexer(std::string_view text) : text_(text) { next(); }

  Token kind = Token::end;
  std::string_view text; ///< the token's bytes; names without their sign
  uint32_t line = 1;
  uint32_t column = 1; ///< in bytes from 1: these texts are mostly ASCII and columns only point into them

  void next();
  bool is(char c) const { return kind == Token::punct && text.size() == 1 && text[0] == c; }
  bool is(std::string_view punct) const { return kind == Token::punct && text == punct; }
  bool is_word(std::string_view w) const { return kind == Token::word && text == w; }
  /// At a line's start: the rest of this raw line without its end, and moves to the next line's first token.
  std::string_view take_raw_line();
  bool at_end() const { return kind == Token::end; }

private:
  void take(Token k, size_t from, size_t to) {
    kind = k;
    text = text_.substr(from, to - from);
    at_ = to;
  }
  std::string_view text_;
  size_t at_ = 0;
  size_t line_start_ = 0;
  size_t token_start_ = 0;
  bool pending_line_ = false;
};

/// The bytes of a quoted string; false where an escape is wrong.
bool unquote(std::string_view quoted, std::string &out);

} // namespace spectra
