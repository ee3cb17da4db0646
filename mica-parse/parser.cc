#include "parser.h"

#include "hints.h"

namespace mica::parse {
namespace {

/// Parentheses leave no node, so the recursion may go deeper than a tree; the stage's stack has room for it.
constexpr int kMaxNesting = 20000;

} // namespace

// ---- tokens and messages ---------------------------------------------------------------------------------

bool Parser::accept(std::string_view word) {
  if (!is(word)) return false;
  lex_.next();
  return true;
}

std::string Parser::shown() const {
  switch (lex_.kind) {
  case Token::end: return "the end of the source";
  case Token::string: return "a string";
  case Token::unicode: return "a character";
  default: break;
  }
  if (lex_.text.size() <= 40) return "`" + std::string(lex_.text) + "`";
  size_t length = 40; // a cut falls between code points
  while (length && (static_cast<unsigned char>(lex_.text[length]) & 0xC0) == 0x80) --length;
  return "`" + std::string(lex_.text.substr(0, length)) + "...`";
}

void Parser::error(Place place, std::string_view message, std::string_view hint) {
  const bool said = said_ && (place == said_ || lex_.place == said_);
  said_ = lex_.place;
  if (said || lex_.follows_error(place.line)) return;
  if (hint.empty() && lex_.kind == Token::name) hint = word_hint(lex_.text);
  diag_.error(place, message, hint);
}

void Parser::fail(std::string_view message, std::string_view hint) {
  error(lex_.place, message, hint);
  throw Recover();
}

/// Takes `word` or reports and gives up what is being parsed.
void Parser::expect(std::string_view word, const char *where, const char *hint) {
  if (!want(word, where, hint)) throw Recover();
}

/// Takes `word`, or reports that it is missing and goes on as if it stood there.
bool Parser::want(std::string_view word, const char *where, const char *hint) {
  if (accept(word)) return true;
  error(lex_.place, "expected `" + std::string(word) + "` " + where + ", not " + shown(), hint);
  if (!is_misspelt(word)) return false;
  lex_.next();
  return true;
}

/// Whether the name at hand was meant to be `word`: `Do`, `thn`, `off`.
bool Parser::is_misspelt(std::string_view word) const {
  if (lex_.kind != Token::name || lex_.text.size() < 2 || lex_.text.size() > 12) return false;
  std::string lower(lex_.text);
  for (char &c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 32);
  if (lower != word && spectra::nearest_name(lower, {std::string(word)}).empty()) return false;
  const std::string_view next = lex_.ahead(1).text;
  return next != ":=" && next != "(" && next != "[" && next != "." && next != ":" && next != ",";
}

/// Where a statement is wanted: a keyword in capitals, which no statement could be, is reported and taken for
/// the keyword.
void Parser::mend_capitals() {
  if (lex_.kind != Token::name || keyword_in_capitals(lex_.text).empty()) return;
  const Lexer next = lex_.ahead(1);
  if (next.text == ":=" || next.text == "(" || next.text == "[" || next.text == "=" || next.text == ":" ||
      (next.text == "." && next.ahead(1).kind == Token::name))
    return;
  error(lex_.place, "unknown word `" + std::string(lex_.text) + "`");
  lex_.take_as_keyword();
}

/// A missing `;` is shown where it should stand, which is usually the line before.
void Parser::want_semicolon(const char *what) {
  if (accept(";")) return;
  if (lex_.follows_error(lex_.after.line)) {
    said_ = lex_.place;
    return;
  }
  const char *hint = "";
  if (is("=") || is(":="))
    hint = "constants and types are defined by `=`, variables get a first value by `:=`";
  if (is(",")) hint = "declarations are separated by `;`";
  if (is(")") || is("]")) hint = "this bracket was never opened";
  error(lex_.kind == Token::end || lex_.place.line == lex_.after.line ? lex_.place : lex_.after,
        std::string("expected `;` after ") + what + ", not " + shown(), hint);
  if (accept(",")) said_ = {}; // read on as if it were the `;`
}

std::string_view Parser::token_text() {
  if (!lex_.value.empty()) return tree_.keep(lex_.value);
  return tree_.keep(lex_.text);
}

Node *Parser::take_name(NodeKind kind, const char *what) {
  if (lex_.kind == Token::keyword) {
    error(lex_.place, "`" + std::string(lex_.text) + "` is a keyword and can't be " + what,
          "choose another name");
    lex_.next(); // so that it is not taken for what it usually begins
    throw Recover();
  }
  if (lex_.kind != Token::name) fail(std::string("expected ") + what + ", not " + shown());
  Node *n = node(kind, lex_.place, token_text());
  lex_.next();
  return n;
}

/// Behind the operator `first`: refuses what only together with the next token means something elsewhere.
void Parser::refuse_foreign_operator(std::string_view first) {
  if (!lex_.glued || lex_.kind != Token::punct) return;
  const ForeignOperator *foreign = find_foreign_operator(first, lex_.text);
  if (foreign) fail(foreign->message, foreign->hint);
}

void Parser::enter() {
  if (++depth_ <= kMaxNesting) return;
  --depth_;
  error(lex_.place, "nested too deeply", "name the inner parts with variables or procedures");
  throw Fatal();
}

// ---- where the grammar looks ahead -----------------------------------------------------------------------

bool Parser::is_like() const {
  if (!is_soft("like")) return false;
  const Lexer next = lex_.ahead(1);
  if (next.text == "on" && next.ahead(1).text == "gpu") return false; // a type of that name, on the card
  return next.kind == Token::name || next.text == "(";
}

bool Parser::starts_external() const {
  if (!is_soft("external")) return false;
  const Lexer next = lex_.ahead(1);
  return next.kind == Token::keyword && (next.text == "function" || next.text == "procedure");
}

bool Parser::starts_exports() const { return is_soft("exp") && lex_.ahead(1).kind == Token::name; }

/// A procedure's type has its parenthesis where a declaration has a name.
bool Parser::starts_declaration() const {
  if (is("imp") || is("const") || is("type") || is("var")) return true;
  return (is("procedure") || is("function")) && lex_.ahead(1).text != "(";
}

bool Parser::ends_unit() const { return is("end") && lex_.ahead(1).text == "."; }

bool Parser::at_unit_end() const { return is(".") && lex_.previous == "end"; }

// ---- recovery --------------------------------------------------------------------------------------------

/// Skips to the `;` that ends the statement at hand, or to a word that begins or ends another, past nested
/// blocks.
void Parser::skip_to_statement_end() {
  int depth = 0;
  for (; lex_.kind != Token::end; lex_.next()) {
    if (is("begin") || is("case") || is("tape") || is("repeat"))
      ++depth;
    else if (depth && (is("end") || is("until")))
      --depth;
    else if (!depth && (is(";") || ends_statements()))
      return;
    else if (starts_declaration())
      return;
  }
}

/// Skips to `word` inside the statement at hand; false where the statement ends before it.
bool Parser::skip_to_word(std::string_view word) {
  while (lex_.kind != Token::end && !is(";") && !is("begin") && !ends_statements()) {
    if (is(word)) return true;
    lex_.next();
  }
  return is(word);
}

/// Skips behind the `;` that ends a constant, type, variable or import, or to what begins the next
/// declaration.
void Parser::skip_item() {
  int records = 0;
  for (; lex_.kind != Token::end && !is("begin"); lex_.next()) {
    if (is("record")) ++records;
    if (is("end") && records-- == 0) return;
    if (starts_declaration() && !records) return;
    if (is(";") && records <= 0) {
      lex_.next();
      return;
    }
  }
}

/// Skips behind the parenthesis that closes a procedure's parameters, or to the head's `;`.
void Parser::skip_past_parameters() {
  int depth = 1;
  for (; lex_.kind != Token::end && !is("begin"); lex_.next()) {
    if (is(";") && lex_.ahead(1).kind != Token::name) return; // behind `;` in parameters stands a name
    if (is("(")) ++depth;
    if (is(")") && --depth == 0) {
      lex_.next();
      return;
    }
  }
}

/// Skips to the next declaration or to the body's `begin`.
void Parser::skip_to_declaration() {
  while (lex_.kind != Token::end && !starts_declaration() && !is("begin")) lex_.next();
}

// ---- the unit --------------------------------------------------------------------------------------------

Node *Parser::parse_head() {
  const bool object = is("object");
  if (!object && !is("program")) {
    if (lex_.kind == Token::end) {
      error(lex_.place, "the source is empty", "a program begins with `program NAME;`");
      throw Fatal();
    }
    error(lex_.place, "a source begins with `program NAME;` or `object NAME;`, not " + shown());
    if (!starts_declaration() && !is("begin")) throw Fatal();
    return node(NodeKind::program, lex_.place);
  }
  lex_.next();
  Node *unit = node(object ? NodeKind::object : NodeKind::program, lex_.place);
  try {
    unit = take_name(unit->kind, "the unit's name");
    if (is("(")) fail("a program has no parameters", "`Argument(i)` gives the words of the command line");
    want_semicolon("the unit's name");
  } catch (const Recover &) {
    skip_item();
  }
  return unit;
}

void Parser::parse_unit() {
  try {
    Node *unit = parse_head();
    tree_.root = unit;
    parse_declarations(unit);
    if (is("begin"))
      unit->add(parse_block());
    else if (unit->is(NodeKind::object))
      expect("end", "at the unit's end");
    else
      fail("expected `begin` and the program's statements, not " + shown());
    if (!is("."))
      fail("expected `.` after the unit's last `end`, not " + shown(),
           is(";")
               ? "the last `end` is followed by a full stop; if this is not the last, one `end` is too many"
               : "");
    // What follows is ignored, so it is not the text's either.
    std::vector<std::string> &lines = tree_.sources[0].lines;
    lines.resize(lex_.place.line);
    lines.back().resize(lex_.line_bytes());
    if (!diag_.errors()) check_depth();
  } catch (const Recover &) {
  } catch (const Fatal &) {
  }
}

/// A tree deeper than the limit is refused at the first node beyond it.
void Parser::check_depth() {
  std::vector<Node *> path{tree_.root};
  while (!path.empty()) {
    Node *n = path.back();
    if (n->first && path.size() <= static_cast<size_t>(spectra::kMaxTreeDepth)) {
      path.push_back(n->first);
      continue;
    }
    if (n->first) {
      error(n->place, "nested too deeply", "name the inner parts with variables or procedures");
      return;
    }
    while (!path.empty() && !path.back()->next) path.pop_back();
    if (path.size() == 1) return; // the root's own siblings: none
    if (!path.empty()) path.back() = path.back()->next;
  }
}

} // namespace mica::parse
