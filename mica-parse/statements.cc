// Statements.
#include "parser.h"

namespace mica::parse {

bool Parser::ends_statements() const {
  return is("end") || is("until") || is("else") || lex_.kind == Token::end || is("procedure") ||
         is("function") || is("const") || is("type") || is("imp") || is("var");
}

/// Statements separated by `;` up to the word that ends them. Each error costs one statement.
void Parser::parse_statements(Node *block) {
  for (;;) {
    block->add(parse_guarded_statement());
    if (accept(";")) {
      if (ends_statements()) return; // a `;` before `end` adds no empty statement
      continue;
    }
    if (ends_statements() || is(".")) return; // a block's missing `end` is said by who opened it
    error(lex_.place, "expected `;` or the end of the block, not " + shown(),
          is("=") ? "assignment is `:=`" : "");
    skip_to_statement_end();
    if (!accept(";") || ends_statements()) return;
  }
}

Node *Parser::parse_guarded_statement() {
  Place place = lex_.place;
  try {
    return parse_statement();
  } catch (const Recover &) {
    skip_to_statement_end();
    return node(NodeKind::empty, place);
  }
}

Node *Parser::parse_block() {
  Node *block = node(NodeKind::block, lex_.place);
  Place opened = lex_.place;
  expect("begin", "");
  if (!is("end")) parse_statements(block);
  if (!accept("end")) {
    error(lex_.place,
          "expected `end` for the `begin` of line " + std::to_string(opened.line) + ", not " + shown());
    throw Recover();
  }
  return block;
}

Node *Parser::parse_statement() {
  Deeper deeper(*this);
  Place place = lex_.place;
  if (is("begin")) return parse_block();
  if (is("if")) return parse_if();
  if (is("while")) return parse_while();
  if (is("repeat")) return parse_repeat();
  if (is("for")) return parse_for();
  if (is("case")) return parse_case();
  if (is("tape")) return parse_tape();
  if (accept("leave")) return node(NodeKind::leave, place);
  if (accept("break")) return node(NodeKind::break_, place);
  if (accept("continue")) return node(NodeKind::continue_, place);
  if (is(";") || ends_statements()) return node(NodeKind::empty, place);
  return parse_assign_or_call();
}

Node *Parser::parse_if() {
  Node *n = node(NodeKind::if_, lex_.place);
  lex_.next();
  n->add(parse_expression());
  if (is(":=")) fail("`:=` assigns and is no condition", "a comparison for equality is `=`");
  expect("then", "after the condition of `if`");
  n->add(parse_statement());
  if (accept("else")) n->add(parse_statement());
  return n;
}

Node *Parser::parse_while() {
  Node *n = node(NodeKind::while_, lex_.place);
  lex_.next();
  n->add(parse_expression());
  expect("do", "after the condition of `while`");
  n->add(parse_statement());
  return n;
}

Node *Parser::parse_repeat() {
  Node *n = node(NodeKind::repeat, lex_.place);
  Node *block = node(NodeKind::block, lex_.place);
  lex_.next();
  if (!is("until")) parse_statements(block);
  n->add(block);
  expect("until", "and the condition that ends `repeat`");
  n->add(parse_expression());
  return n;
}

Node *Parser::parse_for() {
  Node *n = node(NodeKind::for_, lex_.place);
  lex_.next();
  n->add(parse_postfix());
  if (is("=")) fail("the counter is set by `:=`", "write `for i := 1 to 10 do`");
  expect(":=", "after the counter of `for`");
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
  }
  expect("do", "after the last value of `for`");
  n->add(parse_statement());
  return n;
}

Node *Parser::parse_case() {
  Node *n = node(NodeKind::case_, lex_.place);
  lex_.next();
  n->add(parse_expression());
  expect("of", "after the value of `case`");
  while (!is("end") && !is("else")) {
    if (accept(";")) continue;
    Node *arm = node(NodeKind::arm, lex_.place);
    Node *labels = node(NodeKind::labels, lex_.place);
    do labels->add(parse_subscript());
    while (accept(","));
    expect(":", "after the labels of `case`");
    arm->add(labels);
    arm->add(parse_guarded_statement());
    n->add(arm);
    if (!is("end") && !is("else") && !accept(";"))
      fail("expected `;`, `else` or `end` after an arm of `case`, not " + shown());
  }
  if (is("else")) {
    Node *otherwise = node(NodeKind::otherwise, lex_.place);
    Node *block = node(NodeKind::block, lex_.place);
    lex_.next();
    if (!is("end")) parse_statements(block);
    otherwise->add(block);
    n->add(otherwise);
  }
  expect("end", "after the arms of `case`");
  return n;
}

Node *Parser::parse_tape() {
  Node *n = node(NodeKind::tape, lex_.place);
  Node *block = node(NodeKind::block, lex_.place);
  Place opened = lex_.place;
  lex_.next();
  if (!is("end")) parse_statements(block);
  n->add(block);
  if (!accept("end"))
    fail("expected `end` for the `tape` of line " + std::to_string(opened.line) + ", not " + shown());
  return n;
}

Node *Parser::parse_assign_or_call() {
  Node *target = parse_unary();
  Place place = lex_.place;
  if (accept(":=")) {
    Node *assign = node(NodeKind::assign, place);
    assign->add(target);
    assign->add(parse_expression());
    return assign;
  }
  if (is("=")) fail("`=` compares", "assignment is `:=`");
  if (target->kind != NodeKind::call) {
    error(target->place, "this is no statement",
          target->kind == NodeKind::name || target->kind == NodeKind::member
              ? "a call has parentheses, also without arguments; assignment is `:=`"
              : "a statement assigns, calls or controls");
    throw Recover();
  }
  Node *call = node(NodeKind::call_statement, target->first->place);
  call->add(target);
  return call;
}

} // namespace mica::parse
