// Types.
#include "parser.h"

namespace mica::parse {

/// [tracked] plain [on gpu]
Node *Parser::parse_type() {
  Deeper deeper(*this);
  Place place = lex_.place;
  if (accept("tracked")) {
    Node *tracked = node(NodeKind::tracked, place);
    tracked->add(parse_type());
    return tracked;
  }
  Node *type = parse_plain_type();
  if (is_soft("on")) {
    Node *on = node(NodeKind::on_gpu, lex_.place);
    lex_.next();
    if (!is_soft("gpu")) fail("expected `gpu` after `on`, not " + shown());
    lex_.next();
    on->add(type);
    return on;
  }
  return type;
}

Node *Parser::parse_plain_type() {
  Place place = lex_.place;
  if (is("vector") || is("matrix") || is("tensor")) return parse_whole_type();
  if (is("array")) return parse_array();
  if (is("record")) return parse_record();
  if (is("procedure") || is("function")) return parse_procedure_type();
  if (is_like()) return parse_like();
  if (is_enumeration()) return parse_enumeration();
  if (accept("pointer")) {
    if (accept("array")) {
      Node *slice = node(NodeKind::pointer_array, place);
      expect("of", "after `pointer array`", "a pointer array has no bounds: its length is known at run time");
      slice->add(parse_type());
      return slice;
    }
    Node *pointer = node(NodeKind::pointer, place);
    pointer->add(parse_type());
    return pointer;
  }
  return parse_range_or_name();
}

Node *Parser::parse_whole_type() {
  Node *whole = node(is("vector")   ? NodeKind::vector
                     : is("matrix") ? NodeKind::matrix
                                    : NodeKind::tensor,
                     lex_.place);
  lex_.next();
  if (is("[")) {
    Node *sizes = node(NodeKind::sizes, lex_.place);
    lex_.next();
    do sizes->add(parse_expression());
    while (accept(","));
    expect("]", "after the sizes");
    whole->add(sizes);
  }
  expect("of", "and the cells' type", "write `matrix[8, 2] of float32`");
  if (is("tracked"))
    fail("expected the cells' type, not `tracked`",
         "`tracked` stands before the whole: `tracked matrix[8, 2] of float32`");
  // Only a name: `on gpu` behind it belongs to the whole value.
  whole->add(take_name(NodeKind::named, "the cells' type"));
  return whole;
}

Node *Parser::parse_array() {
  Node *array = node(NodeKind::array, lex_.place);
  lex_.next();
  expect("[", "after `array`",
         "write `array[1..10] of int32`; a length known at run time is a `pointer array of int32`");
  do {
    if (lex_.kind == Token::integer && (lex_.ahead(1).text == "]" || lex_.ahead(1).text == ","))
      fail("an array's index is a range or an ordinal type, not " + shown(),
           "write `array[0..9]` for ten elements");
    array->add(parse_type());
  } while (accept(","));
  expect("]", "after the array's indices");
  expect("of", "and the elements' type");
  array->add(parse_type());
  return array;
}

Node *Parser::parse_record() {
  Node *record = node(NodeKind::record, lex_.place);
  lex_.next();
  while (lex_.kind == Token::name || lex_.kind == Token::keyword) {
    if (is("end") || starts_declaration() || is("begin")) break;
    Node *field = node(NodeKind::field_decl, lex_.place);
    try {
      do field->add(take_name(NodeKind::name, "a field's name"));
      while (accept(","));
      expect(":", "between the fields and their type", "write `a, b : int32`");
      field->add(parse_type());
    } catch (const Recover &) { // costs one field
      while (lex_.kind != Token::end && !is(";") && !is("end") && !is("begin") && !starts_declaration())
        lex_.next();
    }
    record->add(field);
    if (is("end")) break;
    want_semicolon("the field");
  }
  if (!accept("end"))
    fail("expected `end` for the `record` of line " + std::to_string(record->place.line) + ", not " +
         shown());
  return record;
}

/// `(red, green)`, not the range `(N + 1)..9`.
bool Parser::is_enumeration() const {
  if (!is("(")) return false;
  const Lexer first = lex_.ahead(1);
  if (first.kind != Token::name) return first.kind == Token::keyword || first.text == ")";
  const Lexer second = first.ahead(1);
  if (second.text != ")") return second.text == ",";
  const std::string_view third = second.ahead(1).text;
  return third != ".." && third != "+" && third != "-" && third != "*" && third != "/";
}

Node *Parser::parse_enumeration() {
  Node *enumeration = node(NodeKind::enumeration, lex_.place);
  lex_.next();
  do enumeration->add(take_name(NodeKind::name, "a value of the enumeration"));
  while (accept(","));
  expect(")", "after the enumeration's values");
  return enumeration;
}

/// like x, like x of float32, like layers[1].W
Node *Parser::parse_like() {
  Node *like = node(NodeKind::like, lex_.place);
  lex_.next();
  like->add(parse_postfix());
  if (accept("of")) like->add(take_name(NodeKind::named, "the cells' type"));
  return like;
}

Node *Parser::parse_range_or_name() {
  Place place = lex_.place;
  if (lex_.kind == Token::keyword || (lex_.kind == Token::punct && !is("(") && !is("-")))
    fail("expected a type, not " + shown());
  Node *low = parse_sum();
  if (is("..")) {
    Node *range = node(NodeKind::range, place);
    lex_.next();
    range->add(low);
    range->add(parse_sum());
    return range;
  }
  if (low->kind != NodeKind::name) {
    error(place, "expected a type", is("..") ? "" : "a subrange is written `1..10`");
    throw Recover();
  }
  low->kind = NodeKind::named;
  return low;
}

} // namespace mica::parse
