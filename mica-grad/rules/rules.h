// Gradient rules: one function a family, one case an operation. A rule reads the adjoint of the operation's
// result and gives each operand that wants one its contribution; `Adjoint` sees to shapes (broadcasting is
// summed back), types and places.
#pragma once
#include "spectra/build.h"
#include "spectra/ops.h"

namespace mica::grad {

class Reverse;

class Adjoint {
public:
  Adjoint(Reverse &reverse, const spectra::Op &op, spectra::Value *seed)
      : reverse_(reverse), op_(op), seed_(seed) {}

  const spectra::Op &op() const { return op_; }
  /// Whether operand i (after the path's) needs its gradient.
  bool wants(int i) const;

  // Values as the rule of operand `i` computes with them: in the type of that operand's gradient, halves
  // widened to float32, so that a rule rounds once, when its contribution is given.
  spectra::Value *seed(int i) const;           ///< the adjoint of the result
  spectra::Value *operand(int j, int i) const; ///< operand j
  spectra::Value *result(int i) const;         ///< the result itself
  spectra::Value *number(double value, int i) const;
  /// The same without widening halves: for rules that only move cells or that round once themselves.
  spectra::Value *moved_seed(int i) const;
  spectra::Value *moved(spectra::Value *value, int i) const;

  void give(int i, spectra::Value *contribution) const;

  // Building. Binary operations broadcast.
  spectra::Builder &builder() const;
  spectra::Value *add(spectra::Value *a, spectra::Value *b) const { return make(spectra::OpCode::add, a, b); }
  spectra::Value *sub(spectra::Value *a, spectra::Value *b) const { return make(spectra::OpCode::sub, a, b); }
  spectra::Value *mul(spectra::Value *a, spectra::Value *b) const { return make(spectra::OpCode::mul, a, b); }
  spectra::Value *div(spectra::Value *a, spectra::Value *b) const { return make(spectra::OpCode::div, a, b); }
  spectra::Value *neg(spectra::Value *a) const { return make(spectra::OpCode::neg, a); }
  spectra::Value *make(spectra::OpCode code, spectra::Value *a) const { return builder().make(code, {a}); }
  spectra::Value *make(spectra::OpCode code, spectra::Value *a, spectra::Value *b) const {
    return builder().make(code, {a, b});
  }
  spectra::Value *select(spectra::Value *condition, spectra::Value *a, spectra::Value *b) const {
    return builder().make(spectra::OpCode::select, {condition, a, b});
  }
  spectra::Value *typed(spectra::OpCode code, spectra::Value *a, const spectra::Type *type) const {
    return builder().make_typed(code, {a}, type);
  }
  spectra::Value *integer(int64_t value) const;
  /// `value`'s cells in these sizes.
  spectra::Value *reshape(spectra::Value *value, std::vector<int64_t> sizes) const;
  /// Stretched to the shape of `type`, with the cells and the place of `value` (or the card, where `type` is
  /// there).
  spectra::Value *stretch(spectra::Value *value, const spectra::Type *type) const;
  /// `value`'s type with these sizes.
  const spectra::Type *sized(const spectra::Value *value, std::vector<int64_t> sizes) const;
  const spectra::Type *operand_type(int i) const { return op_.arg(i)->type; }

private:
  spectra::Scalar gradient_type(int i) const;
  spectra::Value *widened(spectra::Value *value, int i) const;
  Reverse &reverse_;
  const spectra::Op &op_;
  spectra::Value *seed_;
};

// Each returns whether the operation is of its family.
bool cells_rule(const Adjoint &a);
bool functions_rule(const Adjoint &a);
bool layout_rule(const Adjoint &a);
bool products_rule(const Adjoint &a);
bool reductions_rule(const Adjoint &a);
bool rows_rule(const Adjoint &a);
bool attention_rule(const Adjoint &a);

} // namespace mica::grad
