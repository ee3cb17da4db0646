// Tokens of Mica source, one at a time: text after the program's final `end.` is never looked at.
#pragma once
#include "spectra/diag.h"
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mica::parse {

enum class Token : uint8_t {
  end,  ///< of the source
  name, ///< also the words that are keywords only where the grammar expects them: exp external gpu on by like
  keyword, ///< `text` says which
  integer,
  real,
  unicode, ///< `value` holds the code point's number
  string,  ///< `value` holds the text, escapes resolved
  punct    ///< `text` is the operator or the bracket
};

/// After this the source can't be read on: its error has been reported.
struct Fatal : std::runtime_error {
  Fatal() : std::runtime_error("fatal") {}
};

class Lexer {
public:
  /// `lines` receives the source's lines as they are met, for the carets of messages.
  Lexer(std::string_view source, std::vector<std::string> &lines, spectra::Diag &diag);

  Token kind = Token::end;
  std::string_view text; ///< as written
  std::string value;     ///< unicode, string; for a name its form C where that differs from `text`
  spectra::Place place;
  bool glued = false;        ///< no blank before this token
  spectra::Place after;      ///< just behind the token before this one
  std::string_view previous; ///< the token before this one, as written
  /// How many bytes of its line the source has up to the end of this token.
  size_t line_bytes() const { return cursor_ - line_start_; }
  /// A message about this line, or before this one after an unclosed string, would only follow from an error
  /// that the lexer has reported.
  bool follows_error(uint32_t line) const {
    return line == error_line_ || (swallowed_ && line == place.line);
  }

  void next();
  void take_as_keyword(); ///< the name at hand stands for the keyword that it is in lower case
  /// The lexer `tokens` further on, which reports nothing: for the few places where the grammar needs to look
  /// ahead.
  Lexer ahead(int tokens) const;

private:
  void skip_blanks();
  void skip_comment();
  void skip_foreign_comment(std::string_view closing);
  void lex_name();
  void lex_number();
  void check_number();
  void lex_quoted(char quote);
  uint32_t lex_escape();
  void lex_punct();
  /// The code point at the cursor; reports and gives up where it is no UTF-8.
  uint32_t peek_code(size_t &length);
  void advance(size_t bytes); ///< within a line
  void advance_line(size_t end_bytes);
  char at(size_t ahead = 0) const {
    return cursor_ + ahead < source_.size() ? source_[cursor_ + ahead] : '\0';
  }

  std::string_view source_;
  std::vector<std::string> &lines_;
  spectra::Diag *diag_; ///< null while looking ahead
  size_t cursor_ = 0;
  size_t line_start_ = 0;
  uint32_t line_ = 1;
  uint32_t column_ = 1;
  uint32_t error_line_ = 0;
  bool swallowed_ =
      false; ///< the token before this one was a string without its end, which took the line's rest
  bool swallow_next_ = false;
  void error(spectra::Place at, std::string_view message, std::string_view hint = {});
};

bool is_keyword(std::string_view word);
std::string_view keyword_in_capitals(std::string_view word); ///< `end` for `END`; empty for every other word

} // namespace mica::parse
