// Procedures and functions, with what they declare inside.
#include "parser.h"

namespace mica::parse {

Node *Parser::parse_procedure(bool external) {
  Deeper deeper(*this);
  const bool function = is("function");
  lex_.next();
  Node *procedure = node(function ? NodeKind::function : NodeKind::procedure, lex_.place);
  try { // an error in the head costs nothing of the body
    procedure = take_name(procedure->kind, function ? "the function's name" : "the procedure's name");
    parse_procedure_head(procedure);
  } catch (const Recover &) {
    while (lex_.kind != Token::end && !is(";") && !is("begin") && !starts_declaration()) lex_.next();
    accept(";");
  }
  if (external) return procedure;
  parse_declarations(procedure);
  if (!is("begin"))
    fail("expected `begin` and the body of `" + std::string(procedure->text) + "`, not " + shown(),
         starts_declaration() ? "" : "a procedure of C or of another unit is declared by `external`");
  procedure->add(parse_block());
  want_semicolon(function ? "the function's `end`" : "the procedure's `end`");
  return procedure;
}

void Parser::parse_procedure_head(Node *procedure) {
  const bool function = procedure->is(NodeKind::function);
  if (is("("))
    parse_parameters(procedure);
  else
    error(lex_.place, "expected `(` after the procedure's name",
          function ? "a function without parameters is written `function F() : int32;`"
                   : "a procedure without parameters is written `procedure P();`");
  if (function) {
    Node *result = node(NodeKind::result, lex_.place);
    expect(":", "and the type of the function's answer", "what gives no answer is a `procedure`");
    result->add(parse_type());
    procedure->add(result);
  } else if (is(":")) {
    fail("a procedure has no answer", "a `function` has one");
  }
  want_semicolon(function ? "the function's head" : "the procedure's head");
  if (is_soft("forward")) fail("no `forward` is needed", "procedures may be used before they are declared");
}

/// (a, b : int32, var c : bool)
void Parser::parse_parameters(Node *parent) {
  expect("(", "before the parameters");
  if (accept(")")) return;
  try {
    for (;;) {
      const bool by_reference = is("var");
      Node *parameter = node(by_reference ? NodeKind::var_parameter : NodeKind::parameter, lex_.place);
      if (by_reference) lex_.next();
      if (is("const")) fail("a parameter needs no `const`", "passing by value copies nothing that is large");
      do parameter->add(take_name(NodeKind::name, "a parameter's name"));
      while (accept(","));
      expect(":", "between the parameters and their type", "write `(a, b : int32, c : bool)`");
      parameter->add(parse_type());
      parent->add(parameter);
      if (is(":=") || is("=")) fail("a parameter has no value of its own", "every call gives every argument");
      if (is(";")) {
        error(lex_.place, "parameters are separated by commas");
        lex_.next();
      } else if (!accept(","))
        break;
    }
    expect(")", "after the parameters");
  } catch (const Recover &) {
    skip_past_parameters();
  }
}

} // namespace mica::parse
