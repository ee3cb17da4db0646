// rows kernels: a group of threads takes a row. Up to a few thousand cells each thread keeps its cells in
// registers through all stages; a longer row is gone through once a stage, and what a stage needs is computed
// again from the parameters. A reduction ends a stage, as on the processor (host/kernel_rows.cc).
#include "lanes.h"
#include "spectra/ops.h"

namespace mica::codegen {
namespace {

using LValue = llvm::Value *;

constexpr int64_t kVectorBytes = 16;
constexpr int64_t kWarpRow = 1024;  ///< cells that a warp keeps
constexpr int64_t kBlockCells = 16; ///< cells of a row that a thread keeps where a block takes a row
constexpr int64_t kMostThreads = 1024;
constexpr int64_t kLongThreads = 512; ///< where a row is too long for registers

bool is_row(const Value *v) { return v->type->is_whole() && v->type->cells() != 1; }
bool is_reduction(OpCode code) {
  return code == OpCode::row_sum || code == OpCode::row_mean || code == OpCode::row_max ||
         code == OpCode::row_arg_max || code == OpCode::row_pick;
}

/// How the cells of rows of one length lie on the threads.
struct Layout {
  int64_t width = 1;  ///< neighbours in one vector
  int64_t pieces = 0; ///< vectors of a thread
};

class RowsKernel {
public:
  RowsKernel(Unit &host, Card &card, const spectra::Kernel &kernel)
      : card_(card), unit_(card.device), kernel_(kernel), yield_(kernel.body->ops.back()),
        f_(host, card, kernel, "", false), b_(f_.b) {}

  CardKernel emit() {
    unit_.values.resize(unit_.spectra.value_count, nullptr);
    for (int64_t size : kernel_.space) rows_ *= size;
    collect_lengths();
    choose_threads();
    plan_stages();
    place_row();
    Lanes lanes(card_, f_, threads_);
    lanes_ = &lanes;
    for (int stage = 0; stage <= last_stage_; ++stage) emit_stage(stage);
    if (picks_) lanes.meet(); // a pick reads what another thread may write
    write_results();
    CardKernel out;
    out.fails = may_fail(unit_.spectra, kernel_);
    int64_t block = std::max(threads_, kBlockThreads);
    if (threads_ > Lanes::kWarp) block = threads_;
    int64_t in_block = block / threads_;
    out.entries.push_back(f_.finish((rows_ + in_block - 1) / in_block, block));
    return out;
  }

private:
  LValue value(const Value *v) const { return unit_.values[v->number]; }
  void define(const Value *v, LValue l) { unit_.values[v->number] = l; }
  LValue int64(int64_t v) { return f_.int64(v); }
  llvm::Type *cell_type(const Type *type) {
    return type->is_bool() ? b_.getInt8Ty() : unit_.scalar_type(type->scalar);
  }

  void collect_lengths() {
    std::vector<std::vector<int64_t>> shapes;
    std::vector<int64_t> cells;
    auto add = [&](const Type *full, const Type *item) {
      shapes.emplace_back(full->sizes.begin(), full->sizes.end() - static_cast<long>(item->sizes.size()));
      cells.push_back(item->cells());
    };
    for (size_t i = 0; i < kernel_.params.size(); ++i) add(kernel_.params[i], kernel_.body->args[i]->type);
    for (size_t r = 0; r < kernel_.results.size(); ++r) add(kernel_.results[r], yield_->operands[r]->type);
    flat_ = collapse(kernel_.space, shapes, cells);

    auto note = [&](const Value *v) {
      if (is_row(v)) layouts_[v->type->cells()], longest_ = std::max(longest_, v->type->cells());
    };
    for (const Value *v : kernel_.body->args) note(v);
    for (const Op *op : kernel_.body->ops)
      for (const Value *v : op->results) note(v);
    for (auto &[length, layout] : layouts_) {
      int64_t widest = 1;
      bool fits = card_.aligned && length > 0;
      auto limit = [&](const Value *v, const Type *full, size_t access) {
        if (!is_row(v) || v->type->cells() != length) return;
        widest = std::max<int64_t>(widest, spectra::scalar_bytes(full->scalar));
        strides_[length].push_back(flat_.accesses[access].strides);
      };
      for (size_t i = 0; i < kernel_.params.size(); ++i) limit(kernel_.body->args[i], kernel_.params[i], i);
      for (size_t r = 0; r < kernel_.results.size(); ++r)
        limit(yield_->operands[r], kernel_.results[r], kernel_.params.size() + r);
      layout.width = fits ? std::min<int64_t>(8, kVectorBytes / widest) : 1;
      auto divides = [&](int64_t width) {
        if (length % width) return false;
        for (const std::vector<int64_t> &s : strides_[length])
          for (int64_t step : s)
            if (step % width) return false;
        return true;
      };
      while (layout.width > 1 && !divides(layout.width)) layout.width /= 2;
    }
  }

  void choose_threads() {
    threads_ = 1;
    if (longest_ <= kWarpRow) {
      while (threads_ < Lanes::kWarp && threads_ * 8 < longest_) threads_ *= 2;
    } else {
      threads_ = 128;
      while (threads_ < kMostThreads && threads_ * kBlockCells < longest_) threads_ *= 2;
      keeps_ = threads_ * kBlockCells >= longest_;
      if (!keeps_) threads_ = kLongThreads;
    }
    for (auto &[length, layout] : layouts_) {
      int64_t together = threads_ * layout.width;
      layout.pieces = (length + together - 1) / together;
    }
  }

  void plan_stages() {
    stages_.assign(unit_.spectra.value_count, 0);
    for (const Op *op : kernel_.body->ops) {
      if (op->code == OpCode::yield) break;
      int stage = 0;
      for (const Value *v : op->operands) stage = std::max(stage, stages_[v->number]);
      stage_of_[op] = stage;
      bool ends = is_reduction(op->code) && is_row(op->operands[0]);
      picks_ |= ends && op->code == OpCode::row_pick;
      stages_[op->result()->number] = ends ? stage + 1 : stage;
      last_stage_ = std::max(last_stage_, stages_[op->result()->number]);
    }
  }

  /// Which row, where its values begin, and what it has of single values.
  void place_row() {
    LValue group = threads_ > Lanes::kWarp ? b_.CreateZExt(f_.block(), b_.getInt64Ty())
                                           : b_.CreateUDiv(f_.global_thread(), int64(threads_));
    lane_ = b_.CreateZExt(b_.CreateURem(f_.thread(), f_.int32(threads_)), b_.getInt64Ty());
    // Groups without a row do the last one again and write nothing: all lanes take part in every exchange.
    bool whole = threads_ > Lanes::kWarp || rows_ % (kBlockThreads / threads_) == 0;
    active_ = whole ? static_cast<LValue>(b_.getTrue()) : b_.CreateICmpULT(group, int64(rows_));
    LValue row = b_.CreateSelect(active_, group, int64(std::max<int64_t>(rows_ - 1, 0)));
    f_.failing_cell(row);
    row_ = row;

    std::vector<LValue> offsets(flat_.accesses.size(), int64(0));
    LValue rest = row;
    for (size_t d = flat_.sizes.size(); d-- > 0;) {
      LValue index = d == 0 ? rest : b_.CreateURem(rest, int64(flat_.sizes[d]));
      if (d) rest = b_.CreateUDiv(rest, int64(flat_.sizes[d]));
      for (size_t v = 0; v < offsets.size(); ++v)
        if (int64_t step = flat_.accesses[v].strides[d])
          offsets[v] = b_.CreateNSWAdd(offsets[v], b_.CreateNSWMul(index, int64(step)));
    }
    size_t params = kernel_.params.size();
    bases_.assign(unit_.spectra.value_count, nullptr);
    for (size_t i = 0; i < params; ++i) {
      const Value *argument = kernel_.body->args[i];
      if (is_by_value(kernel_, i)) {
        define(argument, f_.arguments[i]);
        continue;
      }
      LValue base = b_.CreateInBoundsGEP(cell_type(argument->type), f_.arguments[i], offsets[i]);
      if (is_row(argument))
        bases_[argument->number] = base;
      else
        define(argument, load(argument->type, base));
    }
    for (size_t r = 0; r < kernel_.results.size(); ++r)
      result_bases_.push_back(
          b_.CreateInBoundsGEP(cell_type(kernel_.results[r]), f_.arguments[params + r], offsets[params + r]));
  }

  LValue load(const Type *type, LValue address) {
    LValue v = b_.CreateAlignedLoad(cell_type(type), address,
                                    llvm::Align(static_cast<uint64_t>(spectra::scalar_bytes(type->scalar))));
    return type->is_bool() ? b_.CreateTrunc(v, b_.getInt1Ty()) : v;
  }
  void store(const Type *type, LValue v, LValue address) {
    if (type->is_bool()) v = b_.CreateZExt(v, b_.getInt8Ty());
    b_.CreateAlignedStore(v, address,
                          llvm::Align(static_cast<uint64_t>(spectra::scalar_bytes(type->scalar))));
  }

  /// Neighbours of a row that one thread has at once.
  struct Piece {
    int64_t length, width;
    LValue first;            ///< the first one's index, within the row in any case
    LValue inside = nullptr; ///< null: always
    std::map<const Value *, std::vector<LValue>> cells;
  };

  Piece piece_at(int64_t length, LValue first, bool always) {
    Piece piece{length, layouts_[length].width, first, nullptr, {}};
    if (always) return piece;
    piece.inside = b_.CreateICmpULT(first, int64(length));
    piece.first = b_.CreateSelect(piece.inside, first, int64(0));
    return piece;
  }

  LValue cell(const Value *v, Piece &piece, size_t i) {
    if (!is_row(v)) return value(v);
    std::vector<LValue> &cells = piece.cells[v];
    if (cells.empty()) {
      if (v->def)
        compute(*v->def, piece, cells);
      else
        read(v, piece, cells);
    }
    return cells[i];
  }

  void read(const Value *v, const Piece &piece, std::vector<LValue> &cells) {
    LValue address = b_.CreateInBoundsGEP(cell_type(v->type), bases_[v->number], piece.first);
    if (piece.width == 1) {
      cells.push_back(load(v->type, address));
      return;
    }
    int64_t bytes = std::min(kVectorBytes, piece.width * spectra::scalar_bytes(v->type->scalar));
    LValue all = b_.CreateAlignedLoad(
        llvm::FixedVectorType::get(cell_type(v->type), static_cast<unsigned>(piece.width)), address,
        llvm::Align(static_cast<uint64_t>(bytes)));
    for (int64_t i = 0; i < piece.width; ++i) {
      LValue one = b_.CreateExtractElement(all, static_cast<uint64_t>(i));
      cells.push_back(v->type->is_bool() ? b_.CreateTrunc(one, b_.getInt1Ty()) : one);
    }
  }

  void compute(const Op &op, Piece &piece, std::vector<LValue> &cells) {
    std::vector<LValue> made;
    for (size_t i = 0; i < static_cast<size_t>(piece.width); ++i) {
      llvm::SmallVector<LValue> operands;
      for (const Value *v : op.operands) operands.push_back(cell(v, piece, i));
      if (op.code == OpCode::row_put) {
        LValue id = b_.CreateIntCast(operands[1], b_.getInt64Ty(), op.operands[1]->type->is_signed());
        LValue here = b_.CreateNSWAdd(piece.first, int64(static_cast<int64_t>(i)));
        made.push_back(b_.CreateSelect(b_.CreateICmpEQ(id, here), operands[0],
                                       llvm::Constant::getNullValue(operands[0]->getType())));
      } else if (op.code == OpCode::dropout) {
        LValue here = b_.CreateNSWAdd(piece.first, int64(static_cast<int64_t>(i)));
        LValue position = b_.CreateNSWAdd(b_.CreateNSWMul(row_, int64(piece.length)), here);
        made.push_back(emit_dropout(unit_, b_, op, operands, position));
      } else if (op.code == OpCode::reshape) {
        made.push_back(operands[0]);
      } else {
        made.push_back(scalar(op, operands));
      }
    }
    cells = made;
  }

  LValue scalar(const Op &op, llvm::ArrayRef<LValue> operands) {
    LValue result = op.code == OpCode::dropout ? emit_dropout(unit_, b_, op, operands, row_)
                                               : emit_scalar(unit_, b_, op, operands);
    if (!result)
      throw std::logic_error(std::string("no lowering of `") + spectra::info(op.code).name +
                             "` in a row on the card");
    return result;
  }

  /// Calls body for every piece of a row of that length: unrolled where cells are kept, else in a loop.
  void for_pieces(int64_t length, const std::function<void(Piece &)> &body) {
    const Layout &layout = layouts_[length];
    int64_t together = threads_ * layout.width;
    LValue own = b_.CreateNSWMul(lane_, int64(layout.width));
    if (keeps_) {
      std::vector<Piece> &kept = kept_[length];
      for (int64_t p = 0; p < layout.pieces; ++p) {
        if (kept.size() <= static_cast<size_t>(p))
          kept.push_back(
              piece_at(length, b_.CreateNSWAdd(own, int64(p * together)), (p + 1) * together <= length));
        body(kept[static_cast<size_t>(p)]);
      }
      return;
    }
    if (!layout.pieces) return;
    llvm::BasicBlock *before = b_.GetInsertBlock();
    llvm::BasicBlock *turn = llvm::BasicBlock::Create(unit_.context, "piece", f_.function);
    llvm::BasicBlock *after = llvm::BasicBlock::Create(unit_.context, "", f_.function);
    b_.CreateBr(turn);
    b_.SetInsertPoint(turn);
    llvm::PHINode *at = b_.CreatePHI(b_.getInt64Ty(), 2);
    at->addIncoming(int64(0), before);
    Piece piece = piece_at(length, b_.CreateNSWAdd(own, at), length % together == 0);
    body(piece);
    LValue next = b_.CreateNSWAdd(at, int64(together));
    at->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, int64(length)), turn, after);
    b_.SetInsertPoint(after);
  }

  struct Running {
    const Op *op;
    Reducer reducer;
    std::vector<llvm::AllocaInst *> slots;
  };

  void emit_stage(int stage) {
    std::map<int64_t, std::vector<Running>> running;
    std::vector<const Op *> picks;
    for (const Op *op : kernel_.body->ops) {
      if (op->code == OpCode::yield || stage_of_[op] != stage) continue;
      if (!is_reduction(op->code) || !is_row(op->operands[0])) {
        if (!is_row(op->result())) emit_single(*op);
      } else if (op->code == OpCode::row_pick) {
        picks.push_back(op);
      } else {
        const Type *type = op->operands[0]->type;
        Reduction kind = op->code == OpCode::row_max       ? Reduction::max
                         : op->code == OpCode::row_arg_max ? Reduction::arg_max
                                                           : Reduction::sum;
        running[type->cells()].push_back({op, Reducer(card_, kind, type), {}});
      }
    }
    for (const Op *op : picks) emit_pick(*op);
    for (auto &[length, list] : running) {
      for (Running &r : list)
        for (LValue v : r.reducer.start()) {
          llvm::BasicBlock &entry = f_.function->getEntryBlock();
          Builder at_entry(&entry, entry.begin());
          r.slots.push_back(at_entry.CreateAlloca(v->getType()));
          b_.CreateStore(v, r.slots.back());
        }
      for_pieces(length, [&](Piece &piece) {
        for (Running &r : list)
          for (int64_t i = 0; i < piece.width; ++i) {
            LValue x = cell(r.op->operands[0], piece, static_cast<size_t>(i));
            Lanes::Values old = values_of(r);
            Lanes::Values taken = r.reducer.take(b_, x, b_.CreateNSWAdd(piece.first, int64(i)));
            Lanes::Values next = r.reducer.combine(b_, old, taken);
            for (size_t k = 0; k < next.size(); ++k) {
              LValue kept = piece.inside ? b_.CreateSelect(piece.inside, next[k], old[k]) : next[k];
              b_.CreateStore(kept, r.slots[k]);
            }
          }
      });
      for (Running &r : list) finish(r, length);
    }
  }

  Lanes::Values values_of(const Running &r) {
    Lanes::Values out;
    for (llvm::AllocaInst *slot : r.slots) out.push_back(b_.CreateLoad(slot->getAllocatedType(), slot));
    return out;
  }

  void finish(const Running &r, int64_t length) {
    Lanes::Values all = lanes_->reduce(values_of(r), [&](const Lanes::Values &x, const Lanes::Values &y) {
      return r.reducer.combine(b_, x, y);
    });
    const Type *target = r.op->result()->type;
    if (r.op->code == OpCode::row_arg_max)
      return define(r.op->result(), b_.CreateTrunc(all[1], unit_.scalar_type(target->scalar)));
    LValue v = all[0];
    if (r.op->code == OpCode::row_mean)
      v = b_.CreateFDiv(v, llvm::ConstantFP::get(v->getType(), static_cast<double>(length)));
    if (v->getType()->isFloatTy()) v = narrow_half(unit_, b_, v, target);
    define(r.op->result(), v);
  }

  /// Whether a number is -1 or a column; the failure goes to the slot, and the number becomes -1.
  LValue checked_number(const Op &op, int64_t columns) {
    LValue id = b_.CreateIntCast(value(op.operands[1]), b_.getInt64Ty(), op.operands[1]->type->is_signed());
    LValue outside = b_.CreateOr(b_.CreateICmpSLT(id, int64(-1)), b_.CreateICmpSGE(id, int64(columns)));
    emit_failure(unit_, b_, outside, "outside", [&](Builder &fail) {
      auto [file, line] = place_arguments(unit_, op.place());
      fail.CreateCall(unit_.runtime("mica_fail_index", fail.getVoidTy(),
                                    {unit_.pointer(), unit_.i(32), unit_.i(64), unit_.i(64), unit_.i(64)}),
                      {file, line, id, int64(0), int64(columns - 1)});
    });
    return b_.CreateSelect(outside, int64(-1), id);
  }

  /// The cell of that number, computed by every thread of the group.
  void emit_pick(const Op &op) {
    int64_t length = op.operands[0]->type->cells();
    LValue id = checked_number(op, length);
    LValue none = b_.CreateICmpSLT(id, int64(0));
    llvm::Type *type = unit_.scalar_type(op.operands[0]->type->scalar);
    LValue picked = llvm::Constant::getNullValue(type);
    if (length) {
      Piece piece{length, 1, b_.CreateSelect(none, int64(0), id), nullptr, {}};
      picked = b_.CreateSelect(none, picked, cell(op.operands[0], piece, 0));
    }
    define(op.result(), picked);
  }

  /// An operation on one value a row; of reductions, that of a row of one cell.
  void emit_single(const Op &op) {
    llvm::SmallVector<LValue> operands;
    for (const Value *v : op.operands) operands.push_back(value(v));
    LValue x = operands.empty() ? nullptr : operands[0];
    auto null = [&] { return llvm::Constant::getNullValue(x->getType()); };
    switch (op.code) {
    case OpCode::row_sum:
    case OpCode::row_mean: // 0 + x, divided by 1
      if (op.operands[0]->type->is_float()) {
        LValue wide = widen_half(b_, x, op.operands[0]->type);
        wide = b_.CreateFAdd(llvm::Constant::getNullValue(wide->getType()), wide);
        x = narrow_half(unit_, b_, wide, op.result()->type);
      }
      return define(op.result(), x);
    case OpCode::row_max:
    case OpCode::reshape: return define(op.result(), x);
    case OpCode::row_arg_max: return define(op.result(), b_.getInt32(0));
    case OpCode::row_pick:
      return define(op.result(),
                    b_.CreateSelect(b_.CreateICmpSLT(checked_number(op, 1), int64(0)), null(), x));
    case OpCode::row_put: {
      LValue first = b_.CreateICmpEQ(operands[1], llvm::Constant::getNullValue(operands[1]->getType()));
      return define(op.result(), b_.CreateSelect(first, x, null()));
    }
    default: define(op.result(), scalar(op, operands));
    }
  }

  void write_results() {
    std::map<int64_t, std::vector<size_t>> by_length;
    for (size_t r = 0; r < yield_->operands.size(); ++r)
      if (is_row(yield_->operands[r])) by_length[yield_->operands[r]->type->cells()].push_back(r);
    // Where cells are kept, all is read and computed before the first write.
    if (keeps_)
      for (auto &[length, results] : by_length)
        for_pieces(length, [&](Piece &piece) {
          for (size_t r : results) cell(yield_->operands[r], piece, 0);
        });
    for (auto &[length, results] : by_length)
      for_pieces(length, [&](Piece &piece) {
        for (size_t r : results) cell(yield_->operands[r], piece, 0);
        LValue writes = piece.inside ? b_.CreateAnd(active_, piece.inside) : active_;
        if (llvm::isa<llvm::ConstantInt>(writes))
          for (size_t r : results) write(r, piece);
        else
          f_.when(writes, [&] {
            for (size_t r : results) write(r, piece);
          });
      });
    f_.when(b_.CreateAnd(active_, b_.CreateICmpEQ(lane_, int64(0))), [&] {
      for (size_t r = 0; r < yield_->operands.size(); ++r)
        if (!is_row(yield_->operands[r]))
          store(kernel_.results[r], value(yield_->operands[r]), result_bases_[r]);
    });
  }

  void write(size_t r, Piece &piece) {
    const Type *type = kernel_.results[r];
    std::vector<LValue> &cells = piece.cells[yield_->operands[r]];
    LValue address = b_.CreateInBoundsGEP(cell_type(type), result_bases_[r], piece.first);
    if (piece.width == 1) return store(type, cells[0], address);
    LValue all = llvm::PoisonValue::get(
        llvm::FixedVectorType::get(cell_type(type), static_cast<unsigned>(piece.width)));
    for (size_t i = 0; i < cells.size(); ++i)
      all = b_.CreateInsertElement(all, type->is_bool() ? b_.CreateZExt(cells[i], b_.getInt8Ty()) : cells[i],
                                   i);
    int64_t bytes = std::min(kVectorBytes, piece.width * spectra::scalar_bytes(type->scalar));
    b_.CreateAlignedStore(all, address, llvm::Align(static_cast<uint64_t>(bytes)));
  }

  Card &card_;
  Unit &unit_;
  const spectra::Kernel &kernel_;
  const Op *yield_;
  CardFunction f_;
  Builder &b_;
  Lanes *lanes_ = nullptr;
  Collapsed flat_;
  std::map<int64_t, Layout> layouts_; ///< by length
  std::map<int64_t, std::vector<std::vector<int64_t>>> strides_;
  std::map<int64_t, std::vector<Piece>> kept_;
  std::vector<int> stages_;
  std::map<const Op *, int> stage_of_;
  int64_t rows_ = 1, longest_ = 0, threads_ = 1;
  bool keeps_ = true, picks_ = false;
  int last_stage_ = 0;
  LValue lane_ = nullptr, active_ = nullptr;
  LValue row_ = nullptr; ///< which row is at hand
  std::vector<LValue> bases_, result_bases_;
};

} // namespace

CardKernel card_rows(Unit &host, Card &card, const spectra::Kernel &kernel) {
  expand_softmax(card.device.spectra, kernel);
  return RowsKernel(host, card, kernel).emit();
}

} // namespace mica::codegen
