#include "parser.h"

namespace mica::parse {
namespace {

/// Parentheses leave no node, so the recursion may go deeper than a tree; the stage's stack has room for it.
constexpr int kMaxNesting = 20000;

} // namespace

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
  default: return "`" + std::string(lex_.text.substr(0, 40)) + "`";
  }
}

void Parser::fail(std::string_view message, std::string_view hint) {
  error(lex_.place, message, hint);
  throw Recover();
}

void Parser::expect(std::string_view word, const char *where, const char *hint) {
  if (accept(word)) return;
  fail("expected `" + std::string(word) + "` " + where + ", not " + shown(), hint);
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

void Parser::enter() {
  if (++depth_ <= kMaxNesting) return;
  error(lex_.place, "nested too deeply", "name the inner parts with variables or procedures");
  throw Fatal();
}

bool Parser::starts_declaration() const {
  return is("imp") || is("const") || is("type") || is("var") || is("procedure") || is("function");
}

/// Skips to the `;` that ends the statement at hand, or to a word that begins or ends another, past nested
/// blocks.
void Parser::skip_to_statement_end() {
  int depth = 0;
  for (; lex_.kind != Token::end; lex_.next()) {
    if (is("begin") || is("case") || is("record") || is("tape") || is("repeat"))
      ++depth;
    else if (depth && (is("end") || is("until")))
      --depth;
    else if (!depth && (is(";") || is("end") || is("until") || is("else")))
      return;
    else if (is("procedure") || is("function") || is("const") || is("type") || is("imp"))
      return;
  }
}

/// Skips to the next declaration or to the body's `begin`.
void Parser::skip_to_declaration() {
  while (lex_.kind != Token::end && !starts_declaration() && !is("begin")) lex_.next();
}

void Parser::parse_unit() {
  try {
    bool object = is("object");
    if (!object && !is("program")) {
      if (lex_.kind == Token::end) fail("the source is empty", "a program begins with `program NAME;`");
      fail("a source begins with `program NAME;` or `object NAME;`, not " + shown());
    }
    lex_.next();
    Node *unit = take_name(object ? NodeKind::object : NodeKind::program, "the unit's name");
    tree_.root = unit;
    expect(";", "after the unit's name");
    if (object) parse_exports(unit);
    parse_declarations(unit);
    if (is("begin")) {
      unit->add(parse_block());
    } else if (!object) {
      fail("expected `begin` and the program's statements, not " + shown());
    } else {
      expect("end", "at the unit's end");
    }
    if (!is("."))
      fail("expected `.` after the unit's last `end`, not " + shown(),
           is(";") ? "the last `end` is followed by a full stop" : "");
    // What follows is ignored, so its lines are not the text's either.
    tree_.sources[0].lines.resize(lex_.place.line);
    check_depth();
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
