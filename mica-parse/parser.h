// The parser: recursive descent over one token of lookahead, one file a part of the grammar. It reports every
// error it meets and goes on at the next statement or declaration.
#pragma once
#include "lexer.h"
#include "spectra/tree.h"

namespace mica::parse {

using spectra::Node;
using spectra::NodeKind;
using spectra::Place;

/// Thrown after a reported error; caught where the parser can go on.
struct Recover {};

class Parser {
public:
  Parser(std::string_view source, spectra::Tree &tree, spectra::Diag &diag)
      : tree_(tree), diag_(diag), lex_(source, tree.sources[0].lines, diag) {}

  /// The whole source; errors are in the Diag.
  void parse_unit();

private:
  // parser.cc: tokens, messages, recovery
  bool is(std::string_view word) const {
    return (lex_.kind == Token::punct || lex_.kind == Token::keyword) && lex_.text == word;
  }
  bool is_soft(std::string_view word) const { return lex_.kind == Token::name && lex_.text == word; }
  bool accept(std::string_view word);
  void expect(std::string_view word, const char *where, const char *hint = "");
  [[noreturn]] void fail(std::string_view message, std::string_view hint = {});
  /// Quiet where the message would only follow from an error that the lexer has just reported.
  void error(Place place, std::string_view message, std::string_view hint = {}) {
    if (!lex_.follows_error(place.line)) diag_.error(place, message, hint);
  }
  std::string shown() const; ///< the token at hand, for messages
  Node *node(NodeKind kind, Place place, std::string_view text = {}) { return tree_.node(kind, place, text); }
  Node *take_name(NodeKind kind, const char *what);
  std::string_view token_text(); ///< kept by the tree, names in form C
  void skip_to_statement_end();
  void skip_to_declaration();
  bool starts_declaration() const;
  void check_depth();

  /// Counts how deep the recursion is; past the limit the source is refused at its place.
  struct Deeper {
    explicit Deeper(Parser &p) : parser(p) { parser.enter(); }
    ~Deeper() { --parser.depth_; }
    Parser &parser;
  };
  void enter();

  // declarations.cc
  void parse_declarations(Node *parent);
  void parse_imports(Node *parent);
  void parse_exports(Node *parent);
  void parse_consts(Node *parent);
  void parse_types(Node *parent);
  void parse_vars(Node *parent);
  Node *parse_procedure(bool external);
  void parse_parameters(Node *parent);
  void end_declaration(const char *what);

  // types.cc
  Node *parse_type();
  Node *parse_plain_type();
  Node *parse_whole_type();
  Node *parse_array();
  Node *parse_record();
  Node *parse_enumeration();
  Node *parse_procedure_type();
  Node *parse_like();
  Node *parse_range_or_name();

  // statements.cc
  Node *parse_statement();
  Node *parse_guarded_statement();
  Node *parse_block(); ///< `begin ... end`
  void parse_statements(Node *block);
  bool ends_statements() const;
  Node *parse_if();
  Node *parse_while();
  Node *parse_repeat();
  Node *parse_for();
  Node *parse_case();
  Node *parse_tape();
  Node *parse_assign_or_call();

  // expressions.cc
  Node *parse_expression();
  Node *parse_sum();
  Node *parse_product();
  Node *parse_as();
  Node *parse_unary();
  Node *parse_postfix();
  Node *parse_primary();
  Node *parse_subscript();
  template <class Operand, class IsOperator>
  Node *parse_chain(const Operand &operand, const IsOperator &is_operator);

  spectra::Tree &tree_;
  spectra::Diag &diag_;
  Lexer lex_;
  int depth_ = 0;
};

} // namespace mica::parse
