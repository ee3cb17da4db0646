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
  if (is_soft("like")) return parse_like();
  if (is("(")) return parse_enumeration();
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
  // Only a name: `on gpu` behind it belongs to the whole value.
  whole->add(take_name(NodeKind::named, "the cells' type"));
  return whole;
}

Node *Parser::parse_array() {
  Node *array = node(NodeKind::array, lex_.place);
  lex_.next();
  expect("[", "after `array`",
         "write `array[1..10] of int32`; a length known at run time is a `pointer array of int32`");
  do array->add(parse_type());
  while (accept(","));
  expect("]", "after the array's indices");
  expect("of", "and the elements' type");
  array->add(parse_type());
  return array;
}

Node *Parser::parse_record() {
  Node *record = node(NodeKind::record, lex_.place);
  lex_.next();
  while (!is("end")) {
    Node *field = node(NodeKind::field_decl, lex_.place);
    do field->add(take_name(NodeKind::name, "a field's name"));
    while (accept(","));
    expect(":", "between the fields and their type");
    field->add(parse_type());
    record->add(field);
    if (!accept(";")) break;
  }
  expect("end", "after the record's fields");
  return record;
}

Node *Parser::parse_enumeration() {
  Node *enumeration = node(NodeKind::enumeration, lex_.place);
  lex_.next();
  do enumeration->add(take_name(NodeKind::name, "a value of the enumeration"));
  while (accept(","));
  expect(")", "after the enumeration's values");
  return enumeration;
}

/// procedure(a, b : T, var c : U), or types alone: function(int32, int32) : int32
Node *Parser::parse_procedure_type() {
  bool function = is("function");
  Node *type = node(function ? NodeKind::function_type : NodeKind::procedure_type, lex_.place);
  lex_.next();
  expect("(", "after a procedure type's word", "write `procedure()` where it takes nothing");
  std::vector<Node *> pending; // names whose meaning, parameter or type, shows at the next `:`, `,` or `)`
  auto add = [&](bool by_reference, Place place, Node *name, Node *parameter_type) {
    Node *parameter = node(by_reference ? NodeKind::var_parameter : NodeKind::parameter, place);
    parameter->add(name ? name : node(NodeKind::name, place, "_"));
    parameter->add(parameter_type);
    type->add(parameter);
  };
  auto flush = [&] {
    for (Node *name : pending)
      add(false, name->place, nullptr, node(NodeKind::named, name->place, name->text));
    pending.clear();
  };
  if (!is(")")) {
    do {
      bool by_reference = is("var");
      if (by_reference) {
        flush();
        lex_.next();
      }
      if (lex_.kind == Token::name && !is_soft("like")) {
        pending.push_back(take_name(NodeKind::name, "a parameter"));
        if (is("..")) { // a subrange that begins with a constant's name
          Node *range = node(NodeKind::range, lex_.place);
          lex_.next();
          range->add(pending.back());
          pending.pop_back();
          flush();
          range->add(parse_sum());
          add(by_reference, range->place, nullptr, range);
        } else if (is(":")) {
          lex_.next();
          Node *shared = parse_type();
          Node *parameter =
              node(by_reference ? NodeKind::var_parameter : NodeKind::parameter, pending[0]->place);
          for (Node *name : pending) parameter->add(name);
          parameter->add(shared);
          type->add(parameter);
          pending.clear();
        }
      } else {
        flush();
        Place place = lex_.place;
        add(by_reference, place, nullptr, parse_type());
      }
    } while (accept(","));
    flush();
  }
  expect(")", "after the parameters");
  if (function) {
    Node *result = node(NodeKind::result, lex_.place);
    expect(":", "and the type of the function's answer");
    result->add(parse_type());
    type->add(result);
  }
  return type;
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
  if (lex_.kind == Token::keyword && !is("not")) fail("expected a type, not " + shown());
  Node *low = parse_sum();
  if (is("..")) {
    Node *range = node(NodeKind::range, place);
    lex_.next();
    range->add(low);
    range->add(parse_sum());
    return range;
  }
  if (low->kind != NodeKind::name) {
    error(place, "expected a type", "a subrange is written `1..10`");
    throw Recover();
  }
  low->kind = NodeKind::named;
  return low;
}

} // namespace mica::parse
