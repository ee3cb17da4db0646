// reduce kernels in two steps, always the same split, so that the digits are the same on every run: blocks
// reduce parts to scratch memory, then one group of threads a result combines its parts in order.
#include "lanes.h"
#include "spectra/ops.h"

namespace mica::codegen {
namespace {

using LValue = llvm::Value *;
using spectra::Attr;

constexpr int64_t kPartCells = 4096;            ///< that a block reduces at least: 16 a thread
constexpr int64_t kMostParts = 1024;            ///< over all results
constexpr int64_t kColumns = 32, kRowLanes = 8; ///< of a block that reduces columns
constexpr int64_t kPartRows = 64;

int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

class ReduceKernel {
public:
  ReduceKernel(Unit &host, Card &card, const spectra::Kernel &kernel)
      : host_(host), card_(card), unit_(card.device), kernel_(kernel), yield_(kernel.body->ops.back()),
        cells_(card, kernel, kernel.space, {}, false) {
    std::vector<int64_t> over;
    for (const spectra::Attribute &a : kernel.attributes) {
      if (a.key == Attr::over) over = std::get<std::vector<int64_t>>(a.value);
      if (a.key == Attr::kind) name_ = std::get<std::string>(a.value);
    }
    std::set<int64_t> reduced(over.begin(), over.end());
    for (size_t d = 0; d < kernel.space.size(); ++d)
      (reduced.count(static_cast<int64_t>(d)) ? reduced_ : kept_) *= kernel.space[d];
    columns_ = reduced.count(0) && kept_ != 1;
    kind_ = name_ == "max"       ? Reduction::max
            : name_ == "min"     ? Reduction::min
            : name_ == "arg_max" ? Reduction::arg_max
                                 : Reduction::sum;
    for (const Value *v : yield_->operands) reducers_.emplace_back(card, kind_, v->type);
    most_parts_ = std::max<int64_t>(
        1, kMostParts / std::max<int64_t>(1, columns_ ? divided_up(kept_, kColumns) : kept_));
    // Each result's parts hold so many words of 8 bytes.
    for (const Reducer &r : reducers_) words_ += r.start().size();
  }

  CardKernel emit() {
    CardKernel out;
    out.fails = may_fail(unit_.spectra, kernel_);
    parts_ = std::clamp<int64_t>(divided_up(reduced_, columns_ ? kPartRows : kPartCells), 1, most_parts_);
    out.scratch = std::max<int64_t>(kept_, 1) * parts_ * static_cast<int64_t>(words_) * 8;
    out.entries.push_back(columns_ ? emit_columns() : emit_parts());
    out.entries.push_back(emit_last());
    return out;
  }

private:
  /// Where part `part` of result number `kept` keeps a word.
  LValue word(CardFunction &f, LValue kept, LValue part, size_t number) {
    LValue at = f.b.CreateNSWAdd(f.b.CreateNSWMul(kept, f.int64(parts_)), part);
    at = f.b.CreateNSWAdd(f.b.CreateNSWMul(at, f.int64(static_cast<int64_t>(words_))),
                          f.int64(static_cast<int64_t>(number)));
    return f.b.CreateInBoundsGEP(f.b.getInt64Ty(), f.scratch, at);
  }
  void keep(CardFunction &f, LValue kept, LValue part, const std::vector<Lanes::Values> &all) {
    size_t number = 0;
    for (const Lanes::Values &values : all)
      for (LValue v : values) f.b.CreateStore(v, word(f, kept, part, number++));
  }

  /// for (at = from; at < to; at += step), with what the reductions have so far.
  std::vector<Lanes::Values> loop(CardFunction &f, LValue from, LValue to, LValue step,
                                  const std::function<std::vector<Lanes::Values>(LValue)> &take) {
    Builder &b = f.b;
    llvm::BasicBlock *before = b.GetInsertBlock();
    llvm::BasicBlock *turn = llvm::BasicBlock::Create(unit_.context, "turn", f.function);
    llvm::BasicBlock *body = llvm::BasicBlock::Create(unit_.context, "", f.function);
    llvm::BasicBlock *after = llvm::BasicBlock::Create(unit_.context, "", f.function);
    b.CreateBr(turn);
    b.SetInsertPoint(turn);
    llvm::PHINode *at = b.CreatePHI(b.getInt64Ty(), 2);
    at->addIncoming(from, before);
    std::vector<std::vector<llvm::PHINode *>> carried;
    std::vector<Lanes::Values> now;
    for (const Reducer &r : reducers_) {
      carried.emplace_back();
      now.emplace_back();
      for (LValue v : r.start()) {
        carried.back().push_back(b.CreatePHI(v->getType(), 2));
        carried.back().back()->addIncoming(v, before);
        now.back().push_back(carried.back().back());
      }
    }
    b.CreateCondBr(b.CreateICmpSLT(at, to), body, after);
    b.SetInsertPoint(body);
    std::vector<Lanes::Values> taken = take(at);
    for (size_t r = 0; r < reducers_.size(); ++r) {
      Lanes::Values next = reducers_[r].combine(b, now[r], taken[r]);
      for (size_t i = 0; i < next.size(); ++i) carried[r][i]->addIncoming(next[i], b.GetInsertBlock());
    }
    at->addIncoming(b.CreateNSWAdd(at, step), b.GetInsertBlock());
    b.CreateBr(turn);
    b.SetInsertPoint(after);
    return now;
  }

  std::vector<Lanes::Values> across(CardFunction &f, Lanes &lanes, std::vector<Lanes::Values> all) {
    for (size_t r = 0; r < reducers_.size(); ++r)
      all[r] = lanes.reduce(all[r], [&](const Lanes::Values &x, const Lanes::Values &y) {
        return reducers_[r].combine(f.b, x, y);
      });
    return all;
  }

  /// The cells that a group yields, as one value a reduction, in their order.
  std::vector<Lanes::Values> taken(CardFunction &f, LValue group, int64_t count, LValue first_index) {
    std::vector<std::vector<LValue>> yielded = cells_.compute(f.b, f.arguments, group, count, {}, &f);
    std::vector<Lanes::Values> out;
    for (size_t r = 0; r < reducers_.size(); ++r) {
      Lanes::Values all;
      for (int64_t i = 0; i < count; ++i) {
        LValue index = f.b.CreateNSWAdd(first_index, f.int64(i));
        Lanes::Values one = reducers_[r].take(f.b, yielded[r][static_cast<size_t>(i)], index);
        all = i ? reducers_[r].combine(f.b, all, one) : one;
      }
      out.push_back(all);
    }
    return out;
  }

  /// Neighbours are reduced: a block takes a part of one result's cells.
  CardEntry emit_parts() {
    CardFunction f(host_, card_, kernel_, "_parts", true);
    Builder &b = f.b;
    int64_t width = reduced_ % cells_.width() == 0 ? cells_.width() : 1;
    int64_t groups = reduced_ / width, each = divided_up(groups, parts_);
    LValue block = b.CreateZExt(f.block(), b.getInt64Ty());
    LValue kept = b.CreateUDiv(block, f.int64(parts_)), part = b.CreateURem(block, f.int64(parts_));
    LValue begin = b.CreateNSWMul(part, f.int64(each));
    LValue end =
        b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateNSWAdd(begin, f.int64(each)), f.int64(groups));
    LValue first = b.CreateNSWMul(kept, f.int64(groups));
    LValue from = b.CreateNSWAdd(begin, b.CreateZExt(f.thread(), b.getInt64Ty()));
    std::vector<Lanes::Values> all = loop(f, from, end, f.int64(kBlockThreads), [&](LValue at) {
      return taken(f, b.CreateNSWAdd(first, at), width, b.CreateNSWMul(at, f.int64(width)));
    });
    Lanes lanes(card_, f, kBlockThreads);
    all = across(f, lanes, all);
    f.when(b.CreateICmpEQ(f.thread(), f.int32(0)), [&] { keep(f, kept, part, all); });
    return f.finish(reduced_ ? kept_ * parts_ : 0, kBlockThreads);
  }

  /// Leading dimensions are reduced: a block takes some columns of a part of the rows, several rows at a
  /// time.
  CardEntry emit_columns() {
    CardFunction f(host_, card_, kernel_, "_parts", true);
    Builder &b = f.b;
    int64_t across_blocks = divided_up(kept_, kColumns), each = divided_up(reduced_, parts_);
    LValue block = b.CreateZExt(f.block(), b.getInt64Ty());
    LValue part = b.CreateUDiv(block, f.int64(across_blocks));
    LValue thread = b.CreateZExt(f.thread(), b.getInt64Ty());
    LValue lane = b.CreateUDiv(thread, f.int64(kColumns));
    LValue column =
        b.CreateNSWAdd(b.CreateNSWMul(b.CreateURem(block, f.int64(across_blocks)), f.int64(kColumns)),
                       b.CreateURem(thread, f.int64(kColumns)));
    LValue inside = b.CreateICmpSLT(column, f.int64(kept_));
    LValue begin = b.CreateNSWMul(part, f.int64(each));
    LValue end = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateNSWAdd(begin, f.int64(each)),
                                         f.int64(reduced_));
    end = b.CreateSelect(inside, end, f.int64(0));
    std::vector<Lanes::Values> all =
        loop(f, b.CreateNSWAdd(begin, lane), end, f.int64(kRowLanes), [&](LValue row) {
          return taken(f, b.CreateNSWAdd(b.CreateNSWMul(row, f.int64(kept_)), column), 1, row);
        });
    // The lanes of one column lie in different warps: by way of shared memory, in order.
    for (size_t r = 0; r < reducers_.size(); ++r)
      for (LValue &v : all[r]) {
        llvm::ArrayType *type = llvm::ArrayType::get(v->getType(), kColumns * kRowLanes);
        auto *slots = new llvm::GlobalVariable(*unit_.module, type, false, llvm::GlobalValue::InternalLinkage,
                                               llvm::PoisonValue::get(type), f.function->getName() + ".lanes",
                                               nullptr, llvm::GlobalValue::NotThreadLocal, 3);
        b.CreateStore(v, b.CreateInBoundsGEP(v->getType(), slots, thread));
        shared_.push_back(slots);
      }
    Lanes lanes(card_, f, kBlockThreads);
    lanes.meet();
    f.when(b.CreateAnd(inside, b.CreateICmpEQ(lane, f.int64(0))), [&] {
      size_t at = 0;
      std::vector<Lanes::Values> total;
      for (size_t r = 0; r < reducers_.size(); ++r) {
        Lanes::Values sum;
        for (int64_t l = 0; l < kRowLanes; ++l) {
          Lanes::Values one;
          for (size_t i = 0; i < all[r].size(); ++i) {
            llvm::Type *type = all[r][i]->getType();
            one.push_back(
                b.CreateLoad(type, b.CreateInBoundsGEP(type, shared_[at + i],
                                                       b.CreateNSWAdd(thread, f.int64(l * kColumns)))));
          }
          sum = l ? reducers_[r].combine(b, sum, one) : one;
        }
        at += all[r].size();
        total.push_back(sum);
      }
      keep(f, column, part, total);
    });
    return f.finish(reduced_ ? across_blocks * parts_ : 0, kBlockThreads);
  }

  /// Combines a result's parts, and finishes it.
  CardEntry emit_last() {
    CardFunction f(host_, card_, kernel_, "_last", true);
    Builder &b = f.b;
    // Few results with many parts: a block each; else a thread each.
    bool block_each = parts_ > 32;
    LValue kept = block_each ? b.CreateZExt(f.block(), b.getInt64Ty()) : f.global_thread();
    LValue from = block_each ? b.CreateZExt(f.thread(), b.getInt64Ty()) : f.int64(0);
    LValue end = f.int64(reduced_ ? parts_ : 0);
    if (!block_each) end = b.CreateSelect(b.CreateICmpULT(kept, f.int64(kept_)), end, f.int64(0));
    std::vector<Lanes::Values> all =
        loop(f, from, end, f.int64(block_each ? kBlockThreads : 1), [&](LValue part) {
          std::vector<Lanes::Values> out;
          size_t number = 0;
          for (const Reducer &r : reducers_) {
            out.emplace_back();
            for (LValue v : r.start())
              out.back().push_back(b.CreateLoad(v->getType(), word(f, kept, part, number++)));
          }
          return out;
        });
    Lanes lanes(card_, f, block_each ? kBlockThreads : 1);
    all = across(f, lanes, all);
    LValue writes =
        block_each ? b.CreateICmpEQ(f.thread(), f.int32(0)) : b.CreateICmpULT(kept, f.int64(kept_));
    f.when(writes, [&] {
      for (size_t r = 0; r < reducers_.size(); ++r) finish(f, r, all[r], kept);
    });
    int64_t threads =
        block_each ? kBlockThreads : std::min<int64_t>(kBlockThreads, divided_up(kept_, 32) * 32);
    threads = std::max<int64_t>(threads, 32);
    return f.finish(block_each ? kept_ : divided_up(kept_, threads), threads);
  }

  void finish(CardFunction &f, size_t r, const Lanes::Values &value, LValue kept) {
    Builder &b = f.b;
    const Type *type = kernel_.results[r];
    llvm::Type *memory =
        type->is_bool() ? static_cast<llvm::Type *>(b.getInt8Ty()) : unit_.scalar_type(type->scalar);
    LValue v = value.back(); // of arg_max: the index
    if (name_ == "mean")
      v = b.CreateFDiv(v, llvm::ConstantFP::get(v->getType(), static_cast<double>(reduced_)));
    if (kind_ == Reduction::arg_max) v = b.CreateTrunc(v, memory);
    if (v->getType()->isFloatTy()) v = narrow_half(unit_, b, v, type);
    if (type->is_bool()) v = b.CreateZExt(v, memory);
    b.CreateStore(v, b.CreateInBoundsGEP(memory, f.arguments[kernel_.params.size() + r], kept));
  }

  Unit &host_;
  Card &card_;
  Unit &unit_;
  const spectra::Kernel &kernel_;
  const Op *yield_;
  CellGroup cells_;
  std::string name_;
  Reduction kind_;
  std::vector<Reducer> reducers_;
  std::vector<llvm::GlobalVariable *> shared_;
  int64_t reduced_ = 1, kept_ = 1, parts_ = 1, most_parts_ = 1;
  size_t words_ = 0;
  bool columns_ = false;
};

} // namespace

CardKernel card_reduce(Unit &host, Card &card, const spectra::Kernel &kernel) {
  return ReduceKernel(host, card, kernel).emit();
}

} // namespace mica::codegen
