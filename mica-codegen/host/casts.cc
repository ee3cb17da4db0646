// Conversions (language.md 3, numerics.md 8): integers wrap, a float to an integer truncates and saturates
// with NaN 0, and whatever goes to a float rounds once, to nearest even, whatever it comes from.
#include "unit.h"

#include <llvm/IR/Intrinsics.h>

namespace mica::codegen {
namespace {

using LValue = llvm::Value *;

bool is_half(const Type *type) { return type->scalar == Scalar::f16 || type->scalar == Scalar::bf16; }

/// A half's value from a float32 or float64 by the math library: one rounding.
LValue round_to_half(Unit &unit, Builder &b, LValue x, Scalar half) {
  bool from_double = x->getType()->isDoubleTy();
  if (half == Scalar::f16 && !from_double) return b.CreateFPTrunc(x, b.getHalfTy());
  std::string name = from_double ? "mica_f64_to_" : "mica_f32_to_";
  name += spectra::scalar_name(half);
  LValue bits = b.CreateCall(unit.runtime(name.c_str(), b.getInt16Ty(), {x->getType()}), {x});
  return half == Scalar::f16 ? b.CreateBitCast(bits, b.getHalfTy()) : bits;
}

/// An integer of 64 bits or more as a double that rounds to a half as the integer itself would: its leading
/// 53 bits, the last of them set where anything below is.
LValue integer_to_odd_double(Builder &b, LValue x, bool is_signed) {
  using namespace llvm;
  llvm::Type *t = x->getType();
  LValue zero = llvm::Constant::getNullValue(t);
  LValue negative = is_signed ? b.CreateICmpSLT(x, zero) : b.getFalse();
  LValue magnitude = is_signed ? b.CreateSelect(negative, b.CreateNeg(x), x) : x;
  LValue leading = b.CreateIntrinsic(Intrinsic::ctlz, {t}, {magnitude, b.getFalse()});
  unsigned bits = t->getIntegerBitWidth();
  LValue spare = llvm::ConstantInt::get(t, bits - 53);
  LValue shift = b.CreateSub(spare, b.CreateBinaryIntrinsic(Intrinsic::umin, leading, spare));
  LValue kept = b.CreateLShr(magnitude, shift);
  LValue lost = b.CreateICmpNE(b.CreateShl(kept, shift), magnitude);
  LValue odd = b.CreateTrunc(b.CreateOr(kept, b.CreateZExt(lost, t)), b.getInt64Ty());
  LValue exponent =
      b.CreateShl(b.CreateAdd(b.CreateTrunc(shift, b.getInt64Ty()), b.getInt64(1023)), b.getInt64(52));
  LValue scaled =
      b.CreateFMul(b.CreateUIToFP(odd, b.getDoubleTy()), b.CreateBitCast(exponent, b.getDoubleTy()));
  return b.CreateSelect(negative, b.CreateFNeg(scaled), scaled);
}

LValue integer_to_float(Unit &unit, Builder &b, LValue x, const Type *from, const Type *to) {
  bool is_signed = from->is_signed();
  if (to->scalar == Scalar::f32 || to->scalar == Scalar::f64) {
    llvm::Type *target = unit.scalar_type(to->scalar);
    return is_signed ? b.CreateSIToFP(x, target) : b.CreateUIToFP(x, target);
  }
  LValue wide = x->getType()->getIntegerBitWidth() > 32 ? integer_to_odd_double(b, x, is_signed)
                : is_signed                             ? b.CreateSIToFP(x, b.getDoubleTy())
                                                        : b.CreateUIToFP(x, b.getDoubleTy());
  return round_to_half(unit, b, wide, to->scalar);
}

/// Saturates, and gives 0 for NaN: just what LLVM's saturating conversions do.
LValue float_to_integer(Builder &b, LValue x, const Type *to, llvm::Type *target) {
  llvm::Intrinsic::ID id = to->is_signed() ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return b.CreateIntrinsic(id, {target, x->getType()}, {x});
}

/// Whether a float's whole part lies outside an integer type; a NaN does. Both bounds are powers of two.
LValue outside_integer(Builder &b, LValue x, const Type *to, unsigned bits) {
  LValue whole = b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
  auto bound = [&](int sign, unsigned power) {
    llvm::APFloat two = llvm::scalbn(llvm::APFloat(x->getType()->getFltSemantics(), 1),
                                     static_cast<int>(power), llvm::APFloat::rmNearestTiesToEven);
    if (sign < 0) two.changeSign();
    return llvm::ConstantFP::get(b.getContext(), two);
  };
  bool is_signed = to->is_signed();
  LValue low = is_signed ? bound(-1, bits - 1) : llvm::ConstantFP::get(x->getType(), 0.0);
  LValue high = bound(1, is_signed ? bits - 1 : bits);
  LValue inside = b.CreateAnd(b.CreateFCmpOGE(whole, low), b.CreateFCmpOLT(whole, high));
  return b.CreateNot(inside);
}

} // namespace

LValue widen_half(Builder &b, LValue v, const Type *type) {
  if (type->scalar == Scalar::f16 && v->getType()->isHalfTy()) return b.CreateFPExt(v, b.getFloatTy());
  if (type->scalar == Scalar::bf16 && type->is_float())
    return b.CreateBitCast(b.CreateShl(b.CreateZExt(v, b.getInt32Ty()), b.getInt32(16)), b.getFloatTy());
  return v;
}

LValue narrow_half(Unit &unit, Builder &b, LValue v, const Type *type) {
  return is_half(type) && type->is_float() ? round_to_half(unit, b, v, type->scalar) : v;
}

LValue emit_cast(Unit &unit, Builder &b, LValue x, const Type *from, const Type *to, Place place) {
  llvm::Type *target = unit.scalar_type(to->scalar);
  bool checked = unit.spectra.options.tier == "checked";
  auto lossy = [&](LValue condition) {
    emit_failure(unit, b, condition, "lossy", [&](Builder &fail) {
      auto [file, line] = place_arguments(unit, place);
      fail.CreateCall(
          unit.runtime("mica_fail_lossy", fail.getVoidTy(),
                       {unit.pointer(), unit.i(32), unit.pointer(), unit.pointer()}),
          {file, line, unit.c_string(spectra::to_source(from)), unit.c_string(spectra::to_source(to))});
    });
  };
  if (from->scalar == to->scalar) return x;
  if (from->is_float()) x = widen_half(b, x, from);
  if (from->is_float() && to->is_float()) {
    LValue result = x;
    if (is_half(to))
      result = round_to_half(unit, b, x, to->scalar);
    else
      result = b.CreateFPCast(x, target);
    if (checked) { // a number that becomes infinite; mere rounding is what a narrower float is for
      LValue back = widen_half(b, result, to);
      LValue infinity = llvm::ConstantFP::getInfinity(back->getType());
      LValue limit = llvm::ConstantFP::getInfinity(x->getType());
      LValue overflows = b.CreateFCmpOEQ(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back), infinity);
      LValue was = b.CreateFCmpONE(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), limit);
      lossy(b.CreateAnd(overflows, was));
    }
    return result;
  }
  if (from->is_float()) {
    if (to->is_bool()) return b.CreateFCmpUNE(x, llvm::Constant::getNullValue(x->getType()));
    if (checked) lossy(outside_integer(b, x, to, target->getIntegerBitWidth()));
    return float_to_integer(b, x, to, target);
  }
  if (to->is_float()) return integer_to_float(unit, b, x, from, to);
  if (to->is_bool()) return b.CreateICmpNE(x, llvm::Constant::getNullValue(x->getType()));
  LValue result = b.CreateIntCast(x, target, from->is_signed());
  if (checked && !from->is_bool()) {
    LValue loses = b.CreateICmpNE(b.CreateIntCast(result, x->getType(), to->is_signed()), x);
    if (from->is_signed() != to->is_signed()) { // the same bits under another sign are another number
      LValue signed_one = from->is_signed() ? x : result;
      LValue negative = b.CreateICmpSLT(signed_one, llvm::Constant::getNullValue(signed_one->getType()));
      loses = b.CreateOr(loses, negative);
    }
    lossy(loses);
  }
  return result;
}

} // namespace mica::codegen
