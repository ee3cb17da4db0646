// Statements that control: if, while, repeat, for, case.
#include "parser.h"

#include <utility>

namespace mica::parse {

/// The condition, count or selector before `word`. An error inside it costs nothing of what stands behind the
/// word.
void Parser::parse_condition(Node *parent, const char *word, const char *where) {
  try {
    parent->add(parse_expression());
    if (is(":=")) fail("`:=` assigns and is no condition", "a comparison for equality is `=`");
  } catch (const Recover &) {
    if (!skip_to_word(word)) throw;
  }
  if (want(word, where)) return;
  // What follows could be the statement itself; else it belongs to the broken expression.
  if (lex_.kind != Token::name && lex_.kind != Token::keyword) {
    if (!skip_to_word(word)) throw Recover();
    accept(word);
  }
}

Node *Parser::parse_if() {
  Node *n = node(NodeKind::if_, lex_.place);
  lex_.next();
  parse_condition(n, "then", "after the condition of `if`");
  n->add(parse_statement());
  if (accept("else")) n->add(parse_statement());
  return n;
}

Node *Parser::parse_while() {
  Node *n = node(NodeKind::while_, lex_.place);
  lex_.next();
  parse_condition(n, "do", "after the condition of `while`");
  n->add(parse_statement());
  return n;
}

Node *Parser::parse_repeat() {
  Node *n = node(NodeKind::repeat, lex_.place);
  Node *block = node(NodeKind::block, lex_.place);
  lex_.next();
  const int arms = std::exchange(arms_, 0);
  ++repeats_;
  if (!is("until")) parse_statements(block);
  --repeats_;
  arms_ = arms;
  n->add(block);
  if (!is("until"))
    fail("expected `until` and a condition for the `repeat` of line " + std::to_string(n->place.line) +
         ", not " + shown());
  lex_.next();
  n->add(parse_expression());
  return n;
}

Node *Parser::parse_for() {
  Node *n = node(NodeKind::for_, lex_.place);
  lex_.next();
  try {
    n->add(parse_postfix());
    if (is("=")) {
      error(lex_.place, "the counter is set by `:=`", "write `for i := 1 to 10 do`");
      lex_.next();
    } else {
      expect(":=", "after the counter of `for`", "write `for i := 1 to 10 do`");
    }
    n->add(parse_expression());
    if (accept("downto"))
      n->kind = NodeKind::for_down;
    else
      expect("to", "or `downto` after the first value of `for`");
    n->add(parse_expression());
    if (is_soft("by")) {
      Node *by = node(NodeKind::by, lex_.place);
      lex_.next();
      by->add(parse_expression());
      n->add(by);
    } else if (is_soft("step")) {
      fail("expected `do` after the last value of `for`, not `step`", "write `for i := 1 to 10 by 2 do`");
    }
  } catch (const Recover &) {
    if (!skip_to_word("do")) throw;
  }
  want("do", "after the last value of `for`");
  n->add(parse_statement());
  return n;
}

Node *Parser::parse_case() {
  Node *n = node(NodeKind::case_, lex_.place);
  lex_.next();
  parse_condition(n, "of", "after the value of `case`");
  ++arms_;
  const int repeats = std::exchange(repeats_, 0);
  while (!is("end") && !is("else") && !is("until") && !ends_statements() && !at_unit_end())
    if (!accept(";")) parse_arm(n);
  --arms_;
  if (is("else")) {
    Node *otherwise = node(NodeKind::otherwise, lex_.place);
    Node *block = node(NodeKind::block, lex_.place);
    lex_.next();
    const int arms = std::exchange(arms_, 0);
    if (!is("end")) parse_statements(block);
    arms_ = arms;
    otherwise->add(block);
    n->add(otherwise);
  }
  repeats_ = repeats;
  end_block("case", n->place);
  return n;
}

/// 1, 3..5 : statement
void Parser::parse_arm(Node *parent) {
  Node *arm = node(NodeKind::arm, lex_.place);
  Node *labels = node(NodeKind::labels, lex_.place);
  arm->add(labels);
  parent->add(arm);
  try {
    do labels->add(parse_subscript());
    while (accept(","));
    if (is(":="))
      fail("expected a label of `case`, not an assignment",
           "several statements of an arm need `begin` and `end`");
    expect(":", "after the labels of `case`");
    arm->add(parse_statement());
  } catch (const Recover &) {
    skip_to_statement_end();
  }
  if (is(";") || leaves_block()) return;
  error(lex_.place, "expected `;`, `else` or `end` after an arm of `case`, not " + shown());
  skip_to_statement_end();
}

} // namespace mica::parse
