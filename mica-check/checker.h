// The checker's state and its parts. One struct, whose functions stand in one file an idea:
//
//   declarations.cc  names of program, units and procedures; in any order      imports.cc    imp lists, what is not imported
//   type_of.cc       type expressions and sizes                                constants.cc  folding, adaptation
//   procedures.cc    headers, bodies, calls' arguments                         frames.cc     static links
//   expressions.cc   names, fields, indices, address, value, calls             operators.cc  unary and binary
//   conversions.cc   widening, `as`, loads                                     places.cc     reading and writing memory
//   statements.cc loops.cc cases.cc                                            builtins.cc math.cc formats.cc
//
// Whole values are in whole.h and its files: verbs, tape, aggregates, open shapes, promote.
#pragma once
#include "operand.h"
#include "scope.h"
#include "spectra/build.h"
#include "spectra/diag.h"
#include "types.h"
#include <deque>
#include <memory>

namespace mica::check {

struct WholeState; ///< what whole.h's files keep; defined in whole.cc

/// Why a value is converted, for the message where it can't be: "assigning to x", "argument 2 of f".
using Purpose = std::string_view;

bool is_comparison(spectra::OpCode code);

struct Checker {
  spectra::Module &module;
  spectra::Diag &diag;
  Types types;
  spectra::Builder build; ///< appends to the region being filled
  Scope predeclared, unit;
  bool is_unit = false; ///< `object`: no body, no exit code
  std::unique_ptr<WholeState> whole;

  // The procedure whose body is being emitted. `proc` is null in the program's body.
  Proc *proc = nullptr;
  Scope *scope = nullptr;
  spectra::Func *func = nullptr;
  spectra::Value *frame = nullptr;   ///< %frame, where the procedure takes one
  int loops = 0;                     ///< enclosing loops inside the innermost window (or the procedure)
  int window = -1;                   ///< the id of the window being emitted, -1 outside
  int depth = 0;                     ///< nesting of regions and expressions, for the limit
  int constants_only = 0;            ///< inside a constant expression, where nothing may be left for run time
  int temporaries = 0;               ///< how many locals of its own the function has
  bool ended = false;                ///< the region's last operation ended it: what follows is never run

  Checker(spectra::Module &module, spectra::Diag &diag);
  ~Checker();
  bool checked_tier() const { return module.options.tier == "checked"; }
  bool on_cpu() const { return module.options.device == "cpu"; }

  // ---- messages: each returns so that a caller can end with it ------------------------------------------------------
  Operand error(spectra::Place at, std::string_view message, std::string_view hint = {}); ///< gives poison
  spectra::Place place_of(const Node &) const;

  // ---- names (declarations.cc, imports.cc) ----------------------------------------------------------------------------
  Symbol *new_symbol(SymbolKind kind, std::string_view name, spectra::Place at);
  /// Enters a symbol; says so where the name is taken in this scope.
  bool declare(Scope &scope, Symbol *symbol);
  /// What `name` means here; says an error with the nearest name where nobody declares it and gives null.
  Symbol *lookup(std::string_view name, spectra::Place at);
  void resolve(Symbol &symbol); ///< constants and types on demand, variables' types, procedures' headers

  // ---- types (type_of.cc) -----------------------------------------------------------------------------------------
  /// The type that a type expression states. `open_ok`: a parameter may leave its sizes open.
  const Type *type_of(const Node &node, bool open_ok = false);
  /// A constant size or bound; false after an error.
  bool constant_integer(const Node &node, std::string_view what, __int128 &value);
  bool constant_size(const Node &node, int64_t &size);

  // ---- expressions (expressions.cc) ---------------------------------------------------------------------------------
  /// Checks and emits. `expected` is the target's type where there is one (makers take their shape from it); the answer
  /// is not converted to it.
  Operand check(const Node &node, const Type *expected = nullptr);
  /// The same, with constants adapted and values converted to `to`; the message names the purpose.
  Operand check_as(const Node &node, const Type *to, Purpose purpose);
  Operand check_condition(const Node &node); ///< bool on the host (statements.cc handles device conditions first)
  Constant check_constant(const Node &node, const Type *expected = nullptr); ///< an error where it is none
  Operand check_call(const Node &node, const Type *expected);
  Operand call_procedure(Symbol &symbol, const Node &call, const Type *expected);
  Operand check_builtin(const Builtin &, const Node &call, const Type *expected);

  // ---- operators on constants and host scalars (operators.cc, constants.cc) ------------------------------------------
  Operand binary(spectra::OpCode code, std::string_view sign, Operand a, Operand b, spectra::Place at);
  Operand compare(spectra::OpCode code, const Operand &a, const Operand &b, spectra::Place at);
  bool compare_pointers(spectra::OpCode code, const Operand &a, const Operand &b, spectra::Place at, Operand &answer);
  Operand negate(Operand a, spectra::Place at);
  Operand invert(Operand a, spectra::Place at); ///< `not`
  /// Gives constants beside typed operands their type and widens both to one type; false after an error (`sign` names
  /// the operator). Works cell types only: whole values keep their shape.
  bool unify(Operand &a, Operand &b, std::string_view sign, spectra::Place at);
  bool fold_binary(spectra::OpCode code, const Operand &a, const Operand &b, spectra::Place at, Operand &result);

  // ---- conversions (conversions.cc) -----------------------------------------------------------------------------------
  /// Implicit conversion: widening, constants that fit, subranges with their check, nil. Says an error where it can't.
  Operand convert(Operand operand, const Type *to, Purpose purpose);
  bool fit_constant(const Constant &from, const Type *to, Constant &result);
  Operand mismatch(const Operand &operand, const Type *to, Purpose purpose); ///< the error of a failed conversion
  Operand not_a_value(const Operand &operand); ///< the error for a type's or verb's name, or a procedure's call
  spectra::Value *check_range(spectra::Value *value, const Type *type);
  spectra::Value *check_range_as(spectra::Value *value, const Type *type, int64_t low, int64_t high);
  /// Whether convert would succeed, without saying or emitting anything.
  bool converts(const Operand &operand, const Type *to);
  Operand convert_as(Operand operand, const Type *to, spectra::Place at); ///< `as`
  /// Gives a constant without a type of its own the type it has where nothing is beside it.
  Operand settle(Operand operand);

  // ---- values and places (places.cc) ------------------------------------------------------------------------------------
  /// The operand as an SSA value: emits `const` or `read`. Null for poison.
  spectra::Value *load(const Operand &operand);
  spectra::Value *emit_constant(const Constant &constant);
  Operand value_operand(spectra::Value *value, const Type *type, spectra::Place at);
  Operand constant_operand(Constant constant, spectra::Place at);
  Operand place_operand(Symbol &variable, spectra::Place at); ///< walks static links where needed
  spectra::Value *address_of(const Operand &place);           ///< `address`
  void store(const Operand &place, spectra::Value *value);    ///< `write`
  /// Sets an op's path; the operands of the path come first.
  void set_path(spectra::Op *op, const PathRef &path);
  /// Appends an op with a path, such as read, write, gradient, backward; `args` follow the path's operands.
  spectra::Op *path_op(spectra::OpCode code, const PathRef &path, std::initializer_list<spectra::Value *> args);
  Operand through_pointer(spectra::Value *pointer, const Type *element, spectra::Place at); ///< the place `pointer^`
  Operand dereference(Operand pointer, spectra::Place at);                                  ///< with its nil check
  spectra::Value *index_value(const Operand &index); ///< loaded, as an integer
  Operand field_of(Operand base, int field, spectra::Place at);
  Operand element_of(Operand base, Operand index, spectra::Place at); ///< array or slice; the index is checked
  /// A temporary in memory (a `$local` of the compiler's own) of a type that lives there.
  Operand temporary(const Type *type, std::string_view name, spectra::Place at);
  /// One copy of a record or an array.
  void copy_aggregate(const Operand &to, const Operand &from);

  // ---- statements (statements.cc, loops.cc, cases.cc) -----------------------------------------------------------------
  void statement(const Node &node);
  void statements(const Node &list);
  void assign(const Node &target, const Node &value, spectra::Place at);
  /// Fills a region with what `body` emits, then ends it with `yield` where it has not ended.
  template <class Body> spectra::Region *fill(spectra::Op *parent, const Body &body) {
    spectra::Region *outside = build.region();
    bool was_ended = ended;
    spectra::Region *inside = module.new_region(parent);
    build.set_region(inside);
    ended = false;
    body(inside);
    if (!ended) build.append(spectra::OpCode::yield);
    ended = was_ended;
    build.set_region(outside);
    return inside;
  }

  // ---- procedures (procedures.cc, frames.cc) ------------------------------------------------------------------------
  void emit_procedure(Proc &proc);
  void analyze_frames();                       ///< which variables inner procedures touch, before anything is emitted
  spectra::Value *frame_for(const Proc &callee); ///< the frame that a call of a nested procedure passes
  void check_program(const Node &root);

  std::deque<Symbol> symbols;
  std::deque<Scope> scopes;
  std::deque<Proc> procs;
};

} // namespace mica::check
