// What an expression is once it has been checked: a constant, a value, a place in memory, or a name that is
// none of these.
#pragma once
#include "constant.h"
#include "scope.h"
#include "spectra/module.h"

namespace mica::check {

/// A place in memory, as Spectra's paths reach it; emitted by `read`, `write` and `address` at the moment of
/// use.
struct PathRef {
  spectra::Path::Base base = spectra::Path::Base::none;
  std::string_view symbol;           ///< global, local
  spectra::Value *pointer = nullptr; ///< pointer
  struct Step {
    spectra::Path::Step::Kind kind;
    int64_t index = 0;               ///< field, constant
    spectra::Value *value = nullptr; ///< dynamic
  };
  std::vector<Step> steps;
};

struct Operand {
  enum class Kind : uint8_t {
    poison,    ///< an error has been said
    nothing,   ///< a call of a procedure without an answer
    constant,  ///< `constant`
    value,     ///< `value`
    place,     ///< `path`: readable; assignable where `assignable`
    procedure, ///< a procedure by name, not yet called or made a value: `symbol`
    builtin,   ///< a verb's name without its arguments: `symbol`
    type,      ///< a type's name: `type`
  };
  Kind kind = Kind::poison;
  const Type *type =
      nullptr; ///< of the value, tracked where the place is or the value depends on a tracked one
  Constant constant;
  spectra::Value *value = nullptr;
  PathRef path;
  Symbol *symbol =
      nullptr;       ///< place: the variable that the path starts at (also through frames), null after `^`
  spectra::Place at; ///< where the expression stands, for messages and operations
  bool assignable = true;        ///< place
  const char *why_not = nullptr; ///< place, not assignable: the reason, as a message ends
  bool adapts = false; ///< value: RandomFloat and its like, whose float type the place beside decides

  bool is_poison() const { return kind == Kind::poison; }
  bool is_constant() const { return kind == Kind::constant; }
  bool is_place() const { return kind == Kind::place; }
  /// Whether its type gives way to the type beside it.
  bool gives_way() const { return (kind == Kind::constant && constant.adapts) || adapts; }
};

} // namespace mica::check
