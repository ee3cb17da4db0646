// Operations on scalars (language.md 3 and 5, numerics.md 1, 6, 12 to 14). No fast-math flag is ever set and
// nothing is contracted: a value has the same bits in every tier.
#include "spectra/ops.h"
#include "unit.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>

namespace mica::codegen {
namespace {

bool checked(const Unit &unit) { return unit.spectra.options.tier == "checked"; }

llvm::Value *intrinsic(Builder &b, llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value *> operands) {
  return b.CreateIntrinsic(id, {operands[0]->getType()}, operands);
}

const char *sign_of(OpCode code) {
  switch (code) {
  case OpCode::add: return "+";
  case OpCode::sub: return "-";
  case OpCode::mul: return "*";
  case OpCode::neg: return "-";
  default: return "shl";
  }
}

void fail_overflow(Unit &unit, Builder &b, llvm::Value *condition, const Op &op, const Type *type) {
  emit_failure(unit, b, condition, "overflow", [&](Builder &fail) {
    auto [file, line] = place_arguments(unit, op.place());
    fail.CreateCall(unit.runtime("mica_fail_overflow", fail.getVoidTy(),
                                 {unit.pointer(), unit.i(32), unit.pointer(), unit.pointer()}),
                    {file, line, unit.c_string(sign_of(op.code)), unit.c_string(spectra::to_source(type))});
  });
}

/// + - * on integers: they wrap, or stop the program in the checked tier.
llvm::Value *integer_arithmetic(Unit &unit, Builder &b, const Op &op, const Type *type, llvm::Value *x,
                                llvm::Value *y) {
  using namespace llvm;
  if (!checked(unit)) {
    if (op.code == OpCode::add) return b.CreateAdd(x, y);
    if (op.code == OpCode::sub) return b.CreateSub(x, y);
    return b.CreateMul(x, y);
  }
  bool is_signed = type->is_signed();
  Intrinsic::ID id =
      op.code == OpCode::add   ? (is_signed ? Intrinsic::sadd_with_overflow : Intrinsic::uadd_with_overflow)
      : op.code == OpCode::sub ? (is_signed ? Intrinsic::ssub_with_overflow : Intrinsic::usub_with_overflow)
                               : (is_signed ? Intrinsic::smul_with_overflow : Intrinsic::umul_with_overflow);
  llvm::Value *both = intrinsic(b, id, {x, y});
  fail_overflow(unit, b, b.CreateExtractValue(both, 1), op, type);
  return b.CreateExtractValue(both, 0);
}

/// Division truncates toward zero and stops on zero in every tier; the most negative by -1 wraps to itself,
/// mod 0.
llvm::Value *integer_division(Unit &unit, Builder &b, const Op &op, const Type *type, llvm::Value *x,
                              llvm::Value *y) {
  llvm::Value *zero = llvm::Constant::getNullValue(x->getType());
  bool remainder = op.code == OpCode::mod;
  llvm::ConstantInt *constant = llvm::dyn_cast<llvm::ConstantInt>(y);
  if (!constant || constant->isZero())
    emit_failure(unit, b, b.CreateICmpEQ(y, zero), "division", [&](Builder &fail) {
      auto [file, line] = place_arguments(unit, op.place());
      fail.CreateCall(unit.runtime("mica_fail_division", fail.getVoidTy(), {unit.pointer(), unit.i(32)}),
                      {file, line});
    });
  // On the card the division goes on: by 1.
  if (unit.for_card && (!constant || constant->isZero()))
    y = b.CreateSelect(b.CreateICmpEQ(y, zero), llvm::ConstantInt::get(y->getType(), 1), y);
  if (!type->is_signed()) return remainder ? b.CreateURem(x, y) : b.CreateUDiv(x, y);
  if (constant && !constant->isMinusOne()) return remainder ? b.CreateSRem(x, y) : b.CreateSDiv(x, y);
  // x / -1 is -x, which wraps; the processor's own instruction would trap, so it divides by 1 there.
  llvm::Value *minus_one = llvm::Constant::getAllOnesValue(x->getType());
  llvm::Value *flips = b.CreateICmpEQ(y, minus_one);
  if (checked(unit) && !remainder) {
    llvm::Value *most_negative = llvm::ConstantInt::get(
        x->getType(), llvm::APInt::getSignedMinValue(x->getType()->getIntegerBitWidth()));
    fail_overflow(unit, b, b.CreateAnd(flips, b.CreateICmpEQ(x, most_negative)), op, type);
  }
  llvm::Value *safe = b.CreateSelect(flips, llvm::ConstantInt::get(x->getType(), 1), y);
  if (remainder) return b.CreateSelect(flips, zero, b.CreateSRem(x, safe));
  return b.CreateSelect(flips, b.CreateNeg(x), b.CreateSDiv(x, safe));
}

/// By the width or more: 0, or the sign. A negative amount counts as too large.
llvm::Value *shift(Builder &b, const Op &op, llvm::Value *x, llvm::Value *amount) {
  const Type *type = op.operands[0]->type;
  llvm::Type *t = x->getType();
  unsigned width = t->getIntegerBitWidth();
  unsigned amount_width = amount->getType()->getIntegerBitWidth();
  llvm::Value *large = b.CreateICmpUGE(
      amount,
      llvm::ConstantInt::get(amount->getType(), width > (1ull << (amount_width - 1)) - 1 ? ~0ull : width));
  llvm::Value *by = b.CreateZExtOrTrunc(amount, t);
  by = b.CreateSelect(large, llvm::Constant::getNullValue(t), by);
  if (op.code == OpCode::shl)
    return b.CreateSelect(large, llvm::Constant::getNullValue(t), b.CreateShl(x, by));
  if (!type->is_signed()) return b.CreateSelect(large, llvm::Constant::getNullValue(t), b.CreateLShr(x, by));
  return b.CreateAShr(x, b.CreateSelect(large, llvm::ConstantInt::get(t, width - 1), by));
}

llvm::Value *compare(Builder &b, OpCode code, const Type *type, llvm::Value *x, llvm::Value *y) {
  using P = llvm::CmpInst::Predicate;
  bool is_signed = type->is_signed();
  P p = P::ICMP_EQ;
  if (x->getType()->isFloatingPointTy()) {
    switch (code) { // NaN compares unequal and is not ordered
    case OpCode::eq: p = P::FCMP_OEQ; break;
    case OpCode::ne: p = P::FCMP_UNE; break;
    case OpCode::lt: p = P::FCMP_OLT; break;
    case OpCode::le: p = P::FCMP_OLE; break;
    case OpCode::gt: p = P::FCMP_OGT; break;
    default: p = P::FCMP_OGE; break;
    }
    return b.CreateFCmp(p, x, y);
  }
  switch (code) {
  case OpCode::eq: p = P::ICMP_EQ; break;
  case OpCode::ne: p = P::ICMP_NE; break;
  case OpCode::lt: p = is_signed ? P::ICMP_SLT : P::ICMP_ULT; break;
  case OpCode::le: p = is_signed ? P::ICMP_SLE : P::ICMP_ULE; break;
  case OpCode::gt: p = is_signed ? P::ICMP_SGT : P::ICMP_UGT; break;
  default: p = is_signed ? P::ICMP_SGE : P::ICMP_UGE; break;
  }
  return b.CreateICmp(p, x, y);
}

/// NaN where an operand is one; LLVM's `maximum` says just that, and that -0 is less than +0.
llvm::Value *extreme(Builder &b, OpCode code, const Type *type, llvm::Value *x, llvm::Value *y) {
  bool larger = code == OpCode::maximum;
  using namespace llvm;
  if (type->is_float()) return intrinsic(b, larger ? Intrinsic::maximum : Intrinsic::minimum, {x, y});
  if (type->is_signed()) return intrinsic(b, larger ? Intrinsic::smax : Intrinsic::smin, {x, y});
  return intrinsic(b, larger ? Intrinsic::umax : Intrinsic::umin, {x, y});
}

/// A function of the math library by its name and cell type.
llvm::Value *math_call(Unit &unit, Builder &b, const char *name, const Type *type,
                       llvm::ArrayRef<llvm::Value *> operands) {
  llvm::Type *t = operands[0]->getType();
  std::string symbol = std::string("mica_") + name + (type->scalar == Scalar::f64 ? "_f64" : "_f32");
  std::vector<llvm::Type *> parameters(operands.size(), t);
  return b.CreateCall(unit.runtime(symbol.c_str(), t, parameters), operands);
}

const char *math_name(OpCode code) {
  switch (code) {
  case OpCode::gelu_slope: return "gelu_gradient";
  case OpCode::gelu_tanh_slope: return "gelu_tanh_gradient";
  default: return spectra::info(code).name;
  }
}

/// Operations that hand a value on without computing with it: halves need no widening for them.
bool is_handing_on(OpCode code) {
  return code == OpCode::const_ || code == OpCode::zeros || code == OpCode::filled ||
         code == OpCode::broadcast || code == OpCode::detach || code == OpCode::select ||
         code == OpCode::cast;
}

/// An operation on operands that are no halves; `type` is the first operand's.
llvm::Value *compute(Unit &unit, Builder &b, const Op &op, const Type *type,
                     llvm::ArrayRef<llvm::Value *> v) {
  bool real = type->is_float();
  switch (op.code) {
  case OpCode::const_: return unit.constant(*op.find(spectra::Attr::value), op.results[0]->type);
  case OpCode::zeros: // in a kernel of rows the result is whole, a cell is what is computed
    return llvm::Constant::getNullValue(unit.scalar_type(op.results[0]->type->scalar));
  case OpCode::filled:
  case OpCode::broadcast:
  case OpCode::detach: return v[0];
  case OpCode::add:
    if (real) return b.CreateFAdd(v[0], v[1]);
    return integer_arithmetic(unit, b, op, type, v[0], v[1]);
  case OpCode::sub:
    if (real) return b.CreateFSub(v[0], v[1]);
    return integer_arithmetic(unit, b, op, type, v[0], v[1]);
  case OpCode::mul:
    if (real) return b.CreateFMul(v[0], v[1]);
    return integer_arithmetic(unit, b, op, type, v[0], v[1]);
  case OpCode::div:
    if (real) return b.CreateFDiv(v[0], v[1]);
    return integer_division(unit, b, op, type, v[0], v[1]);
  case OpCode::mod: return integer_division(unit, b, op, type, v[0], v[1]);
  case OpCode::neg:
    if (real) return b.CreateFNeg(v[0]);
    if (checked(unit)) {
      llvm::Value *both = intrinsic(
          b, type->is_signed() ? llvm::Intrinsic::ssub_with_overflow : llvm::Intrinsic::usub_with_overflow,
          {llvm::Constant::getNullValue(v[0]->getType()), v[0]});
      fail_overflow(unit, b, b.CreateExtractValue(both, 1), op, type);
    }
    return b.CreateNeg(v[0]);
  case OpCode::shl:
  case OpCode::shr: return shift(b, op, v[0], v[1]);
  case OpCode::and_: return b.CreateAnd(v[0], v[1]);
  case OpCode::or_: return b.CreateOr(v[0], v[1]);
  case OpCode::xor_: return b.CreateXor(v[0], v[1]);
  case OpCode::not_: return b.CreateNot(v[0]);
  case OpCode::eq:
  case OpCode::ne:
  case OpCode::lt:
  case OpCode::le:
  case OpCode::gt:
  case OpCode::ge: return compare(b, op.code, type, v[0], v[1]);
  case OpCode::select: return b.CreateSelect(v[0], v[1], v[2]);
  case OpCode::cast: return emit_cast(unit, b, v[0], type, op.results[0]->type, op.place());
  case OpCode::maximum:
  case OpCode::minimum: return extreme(b, op.code, type, v[0], v[1]);
  case OpCode::fma: return intrinsic(b, llvm::Intrinsic::fma, {v[0], v[1], v[2]});
  case OpCode::sqrt: return intrinsic(b, llvm::Intrinsic::sqrt, {v[0]});
  case OpCode::floor: return intrinsic(b, llvm::Intrinsic::floor, {v[0]});
  case OpCode::ceil: return intrinsic(b, llvm::Intrinsic::ceil, {v[0]});
  case OpCode::trunc: return intrinsic(b, llvm::Intrinsic::trunc, {v[0]});
  case OpCode::round: return intrinsic(b, llvm::Intrinsic::round, {v[0]});
  case OpCode::rsqrt:
    return b.CreateFDiv(llvm::ConstantFP::get(v[0]->getType(), 1.0),
                        intrinsic(b, llvm::Intrinsic::sqrt, {v[0]}));
  case OpCode::abs:
    if (real) return intrinsic(b, llvm::Intrinsic::fabs, {v[0]});
    if (!type->is_signed()) return v[0];
    return b.CreateIntrinsic(llvm::Intrinsic::abs, {v[0]->getType()}, {v[0], b.getFalse()});
  case OpCode::relu: { // NaN stays NaN; -0 gives +0
    llvm::Value *zero = llvm::Constant::getNullValue(v[0]->getType());
    if (!real) return type->is_signed() ? intrinsic(b, llvm::Intrinsic::smax, {v[0], zero}) : v[0];
    return b.CreateSelect(b.CreateFCmpOLE(v[0], zero), zero, v[0]);
  }
  case OpCode::finite: {
    llvm::Value *magnitude = intrinsic(b, llvm::Intrinsic::fabs, {v[0]});
    return b.CreateFCmpOLT(magnitude, llvm::ConstantFP::getInfinity(v[0]->getType()));
  }
  default: return is_math_call(op.code) ? math_call(unit, b, math_name(op.code), type, v) : nullptr;
  }
}

/// Note [NaN bits]: LLVM folds an operation of constants that has no number for an answer to a NaN of its
/// own choice, the processor chooses another. An operand that LLVM can't see through leaves it to the
/// processor (numerics.md 12).
llvm::Value *hidden(const Unit &unit, Builder &b, llvm::Value *v) {
  llvm::FunctionType *type = llvm::FunctionType::get(v->getType(), {v->getType()}, false);
  const char *constraint = !unit.for_card ? "=x,0" : v->getType()->isDoubleTy() ? "=d,0" : "=f,0";
  return b.CreateCall(llvm::InlineAsm::get(type, "", constraint, false), {v});
}

/// The checked tier stops where numbers make a NaN.
void check_nan(Unit &unit, Builder &b, const Op &op, llvm::Value *result,
               llvm::ArrayRef<llvm::Value *> operands) {
  llvm::Value *made = b.CreateFCmpUNO(result, result);
  for (llvm::Value *v : operands)
    if (v->getType()->isFloatingPointTy()) made = b.CreateAnd(made, b.CreateFCmpORD(v, v));
  emit_failure(unit, b, made, "nan", [&](Builder &fail) {
    auto [file, line] = place_arguments(unit, op.place());
    fail.CreateCall(
        unit.runtime("mica_fail_nan", fail.getVoidTy(), {unit.pointer(), unit.i(32), unit.pointer()}),
        {file, line, unit.c_string(spectra::info(op.code).name)});
  });
}

} // namespace

bool is_math_call(OpCode code) {
  switch (code) {
  case OpCode::exp:
  case OpCode::ln:
  case OpCode::log10:
  case OpCode::sin:
  case OpCode::cos:
  case OpCode::tan:
  case OpCode::arcsin:
  case OpCode::arccos:
  case OpCode::arctan:
  case OpCode::tanh:
  case OpCode::sigmoid:
  case OpCode::silu:
  case OpCode::erf:
  case OpCode::erfc:
  case OpCode::gelu:
  case OpCode::gelu_slope:
  case OpCode::gelu_tanh:
  case OpCode::gelu_tanh_slope:
  case OpCode::pow:
  case OpCode::fmod: return true;
  default: return false;
  }
}

llvm::Value *emit_scalar(Unit &unit, Builder &b, const Op &op, llvm::ArrayRef<llvm::Value *> operands) {
  const Type *type = op.operands.empty() ? op.results[0]->type : op.operands[0]->type;
  if (is_handing_on(op.code) || op.results.empty()) return compute(unit, b, op, type, operands);
  // Halves compute in float32 and round once (numerics.md 1).
  llvm::SmallVector<llvm::Value *> wide;
  for (size_t i = 0; i < operands.size(); ++i)
    wide.push_back(widen_half(b, operands[i], op.operands[i]->type));
  llvm::Value *result = compute(unit, b, op, type, wide);
  if (!result || !result->getType()->isFloatingPointTy()) return result;
  llvm::ConstantFP *folded = llvm::dyn_cast<llvm::ConstantFP>(result);
  if (folded && folded->isNaN()) {
    for (llvm::Value *&v : wide)
      if (v->getType()->isFloatingPointTy()) v = hidden(unit, b, v);
    result = compute(unit, b, op, type, wide);
  }
  if (checked(unit)) check_nan(unit, b, op, result, wide);
  return narrow_half(unit, b, result, op.results[0]->type);
}

} // namespace mica::codegen
