// A place in memory as the passes compare it: a variable or a pointer, then steps.
#pragma once
#include "spectra/build.h"

#include <unordered_map>

namespace mica::grad {

struct Location {
  using Base = spectra::Path::Base;
  using Kind = spectra::Path::Step::Kind;
  struct Step {
    Kind kind;
    int64_t index = 0;               ///< field, constant
    spectra::Value *value = nullptr; ///< dynamic
    friend bool operator==(const Step &, const Step &) = default;
  };
  Base base = Base::none;
  std::string_view symbol;           ///< of a variable
  spectra::Value *pointer = nullptr; ///< Base::pointer
  std::vector<Step> steps;

  bool is_variable() const { return base == Base::global || base == Base::local; }
  /// A variable reached by constant steps alone: the same place at every moment.
  bool is_static() const;
  /// A text that two locations share exactly where they are written alike: `@model.3.[2]`.
  std::string key() const;
  /// The variable alone, `@model` or `$x`.
  std::string variable_key() const;
};

Location variable_location(Location::Base base, std::string_view symbol);
/// What `op`'s path says.
Location location_of(const spectra::Op &op);
/// Gives `op`, which has no operands yet, the path to `location`.
void attach(spectra::Module &module, spectra::Op &op, const Location &location);
/// The type there, tracked as declared; null where the steps don't fit.
const spectra::Type *type_at(spectra::Module &module, const spectra::Func *func, const Location &location);

/// As the programmer writes it: `model.layers[3].W`.
std::string source_text(const spectra::Module &module, const spectra::Func *func, const Location &location);

/// The same place in the hidden variable that holds the variable's gradients: `@grad'model.layers[3].W`; a
/// local of `func` has its function's name in it.
Location shadow_of(spectra::Module &module, const spectra::Func *func, Location location);

enum class Overlap { none, same, may };
Overlap overlap(const Location &a, const Location &b);

/// `read` and `write` of a location whose type is known to be `type`.
spectra::Value *emit_read(spectra::Builder &builder, const Location &location, const spectra::Type *type,
                          std::string_view name = {});
void emit_write(spectra::Builder &builder, const Location &location, spectra::Value *value);

/// Zero of a scalar, whole, pointer, slice, procedure or string type; null for a type that has no constant.
spectra::Value *zero_value(spectra::Builder &builder, const spectra::Type *type);
/// Writes zeros to every leaf below `location`, whose type is `type`; loops over arrays. Leaves that have no
/// constant (random states, draws) are left as they are.
void emit_zeros(spectra::Builder &builder, const Location &location, const spectra::Type *type);

/// Calls `visit(location, type)` for every leaf below a location, arrays element by element.
template <class Visit> void for_each_leaf(const Location &at, const spectra::Type *type, const Visit &visit) {
  if (type->kind == spectra::TypeKind::record) {
    for (size_t i = 0; i < type->record->fields.size(); ++i) {
      Location field = at;
      field.steps.push_back({Location::Kind::field, static_cast<int64_t>(i), nullptr});
      for_each_leaf(field, type->record->fields[i].type, visit);
    }
  } else if (type->kind == spectra::TypeKind::array) {
    for (int64_t i = type->low; i <= type->high; ++i) {
      Location element = at;
      element.steps.push_back({Location::Kind::constant, i, nullptr});
      for_each_leaf(element, type->element, visit);
    }
  } else {
    visit(at, type);
  }
}

/// Calls `visit` for every operation of the region and of the regions inside, in text order.
template <class Visit> void each_op(spectra::Region &region, const Visit &visit) {
  spectra::walk(region, [&](spectra::Op *op) { visit(*op); });
}

/// Puts values in the place of others, as operands.
inline void replace_all(spectra::Region &region,
                        const std::unordered_map<spectra::Value *, spectra::Value *> &with) {
  if (with.empty()) return;
  each_op(region, [&](spectra::Op &op) {
    for (spectra::Value *&v : op.operands) {
      auto it = with.find(v);
      if (it != with.end()) v = it->second;
    }
  });
}

/// Leaves below a type, counted without visiting them.
int64_t leaf_count(const spectra::Type *type);

} // namespace mica::grad
