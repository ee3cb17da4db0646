// Names: what a program declares, imports or finds predeclared, and where each is visible.
#pragma once
#include "constant.h"
#include "names.h"
#include "spectra/module.h"
#include "tree_use.h"
#include "types.h"
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mica::check {

struct Proc;

enum class SymbolKind : uint8_t {
  poison,    ///< declared twice or wrong: using it says nothing more
  constant,  ///< also an enumeration's name
  type,      ///
  variable,  ///< of the program, of a unit or of a procedure; parameters and answers too
  procedure, ///< procedure or function, also external ones
  builtin,   ///< a predeclared verb, or a name imported from std or libm (names.h)
};

struct Symbol {
  SymbolKind kind = SymbolKind::poison;
  enum class State : uint8_t {
    declared,
    resolving,
    resolved
  } state = State::declared; ///< order doesn't matter
  std::string_view name;
  spectra::Place place;
  const Node *node = nullptr; ///< what declares it
  Proc *owner = nullptr;      ///< the procedure that declares it; null: the program or unit
  struct Scope *scope = nullptr;
  bool used = false;
  bool imported = false; ///< an external procedure that an `imp` names

  const Type *type =
      nullptr;          ///< constant, type, variable: its type once resolved; procedure: its procedure type
  Constant value;       ///< constant
  Proc *proc = nullptr; ///< procedure; variable: the function whose answer it is (see place_operand)
  Builtin builtin{};    ///< builtin

  // Variables.
  bool is_parameter = false;
  bool by_reference = false;  ///< a `var` parameter
  bool has_first = false;     ///< of the unit, with a constant first value
  bool assigned = false;      ///< a record or array parameter that its procedure changes: it is copied
  spectra::Place stored;      ///< a parameter of procedure type: where it is stored
  bool captured = false;      ///< an inner procedure touches it
  std::string_view link_name; ///< Spectra's name of the global or local
  spectra::Value *parameter =
      nullptr;          ///< the value or pointer passed, while the owner's body is being emitted
  int frame_field = -1; ///< captured: the field of the owner's frame record
};

/// A scope: the program's own names, or a procedure's. The predeclared names are the outermost scope.
struct Scope {
  Scope *outer = nullptr;
  Proc *proc = nullptr; ///< null: unit level or predeclared
  std::unordered_map<std::string_view, Symbol *> names;
  std::vector<Symbol *> order; ///< in the order of declaration
  std::unordered_map<const Node *, const Type *>
      declared_types; ///< of each var_decl and parameter once resolved

  /// Here or further out; null where nobody declares it.
  Symbol *find(std::string_view name) const;
  Symbol *find_here(std::string_view name) const;
};

/// A procedure or function. One with open shapes is compiled once an instance, each a Proc of its own.
struct Proc {
  Symbol *symbol = nullptr;
  const Node *node = nullptr;
  Proc *outer = nullptr; ///< the procedure it is nested in
  int depth = 1;         ///< 1: declared by the program
  Scope *scope = nullptr;
  std::string link_name; ///< "Outer.Inner"
  bool external = false;
  bool exported = false;
  bool has_open = false; ///< a template: not emitted itself
  bool emitted = false;
  spectra::Func *func = nullptr; ///< once its header is in the text
  std::vector<Symbol *> parameters;
  std::vector<Parameter> parameter_types;
  const Type *answer = nullptr; ///< null: a procedure
  Symbol *answer_variable = nullptr;
  const Type *type = nullptr; ///< its procedure type
  bool header_resolved = false;

  // Static links (frames.cc). `reach` is the depth of the outermost procedure whose variables it or an inner
  // one touches; it takes a frame where that is less than its own depth.
  int reach = 1 << 20;
  bool takes_frame() const { return outer && reach < depth; }
  std::vector<Symbol *> captured; ///< its variables that inner ones touch: the fields of its frame record
  bool has_frame = false;
  std::vector<Proc *> inner;
  std::vector<Proc *> mentions; ///< the nested procedures that its body names

  // Instances of open shapes (verbs): key is the text of the actual parameter types.
  std::unordered_map<std::string, Proc *> instances;
  bool wrong = false;            ///< an instance had errors
  Proc *open_template = nullptr; ///< of an instance: what it is an instance of
};

} // namespace mica::check
