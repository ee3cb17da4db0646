// Threads that work together on one row, or on one part of a sum: what each has is combined, always in the
// same order, and all of them get the same bits.
#pragma once
#include "device.h"

namespace mica::codegen {

class Lanes {
public:
  using LValue = llvm::Value *;
  using Values = llvm::SmallVector<LValue, 2>;
  using Combine = std::function<Values(const Values &, const Values &)>;
  static constexpr int64_t kWarp = 32;

  /// `threads`: a power of two up to a warp's, or whole warps, which then are the whole block.
  Lanes(Card &card, CardFunction &function, int64_t threads) : card_(card), f_(function), threads_(threads) {}
  Values reduce(Values own, const Combine &combine);
  LValue reduce(LValue own, const std::function<LValue(LValue, LValue)> &combine);
  /// All of them have come here, and see each other's writes.
  void meet();

private:
  LValue other(LValue v, int64_t distance);
  Card &card_;
  CardFunction &f_;
  int64_t threads_;
};

/// Reductions over cells: the neutral start, and how two combine. Halves are float32 here.
enum class Reduction { sum, max, min, arg_max };
struct Reducer {
  Reducer(Card &card, Reduction kind, const Type *cell);
  Lanes::Values start() const; ///< of arg_max: the value, its index
  Lanes::Values combine(Builder &b, const Lanes::Values &x, const Lanes::Values &y) const;
  /// A cell as the reduction takes it.
  Lanes::Values take(Builder &b, llvm::Value *cell, llvm::Value *index) const;

  Card &card;
  Reduction kind;
  const Type *cell; ///< as stored
  llvm::Type *type; ///< as it is combined
};

} // namespace mica::codegen
