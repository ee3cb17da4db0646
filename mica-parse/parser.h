// The parser: recursive descent over one token of lookahead, one file a part of the grammar. It reports every
// error it meets and goes on.
//
// Note [Recovery]: where a word is missing whose place is sure (`;`, `then`, `do`, `end`), `want` reports it
// and the parser goes on as if it stood there. Elsewhere `fail` throws Recover, which the nearest list
// (statements, arms of `case`, fields, declarations) catches to go on behind the next `;`. One token gets one
// message: `error` is silent about the token that it spoke about last, and about a line where the lexer has
// already spoken.
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
  // parser.cc: tokens, messages, recovery, the unit
  bool is(std::string_view word) const {
    return (lex_.kind == Token::punct || lex_.kind == Token::keyword) && lex_.text == word;
  }
  bool is_soft(std::string_view word) const { return lex_.kind == Token::name && lex_.text == word; }
  bool is_like() const; ///< the soft word `like` before what it is like
  bool accept(std::string_view word);
  void expect(std::string_view word, const char *where, const char *hint = "");
  bool want(std::string_view word, const char *where, const char *hint = "");
  bool is_misspelt(std::string_view word) const;
  void mend_capitals();
  void want_semicolon(const char *what);
  [[noreturn]] void fail(std::string_view message, std::string_view hint = {});
  void error(Place place, std::string_view message, std::string_view hint = {});
  std::string shown() const; ///< the token at hand, for messages
  Node *node(NodeKind kind, Place place, std::string_view text = {}) { return tree_.node(kind, place, text); }
  Node *take_name(NodeKind kind, const char *what);
  std::string_view token_text(); ///< kept by the tree, names in form C
  void refuse_foreign_operator(std::string_view first);
  void skip_to_statement_end();
  bool skip_to_word(std::string_view word);
  void skip_item();
  void skip_past_parameters();
  void skip_to_declaration();
  bool starts_declaration() const;
  bool starts_external() const;
  bool starts_exports() const;
  bool ends_unit() const;   ///< `end.`
  bool at_unit_end() const; ///< the full stop of the final `end.`
  Node *parse_head();
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
  template <class Item> void parse_items(const Item &item);

  // procedures.cc
  Node *parse_procedure(bool external);
  void parse_procedure_head(Node *procedure);
  void parse_parameters(Node *parent);

  // types.cc
  Node *parse_type();
  Node *parse_plain_type();
  Node *parse_whole_type();
  Node *parse_array();
  Node *parse_record();
  Node *parse_enumeration();
  bool is_enumeration() const;
  Node *parse_like();
  Node *parse_range_or_name();

  // procedure_types.cc
  Node *parse_procedure_type();
  void parse_type_parameters(Node *type);

  // statements.cc
  Node *parse_statement();
  Node *parse_guarded_statement();
  Node *parse_block();
  void parse_statements(Node *block);
  void skip_inner_declarations(uint32_t column);
  bool ends_statements() const;
  bool leaves_block() const;
  void end_block(const char *word, Place opened);
  void parse_condition(Node *parent, const char *word, const char *where);
  Node *parse_if();
  Node *parse_while();
  Node *parse_repeat();
  Node *parse_for();
  Node *parse_case();
  void parse_arm(Node *parent);
  Node *parse_tape();
  Node *parse_assign_or_call();
  void refuse_statement(const Node *target);

  // expressions.cc
  Node *parse_expression();
  Node *parse_sum();
  Node *parse_product();
  Node *parse_as();
  Node *parse_unary();
  Node *parse_postfix();
  Node *parse_primary();
  Node *parse_subscript();
  [[noreturn]] void refuse_value();
  template <class Operand, class IsOperator>
  Node *parse_chain(const Operand &operand, const IsOperator &is_operator);

  spectra::Tree &tree_;
  spectra::Diag &diag_;
  Lexer lex_;
  Place said_; ///< the token at hand at the last message
  int depth_ = 0;
  int repeats_ = 0; ///< how many `repeat` are open
  int arms_ = 0;    ///< how many arms of `case` are open
};

} // namespace mica::parse
