#include "lanes.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

namespace mica::codegen {
namespace {

using LValue = llvm::Value *;

constexpr unsigned kShared = 3; ///< the address space of shared memory
constexpr uint64_t kAllLanes = 0xffffffff;

} // namespace

/// The value of the lane whose number differs by the bits of `distance`.
LValue Lanes::other(LValue v, int64_t distance) {
  Builder &b = f_.b;
  auto move = [&](LValue word) {
    return b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::nvvm_shfl_sync_bfly_i32,
                             {b.getInt32(kAllLanes), word, f_.int32(distance), f_.int32(kWarp - 1)});
  };
  llvm::Type *type = v->getType();
  unsigned bits = static_cast<unsigned>(type->getPrimitiveSizeInBits());
  LValue word = b.CreateBitCast(v, b.getIntNTy(bits));
  if (bits <= 32) {
    word = b.CreateTrunc(move(b.CreateZExt(word, b.getInt32Ty())), b.getIntNTy(bits));
  } else {
    LValue low = move(b.CreateTrunc(word, b.getInt32Ty()));
    LValue high = move(b.CreateTrunc(b.CreateLShr(word, 32), b.getInt32Ty()));
    word = b.CreateOr(b.CreateZExt(low, b.getInt64Ty()), b.CreateShl(b.CreateZExt(high, b.getInt64Ty()), 32));
  }
  return b.CreateBitCast(word, type);
}

void Lanes::meet() {
  if (threads_ > kWarp)
    f_.b.CreateIntrinsic(f_.b.getVoidTy(), llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {f_.int32(0)});
  else if (threads_ > 1)
    f_.b.CreateIntrinsic(f_.b.getVoidTy(), llvm::Intrinsic::nvvm_bar_warp_sync, {f_.b.getInt32(kAllLanes)});
}

Lanes::Values Lanes::reduce(Values own, const Combine &combine) {
  Builder &b = f_.b;
  for (int64_t distance = std::min(threads_, kWarp) / 2; distance >= 1; distance /= 2) {
    Values far;
    for (LValue v : own) far.push_back(other(v, distance));
    own = combine(own, far);
  }
  if (threads_ <= kWarp) return own;
  // The warps' values lie side by side in shared memory; every thread combines them in order.
  int64_t warps = threads_ / kWarp;
  std::vector<llvm::GlobalVariable *> slots;
  LValue warp = b.CreateLShr(f_.thread(), 5);
  LValue first = b.CreateICmpEQ(b.CreateAnd(f_.thread(), f_.int32(kWarp - 1)), f_.int32(0));
  for (LValue v : own) {
    llvm::ArrayType *type = llvm::ArrayType::get(v->getType(), static_cast<uint64_t>(warps));
    slots.push_back(new llvm::GlobalVariable(
        *card_.device.module, type, false, llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(type),
        f_.function->getName() + ".warps", nullptr, llvm::GlobalValue::NotThreadLocal, kShared));
    slots.back()->setAlignment(llvm::Align(16));
  }
  f_.when(first, [&] {
    for (size_t i = 0; i < own.size(); ++i)
      b.CreateStore(own[i], b.CreateInBoundsGEP(own[i]->getType(), slots[i], warp));
  });
  meet();
  Values all;
  for (int64_t w = 0; w < warps; ++w) {
    Values one;
    for (size_t i = 0; i < own.size(); ++i) {
      llvm::Type *type = own[i]->getType();
      one.push_back(
          b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(type, slots[i], static_cast<uint64_t>(w))));
    }
    all = w ? combine(all, one) : one;
  }
  return all;
}

LValue Lanes::reduce(LValue own, const std::function<LValue(LValue, LValue)> &combine) {
  return reduce(Values{own},
                [&](const Values &x, const Values &y) { return Values{combine(x[0], y[0])}; })[0];
}

Reducer::Reducer(Card &c, Reduction k, const Type *t) : card(c), kind(k), cell(t) {
  bool half = t->scalar == Scalar::f16 || t->scalar == Scalar::bf16;
  type = half ? llvm::Type::getFloatTy(c.device.context) : c.device.scalar_type(t->scalar);
}

Lanes::Values Reducer::start() const {
  if (kind == Reduction::sum) return {llvm::Constant::getNullValue(type)};
  bool larger = kind != Reduction::min;
  unsigned bits = static_cast<unsigned>(type->getPrimitiveSizeInBits());
  LValue v = nullptr;
  if (cell->is_float())
    v = llvm::ConstantFP::getInfinity(type, larger);
  else if (cell->is_signed())
    v = llvm::ConstantInt::get(type, larger ? llvm::APInt::getSignedMinValue(bits)
                                            : llvm::APInt::getSignedMaxValue(bits));
  else
    v = llvm::ConstantInt::get(type, larger ? llvm::APInt(bits, 0) : llvm::APInt::getAllOnes(bits));
  if (kind != Reduction::arg_max) return {v};
  return {v, llvm::Constant::getAllOnesValue(llvm::Type::getInt64Ty(card.device.context))}; // of nothing: -1
}

Lanes::Values Reducer::take(Builder &b, LValue v, LValue index) const {
  v = widen_half(b, v, cell);
  if (kind != Reduction::arg_max) return {v};
  return {v, index};
}

Lanes::Values Reducer::combine(Builder &b, const Lanes::Values &x, const Lanes::Values &y) const {
  using namespace llvm;
  auto intrinsic = [&](Intrinsic::ID id) {
    return Lanes::Values{b.CreateIntrinsic(id, {type}, {x[0], y[0]})};
  };
  switch (kind) {
  case Reduction::sum: return {cell->is_float() ? b.CreateFAdd(x[0], y[0]) : b.CreateAdd(x[0], y[0])};
  case Reduction::max:
    return intrinsic(cell->is_float()    ? Intrinsic::maximum
                     : cell->is_signed() ? Intrinsic::smax
                                         : Intrinsic::umax);
  case Reduction::min:
    return intrinsic(cell->is_float()    ? Intrinsic::minimum
                     : cell->is_signed() ? Intrinsic::smin
                                         : Intrinsic::umin);
  case Reduction::arg_max: break;
  }
  // The first of the greatest; a NaN is greatest; an index of -1 is nothing yet.
  LValue greater = nullptr, same = nullptr;
  if (cell->is_float()) {
    LValue x_nan = b.CreateFCmpUNO(x[0], x[0]), y_nan = b.CreateFCmpUNO(y[0], y[0]);
    greater = b.CreateOr(b.CreateFCmpOGT(y[0], x[0]), b.CreateAnd(y_nan, b.CreateNot(x_nan)));
    same = b.CreateOr(b.CreateFCmpOEQ(y[0], x[0]), b.CreateAnd(x_nan, y_nan));
  } else {
    greater = cell->is_signed() ? b.CreateICmpSGT(y[0], x[0]) : b.CreateICmpUGT(y[0], x[0]);
    same = b.CreateICmpEQ(y[0], x[0]);
  }
  // As unsigned numbers -1 is the largest: what is something comes before it.
  LValue better = b.CreateOr(greater, b.CreateAnd(same, b.CreateICmpULT(y[1], x[1])));
  return {b.CreateSelect(better, y[0], x[0]), b.CreateSelect(better, y[1], x[1])};
}

} // namespace mica::codegen
