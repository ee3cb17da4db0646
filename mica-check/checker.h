// The checker's state and its parts. One struct, whose functions stand in one file an idea:
//
//   declarations.cc  names of program, units and procedures; in any order      imports.cc    imp lists, what
//   is not imported type_of.cc       type expressions and sizes                                constants.cc
//   folding, adaptation procedures.cc    headers, bodies, calls' arguments                         frames.cc
//   static links expressions.cc   names, fields, indices, address, value, calls             operators.cc
//   unary and binary conversions.cc   widening, `as`, loads                                     places.cc
//   reading and writing memory statements.cc loops.cc cases.cc builtins.cc math.cc formats.cc
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
#include <unordered_set>

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
  bool is_unit = false;              ///< `object`: no body, no exit code
  std::shared_ptr<WholeState> whole; ///< made in whole.cc

  // The procedure whose body is being emitted. `proc` is null in the program's body.
  Proc *proc = nullptr;
  Scope *scope = nullptr;
  spectra::Func *func = nullptr;
  spectra::Value *frame = nullptr; ///< %frame, where the procedure takes one
  int loops = 0;                   ///< enclosing loops inside the innermost window (or the procedure)
  int window = -1;                 ///< the id of the window being emitted, -1 outside
  int depth = 0;                   ///< nesting of regions and expressions, for the limit
  int constants_only = 0;          ///< inside a constant expression, where nothing may be left for run time
  int temporaries = 0;             ///< how many locals of its own the function has
  bool ended = false;              ///< the region's last operation ended it: what follows is never run

  Checker(spectra::Module &module, spectra::Diag &diag);
  ~Checker();
  bool checked_tier() const { return module.options.tier == "checked"; }
  bool on_cpu() const { return module.options.device == "cpu"; }

  // ---- messages: each returns so that a caller can end with it
  // ------------------------------------------------------
  Operand error(spectra::Place at, std::string_view message, std::string_view hint = {}); ///< gives poison
  spectra::Place place_of(const Node &) const;

  // ---- names (declarations.cc, imports.cc)
  // ----------------------------------------------------------------------------
  Symbol *new_symbol(SymbolKind kind, std::string_view name, spectra::Place at);
  /// Enters a symbol; says so where the name is taken in this scope.
  bool declare(Scope &scope, Symbol *symbol);
  /// What `name` means here; says an error with the nearest name where nobody declares it and gives null.
  Symbol *lookup(std::string_view name, spectra::Place at);
  void forget(std::string_view name); ///< after its error: the name says nothing more in this scope
  void resolve(Symbol &symbol); ///< constants and types on demand, variables' types, procedures' headers
  void collect(const Node &declaration, Scope &target);
  void collect_enumerators(const Node &type, Scope &target, std::string_view name);
  void collect_procedure(const Node &node, Scope &target, bool external);
  void collect_imports(const Node &root);
  void check_exports(const Node &root);
  void declare_predeclared();
  void resolve_variable(Symbol &symbol);
  void resolve_header(Proc &proc);

  // ---- types (type_of.cc)
  // -----------------------------------------------------------------------------------------
  /// The type that a type expression states. `open_ok`: a parameter may leave its sizes open.
  /// `named` is the symbol that it gives a name to, for records that hold pointers to themselves.
  const Type *type_of(const Node &node, bool open_ok = false, Symbol *named = nullptr);
  const Type *record_type(const Node &node, Symbol *named);
  const Type *array_type(const Node &node);
  const Type *whole_type(const Node &node, bool open_ok);
  const Type *range_type(const Node &node);
  const Type *like_type(const Node &node, bool tracked);
  const Type *procedure_type(const Node &node);
  void complete_records(); ///< resolves the fields of records that have been named
  bool is_supported(spectra::Scalar cell, spectra::Place at); ///< false with an error for cells of half types
  /// What an expression's type is, without running it: `like x`, `Rows(x)`.
  const Type *type_of_expression(const Node &node);
  /// A constant size or bound; false after an error.
  bool constant_integer(const Node &node, std::string_view what, __int128 &value);
  bool constant_size(const Node &node, int64_t &size);

  // ---- expressions (expressions.cc)
  // ---------------------------------------------------------------------------------
  /// Checks and emits. `expected` is the target's type where there is one (makers take their shape from it);
  /// the answer is not converted to it.
  Operand check(const Node &node, const Type *expected = nullptr);
  /// The same, with constants adapted and values converted to `to`; the message names the purpose.
  Operand check_as(const Node &node, const Type *to, Purpose purpose);
  Operand
  check_condition(const Node &node); ///< bool on the host (statements.cc handles device conditions first)
  Constant check_constant(const Node &node, const Type *expected = nullptr); ///< an error where it is none
  Operand check_call(const Node &node, const Type *expected);
  Operand check_arguments_only(const Node &call);
  /// Says where the number of arguments is wrong.
  bool count_arguments(const Node &call, std::string_view name, size_t least, size_t most);
  bool check_argument(const Node &node, const std::string &purpose, const Parameter &parameter,
                      std::vector<spectra::Value *> &operands, Symbol *receiver);
  /// `receiver` is the parameter's own symbol where the callee is known.
  bool pass_argument(Operand operand, const std::string &purpose, const Parameter &parameter,
                     std::vector<spectra::Value *> &operands, Symbol *receiver = nullptr);
  bool check_arguments(const Node &call, const std::string &name, const std::vector<Parameter> &parameters,
                       std::vector<spectra::Value *> &operands, const Proc *callee = nullptr);
  Operand emit_call(spectra::OpCode code, std::string_view callee, std::vector<spectra::Value *> &operands,
                    const Type *answer, std::string_view name, spectra::Place at);
  Operand call_procedure(Symbol &symbol, const Node &call, const Type *expected);
  Operand check_builtin(const Builtin &, const Node &call, const Type *expected);
  Operand check_math(const Builtin &, const Node &call);
  Operand check_new(const Node &call);
  Operand check_length(const Node &call);
  Operand check_print(Verb verb, const Node &call);
  Operand
  check_rest(const Node *node); ///< this argument and those after it, for their own errors; gives poison
  spectra::Value *format_argument(Operand operand, char letter, const std::string &length, std::string &text);
  spectra::Value *format_whole(Operand operand, char letter, const std::string &length,
                               const std::string &text);
  spectra::Value *enumeration_text(Operand operand, const Type *type);
  spectra::Value *pointer_argument(const Node &node, const Type *element, const std::string &purpose);
  Operand target_argument(const Node &node, const std::string &purpose);
  static Operand nothing(spectra::Place at); ///< what a statement-like call gives

  Operand integer_literal(const Node &node);
  Operand real_literal(const Node &node);
  Operand unicode_literal(const Node &node);
  Operand check_name(const Node &node, const Type *expected);
  Operand name_operand(Symbol &symbol, spectra::Place at);
  Operand check_member(const Node &node);
  Operand check_index(const Node &node);
  Operand index_into(Operand base, const Node *subscript,
                     spectra::Place at); ///< this subscript and those after it
  Operand check_chain(const Node &node, const Type *expected);
  Operand check_short_circuit(spectra::OpCode code, Operand left, const Node &right, spectra::Place at);
  Operand check_address(const Node &node);
  /// While it lives, what is emitted goes nowhere: constants, types of expressions, code that is never
  /// reached.
  struct Scratch {
    Checker &checker;
    spectra::Region *region;
    spectra::Func *func;
    spectra::Place place;
    bool ended;
    spectra::Func scratch;
    explicit Scratch(Checker &checker);
    ~Scratch();
  };

  // ---- operators on constants and host scalars (operators.cc, constants.cc)
  // ------------------------------------------
  Operand binary(spectra::OpCode code, std::string_view sign, Operand a, Operand b, spectra::Place at);
  Operand compare(spectra::OpCode code, const Operand &a, const Operand &b, spectra::Place at);
  bool compare_pointers(spectra::OpCode code, const Operand &a, const Operand &b, spectra::Place at,
                        Operand &answer);
  Operand negate(Operand a, spectra::Place at);
  Operand invert(Operand a, spectra::Place at); ///< `not`
  /// Gives constants beside typed operands their type and widens both to one type; false after an error
  /// (`sign` names the operator). Works cell types only: whole values keep their shape.
  bool unify(Operand &a, Operand &b, std::string_view sign, spectra::Place at);
  bool fold_binary(spectra::OpCode code, const Operand &a, const Operand &b, spectra::Place at,
                   Operand &result);

  // ---- conversions (conversions.cc)
  // -----------------------------------------------------------------------------------
  /// Implicit conversion: widening, constants that fit, subranges with their check, nil. Says an error where
  /// it can't.
  Operand convert(Operand operand, const Type *to, Purpose purpose);
  bool fit_constant(const Constant &from, const Type *to, Constant &result);
  Operand mismatch(const Operand &operand, const Type *to,
                   Purpose purpose); ///< the error of a failed conversion
  Operand
  not_a_value(const Operand &operand); ///< the error for a type's or verb's name, or a procedure's call
  spectra::Value *check_range(spectra::Value *value, const Type *type);
  spectra::Value *check_range_as(spectra::Value *value, const Type *type, int64_t low, int64_t high);
  /// Whether convert would succeed, without saying or emitting anything.
  bool converts(const Operand &operand, const Type *to);
  Operand convert_as(Operand operand, const Type *to, spectra::Place at); ///< `as`
  /// Gives a constant without a type of its own the type it has where nothing is beside it.
  Operand settle(Operand operand);

  // ---- values and places (places.cc)
  // ------------------------------------------------------------------------------------
  /// The operand as an SSA value: emits `const` or `read`. Null for poison.
  spectra::Value *load(const Operand &operand);
  spectra::Value *emit_constant(const Constant &constant);
  spectra::Value *emit_wide(__int128 value, const spectra::Type *type); ///< of 128 bits
  Operand value_operand(spectra::Value *value, const Type *type, spectra::Place at);
  Operand constant_operand(Constant constant, spectra::Place at);
  Operand place_operand(Symbol &variable, spectra::Place at); ///< walks static links where needed
  spectra::Value *address_of(const Operand &place);           ///< `address`
  void store(const Operand &place, spectra::Value *value);    ///< `write`
  /// Sets an op's path; the operands of the path come first.
  void set_path(spectra::Op *op, const PathRef &path);
  /// Appends an op with a path, such as read, write, gradient, backward; `args` follow the path's operands.
  spectra::Op *path_op(spectra::OpCode code, const PathRef &path,
                       std::initializer_list<spectra::Value *> args);
  Operand through_pointer(spectra::Value *pointer, const Type *element,
                          spectra::Place at);              ///< the place `pointer^`
  Operand dereference(Operand pointer, spectra::Place at); ///< with its nil check
  spectra::Value *index_value(const Operand &index);       ///< loaded, as an integer
  void mark_changed(const Operand &place); ///< a record or array parameter that changes is copied at entry
  Operand field_of(Operand base, int field, spectra::Place at);
  Operand element_of(Operand base, Operand index,
                     spectra::Place at); ///< array or slice; the index is checked
  /// A temporary in memory (a `$local` of the compiler's own) of a type that lives there.
  Operand temporary(const Type *type, std::string_view name, spectra::Place at);
  /// One copy of a record or an array.
  void copy_aggregate(const Operand &to, const Operand &from);

  // ---- statements (statements.cc, loops.cc, cases.cc)
  // -----------------------------------------------------------------
  void statement(const Node &node);
  void statements(const Node &list);
  void assign(const Node &node);
  void assign_to(Operand target, const Node &value, spectra::Place at);
  Operand check_target(const Node &node); ///< what stands left of `:=`
  void if_statement(const Node &node);
  void while_statement(const Node &node);
  void repeat_statement(const Node &node);
  void for_statement(const Node &node);
  void case_statement(const Node &node);
  void jump_statement(const Node &node);
  bool enter_region(); ///< false where regions are nested too deeply, with an error
  /// Fills a region with what `body` emits, then ends it with `yield` where it has not ended.
  template <class Body> spectra::Region *fill(spectra::Op *parent, const Body &body) {
    spectra::Region *outside = build.region();
    bool was_ended = ended;
    spectra::Region *inside = module.new_region(parent);
    build.set_region(inside);
    ended = false;
    if (enter_region()) body(inside);
    --depth;
    if (!ended) {
      build.set_place({});
      build.append(spectra::OpCode::yield);
    }
    ended = was_ended;
    build.set_region(outside);
    return inside;
  }

  // ---- procedures (procedures.cc, frames.cc)
  // ------------------------------------------------------------------------
  void resolve_all(Scope &scope); ///< everything declared in it and, but for open shapes, in its procedures
  void ensure_func(Proc &proc);
  void emit_procedure(Proc &proc);
  void emit_program(const Node &root);
  void emit_first_values(const Node &declarations);
  void emit_return();
  void copy_changed_parameters(Proc &proc);
  std::string_view add_local(std::string_view name, const Type *type, spectra::Place at);
  /// Which variables inner procedures touch: before anything of these procedures is emitted.
  void analyze_frames(std::vector<Proc *> list);
  void define_frame(Proc &owner);
  static bool record_has(const spectra::Record &record, std::string_view name);
  Operand frame_field(Proc &owner, int field, Symbol *variable);
  struct OuterFrame {
    Proc *owner;
    spectra::Value *untyped, *typed;
  };
  std::vector<OuterFrame> outer_frames; ///< of the procedure that is being emitted, the nearest first
  void open_outer_frames(Proc &inner);
  const OuterFrame *outer_frame(const Proc &owner) const;
  spectra::Value *frame_for(const Proc &callee); ///< the frame that a call of a nested procedure passes
  bool check_program(const Node &root);
  void define_variables(const Node &root);
  bool is_constant_expression(const Node &node);
  void check_static_size();
  bool has_cycle(); ///< a record that holds itself by value

  // Procedure values that may outlive the frame they carry (escapes.cc).
  struct Passing {
    Symbol *procedure; ///< a nested procedure, or a parameter that is passed on
    Symbol *receiver;  ///< the parameter that it is passed to
    spectra::Place at;
  };
  std::vector<Passing> passings;
  void note_passing(const Operand &operand, Symbol *receiver);
  bool note_storing(const Operand &operand,
                    spectra::Place at); ///< false with an error for a nested procedure
  void check_escapes();
  std::unordered_map<const EnumType *, spectra::Func *> enumeration_namers;
  int resolving = 0;
  std::unordered_map<const Node *, EnumType *> enumerations; ///< by the node that declares it
  struct PendingRecord {
    RecordType *record;
    const Node *node;
    Scope *scope;
  };
  std::vector<PendingRecord> pending_records;
  size_t next_record = 0; ///< the first that is still pending
  std::unordered_set<std::string> record_names;
  int type_depth = 0;
  bool types_too_deep = false;
  std::unordered_set<std::string_view> local_names; ///< of the function that is being emitted
  std::vector<Proc *> work; ///< procedures to emit; instances of open shapes join at the end
  std::deque<Symbol> symbols;
  std::deque<Scope> scopes;
  std::deque<Proc> procs;
};

} // namespace mica::check
