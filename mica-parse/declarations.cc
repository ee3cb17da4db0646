// Declarations: imp, exp, const, type, var. Procedures are in procedures.cc.
#include "hints.h"
#include "parser.h"

namespace mica::parse {

void Parser::parse_declarations(Node *parent) {
  const bool unit = parent == tree_.root;
  for (;;) {
    mend_capitals();
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
      } else if (unit && starts_exports())
        parse_exports(parent);
      else if (is("begin") || lex_.kind == Token::end || ends_unit())
        return;
      else if (is("end"))
        fail("this `end` closes nothing", "one `end` before it is too many");
      else if (at_unit_end())
        throw Fatal(); // the body that ended here has been said to be wrong
      else
        fail("expected a declaration or `begin`, not " + shown(),
             lex_.kind == Token::name && word_hint(lex_.text).empty()
                 ? "variables are declared after `var`, procedures with `procedure` or `function`"
                 : "");
    } catch (const Recover &) {
      skip_to_declaration();
    }
  }
}

/// The items of one `imp`, `const`, `type` or `var`; an error costs one item.
template <class Item> void Parser::parse_items(const Item &item) {
  lex_.next();
  do {
    try {
      item();
      // A message was about what stands behind the item: it belongs to no other.
      if (lex_.place == said_ && lex_.kind != Token::name && !starts_declaration() && !is("begin"))
        skip_item();
    } catch (const Recover &) {
      skip_item();
    }
  } while (lex_.kind == Token::name && !starts_external() && !starts_exports());
}

void Parser::parse_imports(Node *parent) {
  parse_items([&] {
    std::vector<Node *> names;
    Place place = lex_.place;
    do names.push_back(take_name(NodeKind::name, "an imported name"));
    while (accept(","));
    expect(":", "between the imported names and their unit", "write `imp writeln : std;`");
    Node *import = take_name(NodeKind::import, "a unit's name");
    import->place = place;
    for (Node *name : names) import->add(name);
    parent->add(import);
    want_semicolon("the imports");
  });
}

/// `exp` may stand among the declarations; in the tree the exported names come first.
void Parser::parse_exports(Node *parent) {
  if (parent->is(NodeKind::program))
    error(lex_.place, "a program exports nothing", "a unit with `exp` begins with `object NAME;`");
  Node *exports = node(NodeKind::export_, lex_.place);
  lex_.next();
  try {
    do exports->add(take_name(NodeKind::name, "an exported name"));
    while (accept(","));
    want_semicolon("the exports");
  } catch (const Recover &) {
    skip_item();
  }
  Node **at = &parent->first;
  while (*at && (*at)->is(NodeKind::export_)) at = &(*at)->next;
  exports->next = *at;
  *at = exports;
  if (!exports->next) parent->last = exports;
  ++parent->count;
}

void Parser::parse_consts(Node *parent) {
  parse_items([&] {
    Node *constant = take_name(NodeKind::const_decl, "a constant's name");
    if (is(":=")) {
      error(lex_.place, "a constant is defined by `=`", "write `const N = 5;`; `:=` assigns to variables");
      lex_.next();
    } else if (is(":"))
      fail("a constant states no type", "write `const N = 5;` or `const N = 5 as int8;`");
    else
      expect("=", "after the constant's name");
    constant->add(parse_expression());
    parent->add(constant);
    want_semicolon("the constant");
  });
}

void Parser::parse_types(Node *parent) {
  parse_items([&] {
    Node *type = take_name(NodeKind::type_decl, "a type's name");
    if (is(":") || is(":=")) {
      error(lex_.place, "a type is defined by `=`", "write `type Row = vector[8] of float32;`");
      lex_.next();
    } else
      expect("=", "after the type's name");
    type->add(parse_type());
    parent->add(type);
    want_semicolon("the type");
  });
}

void Parser::parse_vars(Node *parent) {
  parse_items([&] {
    Node *variables = node(NodeKind::var_decl, lex_.place);
    do variables->add(take_name(NodeKind::name, "a variable's name"));
    while (accept(","));
    expect(":", "between the variables and their type", "write `var a, b : int32;`");
    variables->add(parse_type());
    if (is("=")) error(lex_.place, "a first value is given by `:=`", "write `var n : int32 := 5;`");
    if (is(":=") || is("=")) {
      Node *init = node(NodeKind::init, lex_.place);
      lex_.next();
      init->add(parse_expression());
      variables->add(init);
    }
    parent->add(variables);
    want_semicolon("the variables");
  });
}

} // namespace mica::parse
