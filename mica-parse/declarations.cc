// Declarations: imp, exp, const, type, var, procedure, function, external.
#include "parser.h"

namespace mica::parse {

void Parser::parse_declarations(Node *parent) {
  for (;;) {
    try {
      if (is("imp"))
        parse_imports(parent);
      else if (is("const"))
        parse_consts(parent);
      else if (is("type"))
        parse_types(parent);
      else if (is("var"))
        parse_vars(parent);
      else if (is("procedure") || is("function"))
        parent->add(parse_procedure(false));
      else if (is_soft("external")) {
        Node *external = node(NodeKind::external, lex_.place);
        lex_.next();
        if (!is("procedure") && !is("function"))
          fail("expected `function` or `procedure` after `external`, not " + shown());
        external->add(parse_procedure(true));
        parent->add(external);
      } else if (is("begin") || is("end") || lex_.kind == Token::end)
        return;
      else
        fail("expected a declaration or `begin`, not " + shown(),
             lex_.kind == Token::name
                 ? "variables are declared after `var`, procedures with `procedure` or `function`"
                 : "");
    } catch (const Recover &) {
      Place before = lex_.place;
      skip_to_declaration();
      if (lex_.place == before && !starts_declaration() && !is("begin") && lex_.kind != Token::end)
        lex_.next();
    }
  }
}

void Parser::end_declaration(const char *what) {
  if (accept(";")) return;
  // Said at the end of what stands there, and the parser goes on: the next token usually begins the next
  // declaration.
  error(lex_.place, std::string("expected `;` after ") + what + ", not " + shown());
  if (!starts_declaration() && !is("begin")) throw Recover();
}

void Parser::parse_imports(Node *parent) {
  lex_.next();
  do {
    std::vector<Node *> names;
    Place place = lex_.place;
    do names.push_back(take_name(NodeKind::name, "an imported name"));
    while (accept(","));
    expect(":", "between the imported names and their unit", "write `imp writeln : std;`");
    Node *import = take_name(NodeKind::import, "a unit's name");
    import->place = place;
    for (Node *name : names) import->add(name);
    parent->add(import);
    end_declaration("the imports");
  } while (lex_.kind == Token::name && !is_soft("external"));
}

void Parser::parse_exports(Node *parent) {
  while (is_soft("exp")) {
    Node *exports = node(NodeKind::export_, lex_.place);
    lex_.next();
    do exports->add(take_name(NodeKind::name, "an exported name"));
    while (accept(","));
    parent->add(exports);
    end_declaration("the exports");
  }
}

void Parser::parse_consts(Node *parent) {
  lex_.next();
  do {
    Node *constant = take_name(NodeKind::const_decl, "a constant's name");
    if (is(":=")) fail("a constant is defined by `=`", "write `const N = 5;`; `:=` assigns to variables");
    expect("=", "after the constant's name");
    constant->add(parse_expression());
    parent->add(constant);
    end_declaration("the constant");
  } while (lex_.kind == Token::name && !is_soft("external"));
}

void Parser::parse_types(Node *parent) {
  lex_.next();
  do {
    Node *type = take_name(NodeKind::type_decl, "a type's name");
    expect("=", "after the type's name");
    type->add(parse_type());
    parent->add(type);
    end_declaration("the type");
  } while (lex_.kind == Token::name && !is_soft("external"));
}

void Parser::parse_vars(Node *parent) {
  lex_.next();
  do {
    try {
      Node *variables = node(NodeKind::var_decl, lex_.place);
      do variables->add(take_name(NodeKind::name, "a variable's name"));
      while (accept(","));
      expect(":", "between the variables and their type");
      variables->add(parse_type());
      if (is("=")) fail("a first value is given by `:=`", "write `var n : int32 := 5;`");
      if (is(":=")) {
        Node *init = node(NodeKind::init, lex_.place);
        lex_.next();
        init->add(parse_expression());
        variables->add(init);
      }
      parent->add(variables);
      end_declaration("the variables");
    } catch (const Recover &) {
      // The next `;` ends the broken group; the others of this `var` are read on.
      while (lex_.kind != Token::end && !is(";") && !starts_declaration() && !is("begin")) lex_.next();
      accept(";");
    }
  } while (lex_.kind == Token::name && !is_soft("external"));
}

Node *Parser::parse_procedure(bool external) {
  Deeper deeper(*this);
  bool function = is("function");
  Place place = lex_.place;
  lex_.next();
  Node *procedure = take_name(function ? NodeKind::function : NodeKind::procedure, "the procedure's name");
  (void)place; // messages about a procedure point at its name
  if (is("("))
    parse_parameters(procedure);
  else
    error(lex_.place, "expected `(` after the procedure's name",
          "a procedure without parameters is written `procedure P();`");
  if (function) {
    Node *result = node(NodeKind::result, lex_.place);
    expect(":", "and the type of the function's answer");
    result->add(parse_type());
    procedure->add(result);
  } else if (is(":")) {
    fail("a procedure has no answer", "a `function` has one");
  }
  end_declaration("the procedure's head");
  if (external) return procedure;
  parse_declarations(procedure);
  if (!is("begin"))
    fail("expected `begin` and the body of `" + std::string(procedure->text) + "`, not " + shown());
  procedure->add(parse_block());
  end_declaration("the procedure's `end`");
  return procedure;
}

void Parser::parse_parameters(Node *parent) {
  expect("(", "before the parameters");
  if (accept(")")) return;
  for (;;) {
    bool by_reference = is("var");
    Node *parameter = node(by_reference ? NodeKind::var_parameter : NodeKind::parameter, lex_.place);
    if (by_reference) lex_.next();
    do parameter->add(take_name(NodeKind::name, "a parameter's name"));
    while (accept(","));
    expect(":", "between the parameters and their type", "write `(a, b : int32, c : bool)`");
    parameter->add(parse_type());
    parent->add(parameter);
    if (is(";")) {
      error(lex_.place, "parameters are separated by commas");
      lex_.next();
    } else if (!accept(","))
      break;
  }
  expect(")", "after the parameters");
}

} // namespace mica::parse
