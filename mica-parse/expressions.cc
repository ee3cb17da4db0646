// Expressions, strongest first: postfix; address value not -; as; * / .* ./ mod and shl shr; + - or xor;
// comparisons.
#include "parser.h"

namespace mica::parse {

/// Operands with operators of one level between them, flat; a single operand stands for itself.
template <class Operand, class IsOperator>
Node *Parser::parse_chain(const Operand &operand, const IsOperator &is_operator) {
  Node *first = operand();
  if (!is_operator()) return first;
  Node *chain = node(NodeKind::chain, lex_.place);
  chain->add(first);
  while (is_operator()) {
    Node *op = node(NodeKind::operator_, lex_.place, token_text());
    lex_.next();
    refuse_foreign_operator(op->text);
    chain->add(op);
    chain->add(operand());
  }
  return chain;
}

Node *Parser::parse_expression() {
  Deeper deeper(*this);
  return parse_chain([&] { return parse_sum(); },
                     [&] { return is("=") || is("#") || is("<") || is("<=") || is(">") || is(">="); });
}

Node *Parser::parse_sum() {
  return parse_chain([&] { return parse_product(); },
                     [&] { return is("+") || is("-") || is("or") || is("xor"); });
}

Node *Parser::parse_product() {
  return parse_chain([&] { return parse_as(); },
                     [&] {
                       return is("*") || is("/") || is(".*") || is("./") || is("mod") || is("and") ||
                              is("shl") || is("shr");
                     });
}

Node *Parser::parse_as() {
  Node *operand = parse_unary();
  while (is("as")) {
    Node *as = node(NodeKind::as, lex_.place);
    lex_.next();
    as->add(operand);
    if (lex_.kind == Token::keyword)
      fail("expected a type's name after `as`, not " + shown(), "give the type a name with `type` first");
    as->add(take_name(NodeKind::named, "a type's name"));
    operand = as;
  }
  return operand;
}

Node *Parser::parse_unary() {
  Place place = lex_.place;
  NodeKind kind = is("-")         ? NodeKind::negate
                  : is("not")     ? NodeKind::not_
                  : is("address") ? NodeKind::address
                                  : NodeKind::value;
  if (kind == NodeKind::value && !is("value")) return parse_postfix();
  Deeper deeper(*this);
  lex_.next();
  Node *unary = node(kind, place);
  unary->add(parse_unary());
  return unary;
}

Node *Parser::parse_postfix() {
  Node *base = parse_primary();
  for (;;) {
    Place place = lex_.place;
    if (accept("[")) {
      Node *index = node(NodeKind::index, place);
      index->add(base);
      do index->add(parse_subscript());
      while (accept(","));
      expect("]", "after the index");
      base = index;
    } else if (is(".") && !at_unit_end()) {
      lex_.next();
      Node *member = take_name(NodeKind::member, "a field's name");
      member->add(base);
      base = member;
    } else if (accept("(")) {
      Node *call = node(NodeKind::call, place);
      call->add(base);
      if (!is(")")) do {
          if (is("var"))
            fail("an argument needs no `var`", "the procedure's head says which parameters are by reference");
          call->add(parse_expression());
        } while (accept(","));
      expect(")", "after the arguments", is(":=") ? "arguments are given by their order" : "");
      base = call;
    } else
      return base;
  }
}

/// An index or a case label: one value or a range of them.
Node *Parser::parse_subscript() {
  Node *low = parse_expression();
  Place place = lex_.place;
  if (!accept("..")) return low;
  Node *range = node(NodeKind::range, place);
  range->add(low);
  range->add(parse_expression());
  return range;
}

Node *Parser::parse_primary() {
  Place place = lex_.place;
  if (is("(")) {
    Deeper deeper(*this);
    lex_.next();
    Node *inner = parse_expression();
    if (is(","))
      fail("expected `)` to close the parenthesis, not `,`",
           "a list of values stands behind a verb or a procedure");
    expect(")", "to close the parenthesis");
    return inner;
  }
  NodeKind kind = NodeKind::name;
  switch (lex_.kind) {
  case Token::name: kind = NodeKind::name; break;
  case Token::integer: kind = NodeKind::integer; break;
  case Token::real: kind = NodeKind::real; break;
  case Token::unicode: kind = NodeKind::unicode; break;
  case Token::string: {
    Node *text = node(NodeKind::string, place, tree_.keep(lex_.value));
    lex_.next();
    return text;
  }
  default: refuse_value();
  }
  Node *n = node(kind, place, token_text());
  lex_.next();
  return n;
}

/// What stands here begins no value; the token before it often says why.
void Parser::refuse_value() {
  if (is(":=")) fail("`:=` assigns and is no value", "a comparison for equality is `=`");
  std::string_view hint;
  if (is("+")) hint = "a positive number has no sign";
  if (is(".")) hint = "a number begins with a digit: `0.5`";
  if (is("-") && lex_.previous == "-") hint = "write `x := x - 1`";
  if (is(";") && lex_.glued && lex_.previous == "-") hint = "there is no `--`: write `x := x - 1`";
  if (is("[")) hint = "an array is filled cell by cell, a whole value by `Filled(v)`";
  if (is("if")) hint = "`if` is a statement; cell by cell there is `Select(c, a, b)`";
  if (is("function") || is("procedure")) hint = "a procedure needs a name of its own before it is passed";
  if (is("vector") || is("matrix") || is("tensor") || is("array") || is("record") || is("pointer"))
    hint = "a type stands behind `:` or `as`, or gets a name by `type`";
  error(lex_.place, "expected a value, not " + shown(), hint);
  if (is("if")) // its `else` is no statement's
    while (!is(";") && !is("end") && lex_.kind != Token::end) lex_.next();
  throw Recover();
}

} // namespace mica::parse
