// Procedure types: procedure(a, b : T, var c : U), or the types alone: function(int32, int32) : int32.
#include "parser.h"

namespace mica::parse {

Node *Parser::parse_procedure_type() {
  const bool function = is("function");
  Node *type = node(function ? NodeKind::function_type : NodeKind::procedure_type, lex_.place);
  lex_.next();
  expect("(", "after a procedure type's word", "write `procedure()` where it takes nothing");
  if (!is(")")) parse_type_parameters(type);
  expect(")", "after the parameters");
  if (function) {
    Node *result = node(NodeKind::result, lex_.place);
    expect(":", "and the type of the function's answer");
    result->add(parse_type());
    type->add(result);
  }
  return type;
}

/// A name before `,` or `)` is a type unless a `:` ends its group: `a, b : int32`. `var` begins a group.
void Parser::parse_type_parameters(Node *type) {
  std::vector<Node *> pending; // names of the group whose meaning is still open
  bool by_reference = false;   // the group's first has `var`
  auto begin_parameter = [&](Place place) {
    Node *parameter = node(by_reference ? NodeKind::var_parameter : NodeKind::parameter, place);
    by_reference = false; // without names, `var` is the first type's alone
    type->add(parameter);
    return parameter;
  };
  auto add_unnamed = [&](Place place, Node *parameter_type) {
    Node *parameter = begin_parameter(place);
    parameter->add(node(NodeKind::name, place, "_"));
    parameter->add(parameter_type);
  };
  auto flush = [&] {
    for (Node *name : pending) add_unnamed(name->place, node(NodeKind::named, name->place, name->text));
    pending.clear();
  };
  do {
    if (is("var")) {
      flush();
      by_reference = true;
      lex_.next();
    }
    const std::string_view behind = lex_.kind == Token::name ? lex_.ahead(1).text : std::string_view();
    if (behind == "," || behind == ")" || behind == ":") {
      pending.push_back(take_name(NodeKind::name, "a parameter"));
      if (!accept(":")) continue;
      Node *parameter = begin_parameter(pending[0]->place);
      for (Node *name : pending) parameter->add(name);
      pending.clear();
      parameter->add(parse_type());
    } else {
      const bool mine = by_reference && pending.empty();
      by_reference = by_reference && !mine;
      flush();
      by_reference = mine;
      const Place place = lex_.place;
      add_unnamed(place, parse_type());
    }
    by_reference = false;
  } while (accept(","));
  flush();
}

} // namespace mica::parse
