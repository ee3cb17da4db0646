// Statements: lists, blocks, `tape`, assignments and calls. Control flow is in control.cc.
#include "parser.h"

#include "hints.h"
#include <utility>

namespace mica::parse {

/// Words that no statement begins with and that a list of statements leaves to those around it.
bool Parser::ends_statements() const {
  return is("end") || is("until") || is("else") || lex_.kind == Token::end || starts_declaration();
}

/// Whether what stands here belongs to those around the block; otherwise it is reported and read over.
bool Parser::leaves_block() const {
  if (is("else")) return arms_ > 0;
  if (is("until")) return repeats_ > 0;
  return ends_statements() || at_unit_end();
}

/// Statements separated by `;` up to the word that ends them. Each error costs one statement.
void Parser::parse_statements(Node *block) {
  const uint32_t column = lex_.place.column;
  for (;;) {
    skip_inner_declarations(column);
    block->add(parse_guarded_statement());
    while (is("else") || is("until")) {
      if (leaves_block()) return;
      const bool behind_semicolon = lex_.previous == ";";
      if (is("else"))
        error(lex_.place, "this `else` belongs to no `if`",
              behind_semicolon ? "no `;` stands before `else`" : "several statements need `begin` and `end`");
      else
        error(lex_.place, "this `until` belongs to no `repeat`");
      const bool branch = is("else");
      lex_.next();
      if (branch)
        block->add(parse_guarded_statement());
      else
        skip_to_statement_end();
    }
    if (accept(";")) {
      skip_inner_declarations(column);
      if (leaves_block()) return; // a `;` before `end` adds no empty statement
      continue;
    }
    if (leaves_block()) return; // a missing `end` is said by who opened the block
    // Behind a whole statement stands something else: where it could be the next statement, only the `;` is
    // missing.
    const bool next_line = lex_.place.line != lex_.after.line;
    error(next_line ? lex_.after : lex_.place, "expected `;` or the end of the block, not " + shown(),
          is("=")              ? "assignment is `:=`"
          : is(")") || is("]") ? "this bracket was never opened"
                               : "");
    mend_capitals();
    if (leaves_block()) return;
    if (lex_.kind == Token::name || lex_.kind == Token::keyword) continue;
    skip_to_statement_end();
    accept(";");
    if (leaves_block()) return;
  }
}

/// Declarations among statements, told from those after a missing `end` by standing where the statements do.
void Parser::skip_inner_declarations(uint32_t column) {
  while ((is("var") || is("const") || is("type")) && lex_.place.column >= column) {
    error(lex_.place, "declarations don't stand among statements",
          "what a procedure declares stands between its head and its `begin`");
    while (!is(";") && !is("end") && lex_.kind != Token::end) lex_.next();
    accept(";");
  }
}

Node *Parser::parse_guarded_statement() {
  Place place = lex_.place;
  mend_capitals();
  try {
    return parse_statement();
  } catch (const Recover &) {
    skip_to_statement_end();
    return node(NodeKind::empty, place);
  }
}

/// Takes the `end` of what `word` opened, or reports that it is missing and goes on as if it stood there.
void Parser::end_block(const char *word, Place opened) {
  if (accept("end")) return;
  error(lex_.place, "expected `end` for the `" + std::string(word) + "` of line " +
                        std::to_string(opened.line) + ", not " + shown());
}

/// begin ... end
Node *Parser::parse_block() {
  Node *block = node(NodeKind::block, lex_.place);
  expect("begin", "");
  const int repeats = std::exchange(repeats_, 0);
  const int arms = std::exchange(arms_, 0);
  if (!is("end")) parse_statements(block);
  repeats_ = repeats;
  arms_ = arms;
  end_block("begin", block->place);
  return block;
}

/// tape ... end
Node *Parser::parse_tape() {
  Node *n = node(NodeKind::tape, lex_.place);
  Node *block = node(NodeKind::block, lex_.place);
  lex_.next();
  const int repeats = std::exchange(repeats_, 0);
  const int arms = std::exchange(arms_, 0);
  if (!is("end")) parse_statements(block);
  repeats_ = repeats;
  arms_ = arms;
  n->add(block);
  end_block("tape", n->place);
  return n;
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

Node *Parser::parse_assign_or_call() {
  if (lex_.kind != Token::name && !is("(") && !is("value")) {
    if (is("then") || is("do") || is("of") || is("to") || is("downto"))
      fail("this `" + std::string(lex_.text) + "` belongs to no statement");
    if (is("address") || is("not") || is("-") || (lex_.kind != Token::keyword && lex_.kind != Token::punct)) {
      error(lex_.place, "this is no statement", "a statement assigns, calls or controls");
      throw Recover();
    }
    fail("expected a statement, not " + shown());
  }
  const Node *target = nullptr;
  Node *written = parse_unary();
  target = written;
  Place place = lex_.place;
  if (accept(":=")) {
    Node *assign = node(NodeKind::assign, place);
    assign->add(written);
    refuse_foreign_operator(":=");
    assign->add(parse_expression());
    if (is(":=")) fail("one assignment, one target", "write `a := x; b := x`");
    return assign;
  }
  if (is("=")) { // read as the assignment that was meant
    error(lex_.place, "`=` compares", "assignment is `:=`");
    lex_.next();
    refuse_foreign_operator("=");
    parse_expression();
    return node(NodeKind::empty, place);
  }
  if (!target->is(NodeKind::call)) refuse_statement(target);
  Node *call = node(NodeKind::call_statement, target->first->place);
  call->add(written);
  return call;
}

/// An expression stands where a statement should: the message depends on what follows it.
void Parser::refuse_statement(const Node *target) {
  if (lex_.kind == Token::punct) {
    const Lexer next = lex_.ahead(1);
    if (next.glued && next.kind == Token::punct) {
      const std::string_view first = lex_.text;
      if (first == "-" && next.text == "-") fail("`--` is no operator", "write `x := x - 1`");
      if (first != "=" && first != "<" && first != ">") {
        lex_.next();
        refuse_foreign_operator(first);
        fail("this is no statement", "a statement assigns, calls or controls");
      }
    }
  }
  if (is(":"))
    fail("a variable can't be declared among statements",
         "variables are declared after `var`, before `begin`");
  if (is(",")) fail("one assignment has one target", "write `a := x; b := y`");
  std::string_view hint = "a statement assigns, calls or controls";
  if (target->is(NodeKind::name) || target->is(NodeKind::member))
    hint = "a call has parentheses, also without arguments; assignment is `:=`";
  if (target->is(NodeKind::name) && !word_hint(target->text).empty()) hint = word_hint(target->text);
  error(target->place, "this is no statement", hint);
  throw Recover();
}

} // namespace mica::parse
