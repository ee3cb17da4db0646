// Launches on the processor: the context, the share of the threads, and the forms that are more than one
// loop.
#include "kernel.h"
#include "spectra/ops.h"

namespace mica::codegen {
namespace {

using LValue = llvm::Value *;
using spectra::Attr;
using spectra::Kernel;
using spectra::KernelForm;

/// Work below this many units of grain runs on the calling thread without a hand-over.
constexpr int64_t kShares = 2;

const spectra::AttrValue *find(const Kernel &kernel, Attr key) {
  for (const spectra::Attribute &a : kernel.attributes)
    if (a.key == key) return &a.value;
  return nullptr;
}

class Launch {
public:
  Launch(Unit &unit, Builder &b, const Op &op, const Kernel &kernel, llvm::ArrayRef<LValue> operands)
      : unit_(unit), b_(b), op_(op), kernel_(kernel), operands_(operands) {}

  void emit() {
    switch (kernel_.form) {
    case KernelForm::map: run_body(once("", emit_map_kernel), context(operands_)); return;
    case KernelForm::rows: run_body(once("", emit_rows_kernel), context(operands_)); return;
    case KernelForm::reduce: return emit_reduce();
    case KernelForm::product: return emit_product();
    case KernelForm::multi: return emit_multi();
    }
  }

private:
  struct Body {
    llvm::Function *function;
    Share share;
  };

  LValue int64(int64_t v) { return b_.getInt64(static_cast<uint64_t>(v)); }
  LValue int32(int64_t v) { return b_.getInt32(static_cast<uint32_t>(v)); }

  /// The kernel's function, made at the first launch of this kernel or of one like it.
  Body once(const char *suffix, Share (*emit)(Unit &, const Kernel &, llvm::Function *&)) {
    std::string key = kernel_key(unit_, kernel_) + suffix;
    static_assert(sizeof(Share) == 16);
    auto it = unit_.bodies.find(key);
    if (it == unit_.bodies.end()) {
      llvm::Function *f = nullptr;
      Share share = emit(unit_, kernel_, f);
      it = unit_.bodies.emplace(key, Unit::KernelBody{f, share.count, share.grain}).first;
    }
    return {it->second.function, {it->second.count, it->second.grain}};
  }

  /// Memory on the stack that a call reads and that is free again after it: all launches of a function share
  /// it, where they need no more than most do.
  LValue words_on_stack(uint64_t count) {
    constexpr uint64_t kShared = 24;
    llvm::Function *f = b_.GetInsertBlock()->getParent();
    llvm::AllocaInst *&shared = unit_.launch_words[f];
    if (shared && count <= kShared) return shared;
    Builder at_entry(&f->getEntryBlock(), f->getEntryBlock().begin());
    llvm::AllocaInst *slots =
        at_entry.CreateAlloca(b_.getInt64Ty(), at_entry.getInt64(std::max(count, kShared)), "context");
    if (count <= kShared) shared = slots;
    return slots;
  }

  /// Words of the context: pointers and scalars, one each.
  LValue context(llvm::ArrayRef<LValue> words) {
    LValue slots = words_on_stack(words.size());
    for (size_t i = 0; i < words.size(); ++i) {
      LValue word = words[i];
      if (word->getType()->isIntegerTy(1)) word = b_.CreateZExt(word, b_.getInt8Ty());
      if (word->getType()->isStructTy()) { // a draw is wider than a word: the word points to it
        llvm::BasicBlock &entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
        Builder top(&entry, entry.begin());
        LValue draw = top.CreateAlloca(word->getType(), nullptr, "draw");
        b_.CreateStore(word, draw);
        word = draw;
      }
      b_.CreateStore(word, b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), slots, i));
    }
    return slots;
  }

  void run_body(const Body &body, LValue slots) {
    if (body.share.count == 0) return;
    if (body.share.count < kShares * body.share.grain) {
      b_.CreateCall(body.function, {slots, int64(0), int64(body.share.count)});
      return;
    }
    llvm::FunctionCallee parallel =
        unit_.runtime("mica_parallel", b_.getVoidTy(),
                      {unit_.pointer(), unit_.pointer(), b_.getInt64Ty(), b_.getInt64Ty()});
    b_.CreateCall(parallel, {body.function, slots, int64(body.share.count), int64(body.share.grain)});
  }

  /// Whether the body hands its only parameter through over the whole space, so that no scratch is needed.
  bool is_plain() const {
    const Op *yield = kernel_.body->ops.back();
    if (kernel_.body->ops.size() != 1 || yield->operands.size() != 1 || kernel_.body->args.size() != 1)
      return false;
    return kernel_.params[0]->is_whole() && kernel_.params[0]->sizes == kernel_.space;
  }

  void emit_reduce() {
    const Op *yield = kernel_.body->ops.back();
    size_t params = kernel_.params.size();
    int64_t cells = 1;
    for (int64_t size : kernel_.space) cells *= size;
    std::vector<LValue> sources;
    LValue scratch = nullptr;
    if (is_plain())
      sources.push_back(operands_[0]);
    else {
      std::vector<int64_t> offsets;
      int64_t bytes = 0;
      for (const Value *v : yield->operands) {
        offsets.push_back(bytes);
        bytes += (cells * spectra::scalar_bytes(v->type->scalar) + 255) / 256 * 256;
      }
      auto [file, line] = place_arguments(unit_, op_.place());
      llvm::FunctionCallee arena =
          unit_.runtime("mica_arena", unit_.pointer(),
                        {unit_.pointer(), b_.getInt32Ty(), b_.getInt64Ty(), b_.getInt32Ty()});
      scratch = b_.CreateCall(arena, {file, line, int64(std::max<int64_t>(bytes, 64)), int32(0)});
      std::vector<LValue> words(operands_.begin(), operands_.begin() + static_cast<long>(params));
      for (int64_t offset : offsets) {
        sources.push_back(
            b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), scratch, static_cast<uint64_t>(offset)));
        words.push_back(sources.back());
      }
      run_body(once(".cells", emit_scratch), context(words));
    }
    for (size_t r = 0; r < kernel_.results.size(); ++r)
      reduce_one(sources[r], yield->operands[r]->type, operands_[params + r], kernel_.results[r]);
    if (scratch)
      b_.CreateCall(unit_.runtime("mica_arena_free", b_.getVoidTy(), {unit_.pointer()}), {scratch});
  }

  /// Dimensions of the space that are reduced: all, the leading ones, or the trailing ones.
  void reduce_one(LValue source, const Type *cell, LValue target, const Type *result) {
    const std::vector<int64_t> &over = std::get<std::vector<int64_t>>(*find(kernel_, Attr::over));
    const std::string &kind = std::get<std::string>(*find(kernel_, Attr::kind));
    size_t rank = kernel_.space.size();
    int64_t reduced = 1;
    int64_t kept = 1;
    std::vector<bool> is_over(rank, false);
    for (int64_t d : over) is_over[static_cast<size_t>(d)] = true;
    for (size_t d = 0; d < rank; ++d) (is_over[d] ? reduced : kept) *= kernel_.space[d];
    bool leading = !over.empty() && is_over[0];
    for (size_t d = 0; d + 1 < rank; ++d)
      if (leading ? (!is_over[d] && is_over[d + 1]) : (is_over[d] && !is_over[d + 1]))
        throw std::logic_error("a reduction over dimensions that are neither leading nor trailing");
    LValue type = int32(runtime_type(cell));
    if (kind == "sum" || kind == "mean") {
      if (leading && kept != 1) return columns(source, cell, target, result, reduced, kept, kind == "mean");
      each(kept, [&](LValue i) {
        LValue total = sum(cell, at(cell, source, i, reduced), reduced);
        store(result, kind == "mean" ? divided(total, reduced) : total, at(result, target, i, 1));
      });
      return;
    }
    if (leading && kept != 1) throw std::logic_error("max and min over columns");
    each(kept, [&](LValue i) {
      LValue from = at(cell, source, i, reduced);
      if (kind == "arg_max") {
        llvm::FunctionCallee f = unit_.runtime("mica_argmax", b_.getInt64Ty(),
                                               {b_.getInt32Ty(), unit_.pointer(), b_.getInt64Ty()});
        store(result, b_.CreateTrunc(b_.CreateCall(f, {type, from, int64(reduced)}), b_.getInt32Ty()),
              at(result, target, i, 1));
      } else {
        store(result, extreme(cell, from, reduced, kind == "max"), at(result, target, i, 1));
      }
    });
  }

  LValue divided(LValue total, int64_t count) {
    return b_.CreateFDiv(total, llvm::ConstantFP::get(total->getType(), static_cast<double>(count)));
  }

  /// Sums of columns. Means of halves are divided before they are rounded, so they go by way of float32.
  void columns(LValue source, const Type *cell, LValue target, const Type *result, int64_t rows, int64_t kept,
               bool mean) {
    auto column_sum = [&](const Type *type, LValue from, LValue to) {
      llvm::FunctionCallee f = unit_.runtime(
          "mica_column_sum", b_.getVoidTy(),
          {b_.getInt32Ty(), unit_.pointer(), b_.getInt64Ty(), b_.getInt64Ty(), unit_.pointer()});
      b_.CreateCall(f, {int32(runtime_type(type)), from, int64(rows), int64(kept), to});
    };
    bool half = cell->scalar == Scalar::f16 || cell->scalar == Scalar::bf16;
    if (!mean) return column_sum(cell, source, target);
    if (!half) {
      column_sum(cell, source, target);
      each(kept, [&](LValue i) {
        LValue place = at(result, target, i, 1);
        store(result, divided(load(result, place), rows), place);
      });
      return;
    }
    const Type *wide = unit_.spectra.types.scalar(Scalar::f32);
    auto [file, line] = place_arguments(unit_, op_.place());
    LValue scratch =
        b_.CreateCall(unit_.runtime("mica_arena", unit_.pointer(),
                                    {unit_.pointer(), b_.getInt32Ty(), b_.getInt64Ty(), b_.getInt32Ty()}),
                      {file, line, int64((rows + 1) * kept * 4), int32(0)});
    LValue sums = at(wide, scratch, int64(rows * kept), 1);
    each(rows * kept,
         [&](LValue i) { store(wide, load(cell, at(cell, source, i, 1)), at(wide, scratch, i, 1)); });
    column_sum(wide, scratch, sums);
    each(kept, [&](LValue i) {
      store(result, divided(load(wide, at(wide, sums, i, 1)), rows), at(result, target, i, 1));
    });
    b_.CreateCall(unit_.runtime("mica_arena_free", b_.getVoidTy(), {unit_.pointer()}), {scratch});
  }

  LValue at(const Type *type, LValue base, LValue i, int64_t step) {
    llvm::Type *t = type->is_bool() ? b_.getInt8Ty() : unit_.scalar_type(type->scalar);
    return b_.CreateInBoundsGEP(t, base, step == 1 ? i : b_.CreateNSWMul(i, int64(step)));
  }
  LValue load(const Type *type, LValue place) {
    if (type->is_bool()) return b_.CreateTrunc(b_.CreateLoad(b_.getInt8Ty(), place), b_.getInt1Ty());
    return widen_half(b_, b_.CreateLoad(unit_.scalar_type(type->scalar), place), type);
  }
  /// Of a float: in the type that halves compute in.
  void store(const Type *type, LValue v, LValue place) {
    if (type->is_bool()) v = b_.CreateZExt(v, b_.getInt8Ty());
    if (v->getType()->isFloatTy()) v = narrow_half(unit_, b_, v, type);
    b_.CreateStore(v, place);
  }

  LValue sum(const Type *cell, LValue from, int64_t count) {
    if (cell->is_float()) {
      std::string name = std::string("mica_sum_") + spectra::scalar_name(cell->scalar);
      llvm::Type *t = cell->scalar == Scalar::f64 ? b_.getDoubleTy() : b_.getFloatTy();
      return b_.CreateCall(unit_.runtime(name.c_str(), t, {unit_.pointer(), b_.getInt64Ty()}),
                           {from, int64(count)});
    }
    llvm::FunctionCallee f =
        unit_.runtime("mica_sum_int", b_.getInt64Ty(), {b_.getInt32Ty(), unit_.pointer(), b_.getInt64Ty()});
    return b_.CreateIntCast(b_.CreateCall(f, {int32(runtime_type(cell)), from, int64(count)}),
                            unit_.scalar_type(cell->scalar), true);
  }

  /// A loop over i in 0..count-1 with one carried value.
  LValue fold(int64_t count, LValue start, const std::function<LValue(LValue, LValue)> &body) {
    if (count == 0) return start;
    llvm::Function *f = b_.GetInsertBlock()->getParent();
    llvm::BasicBlock *before = b_.GetInsertBlock();
    llvm::BasicBlock *turn = llvm::BasicBlock::Create(unit_.context, "each", f);
    llvm::BasicBlock *after = llvm::BasicBlock::Create(unit_.context, "", f);
    b_.CreateBr(turn);
    b_.SetInsertPoint(turn);
    llvm::PHINode *i = b_.CreatePHI(b_.getInt64Ty(), 2);
    llvm::PHINode *carried = start ? b_.CreatePHI(start->getType(), 2) : nullptr;
    LValue next_value = body(i, carried);
    LValue next = b_.CreateNSWAdd(i, int64(1));
    i->addIncoming(int64(0), before);
    i->addIncoming(next, b_.GetInsertBlock());
    if (carried) {
      carried->addIncoming(start, before);
      carried->addIncoming(next_value, b_.GetInsertBlock());
    }
    b_.CreateCondBr(b_.CreateICmpSLT(next, int64(count)), turn, after);
    b_.SetInsertPoint(after);
    return next_value;
  }
  void each(int64_t count, const std::function<void(LValue)> &body) {
    fold(count, nullptr, [&](LValue i, LValue) {
      body(i);
      return static_cast<LValue>(nullptr);
    });
  }

  LValue extreme(const Type *cell, LValue from, int64_t count, bool larger) {
    bool half = cell->scalar == Scalar::f16 || cell->scalar == Scalar::bf16;
    llvm::Type *t = half ? b_.getFloatTy() : unit_.scalar_type(cell->scalar);
    unsigned bits = static_cast<unsigned>(t->getPrimitiveSizeInBits());
    LValue start = nullptr;
    if (cell->is_float())
      start = llvm::ConstantFP::getInfinity(t, larger);
    else if (cell->is_signed())
      start = llvm::ConstantInt::get(t, larger ? llvm::APInt::getSignedMinValue(bits)
                                               : llvm::APInt::getSignedMaxValue(bits));
    else
      start = llvm::ConstantInt::get(t, larger ? llvm::APInt(bits, 0) : llvm::APInt::getAllOnes(bits));
    using namespace llvm;
    Intrinsic::ID id = cell->is_float()    ? (larger ? Intrinsic::maximum : Intrinsic::minimum)
                       : cell->is_signed() ? (larger ? Intrinsic::smax : Intrinsic::smin)
                                           : (larger ? Intrinsic::umax : Intrinsic::umin);
    return fold(count, start, [&](LValue i, LValue best) {
      return static_cast<LValue>(b_.CreateIntrinsic(id, {t}, {best, load(cell, at(cell, from, i, 1))}));
    });
  }

  /// libmicart's product (numerics.md 5), then the epilogue in place.
  void emit_product() {
    const Type *a = kernel_.params[0];
    const Type *b = kernel_.params[1];
    const Type *c = kernel_.results[0];
    bool transpose_a = find(kernel_, Attr::transpose_a) != nullptr;
    bool transpose_b = find(kernel_, Attr::transpose_b) != nullptr;
    // A vector on the left is one row, on the right one column; leading sizes are rows unless both sides have
    // them.
    std::vector<int64_t> as = a->sizes;
    std::vector<int64_t> bs = b->sizes;
    if (as.size() == 1) as.insert(as.begin(), 1);
    if (bs.size() == 1) bs.push_back(1);
    int64_t batch = 1;
    if (bs.size() > 2)
      for (size_t i = 0; i + 2 < bs.size(); ++i) batch *= bs[i];
    else if (!transpose_a) {
      int64_t rows = 1;
      for (size_t i = 0; i + 1 < as.size(); ++i) rows *= as[i];
      as = {rows, as.back()};
    } else if (as.size() > 2) {
      for (size_t i = 0; i + 2 < as.size(); ++i) batch *= as[i];
    }
    int64_t a_rows = as[as.size() - 2], a_columns = as.back();
    int64_t b_rows = bs[bs.size() - 2], b_columns = bs.back();
    int64_t m = transpose_a ? a_columns : a_rows;
    int64_t k = transpose_a ? a_rows : a_columns;
    int64_t n = transpose_b ? b_rows : b_columns;
    int64_t b_step = bs.size() > 2 ? b_rows * b_columns : 0;
    // struct mica_product: 3 pointers, then 14 words, then 6 halves.
    std::vector<int64_t> numbers = {m, n,      k, a_columns, b_columns, n, 1, batch, 0, a_rows * a_columns,
                                    0, b_step, 0, m * n};
    auto pair = [](int64_t low, int64_t high) {
      return static_cast<int64_t>(static_cast<uint64_t>(low) | static_cast<uint64_t>(high) << 32);
    };
    numbers.push_back(pair(runtime_type(a), runtime_type(b)));
    numbers.push_back(pair(runtime_type(c), transpose_a));
    numbers.push_back(pair(transpose_b, 0));
    LValue slots = words_on_stack(3 + numbers.size());
    auto place = [&](size_t word) { return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), slots, word); };
    b_.CreateStore(operands_[0], place(0));
    b_.CreateStore(operands_[1], place(1));
    b_.CreateStore(operands_[kernel_.params.size()], place(2));
    b_.CreateMemCpy(place(3), llvm::Align(8), unit_.int64s(numbers), llvm::Align(8), 8 * numbers.size());
    b_.CreateCall(unit_.runtime("mica_multiply", b_.getVoidTy(), {unit_.pointer()}), {slots});
    if (kernel_.body->ops.size() > 1) run_body(once(".epilogue", emit_epilogue), context(operands_));
  }

  /// Groups of pointers after the scalars; each group's cells in place.
  void emit_multi() {
    std::string key = kernel_key(unit_, kernel_);
    auto it = unit_.bodies.find(key);
    if (it == unit_.bodies.end())
      it = unit_.bodies.emplace(key, Unit::KernelBody{emit_multi_kernel(unit_, kernel_), 0, 8192}).first;
    size_t scalars = static_cast<size_t>(std::get<int64_t>(*find(kernel_, Attr::scalars)));
    size_t members = kernel_.params.size() - scalars;
    for (size_t group = scalars; members && group + members <= operands_.size(); group += members) {
      std::vector<LValue> words(operands_.begin(), operands_.begin() + static_cast<long>(scalars));
      words.insert(words.end(), operands_.begin() + static_cast<long>(group),
                   operands_.begin() + static_cast<long>(group + members));
      int64_t cells = op_.operands[group]->type->element->cells();
      run_body({it->second.function, {cells, it->second.grain}}, context(words));
    }
  }

  Unit &unit_;
  Builder &b_;
  const Op &op_;
  const Kernel &kernel_;
  llvm::ArrayRef<LValue> operands_;
};

} // namespace

void emit_launch(Unit &unit, Builder &b, const Op &op, llvm::ArrayRef<LValue> operands) {
  const Kernel *kernel = unit.spectra.find_kernel(op.symbol);
  Launch(unit, b, op, *kernel, operands).emit();
}

} // namespace mica::codegen
