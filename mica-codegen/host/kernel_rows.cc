// rows kernels: a row at a time. The body's operations fall into stages: a stage's cell work is one loop over
// the row; a reduction ends its stage, since what uses it has to wait for the whole row. A value that a later
// stage needs is kept in a row of scratch memory, which lies in the first-level cache.
#include "kernel.h"
#include "spectra/build.h"
#include "spectra/ops.h"

#include <limits>
#include <set>

namespace mica::codegen {
namespace {

constexpr int64_t kGrainCells = 8192;
constexpr int64_t kLanes = 16;   ///< numerics.md 4: cell i adds to lane i mod 16
constexpr int64_t kBlock = 1024; ///< and rows longer than this are summed by blocks
constexpr int64_t kStackBytes = 32 << 10;

bool is_reduction(OpCode code) {
  return code == OpCode::row_sum || code == OpCode::row_mean || code == OpCode::row_max ||
         code == OpCode::row_arg_max || code == OpCode::row_pick;
}

class RowsEmitter : public KernelEmitter {
public:
  using KernelEmitter::KernelEmitter;
  llvm::Function *function() const { return function_; }

  Share emit() {
    expand_softmax(unit_.spectra, kernel_);
    size_t params = kernel_.params.size();
    values_.resize(unit_.spectra.value_count, nullptr);
    begin(params + kernel_.results.size());
    plan_stages();
    plan_scratch();

    std::vector<std::vector<int64_t>> shapes;
    std::vector<int64_t> cells;
    auto add_shape = [&](const Type *full, const Type *item) {
      shapes.emplace_back(full->sizes.begin(), full->sizes.end() - static_cast<long>(item->sizes.size()));
      cells.push_back(item->cells());
    };
    for (size_t i = 0; i < params; ++i) add_shape(kernel_.params[i], kernel_.body->args[i]->type);
    const Op *yield = kernel_.body->ops.back();
    for (size_t r = 0; r < kernel_.results.size(); ++r)
      add_shape(kernel_.results[r], yield->operands[r]->type);
    Collapsed space = collapse(kernel_.space, shapes, cells);
    space.sizes.push_back(1); // outer_offsets leaves the last dimension to an inner loop, which a row has not
    for (Access &a : space.accesses) a.strides.push_back(0);

    loop(begin_, end_, "row", false, [&](LValue row) {
      row_ = row;
      std::vector<LValue> offsets = outer_offsets(space, row);
      bases_.assign(unit_.spectra.value_count, nullptr);
      for (size_t i = 0; i < params; ++i) {
        const Value *argument = kernel_.body->args[i];
        if (is_by_value(kernel_, i)) {
          define(argument, arguments_[i]);
          continue;
        }
        LValue base = cell_address(argument->type, arguments_[i], offsets[i]);
        if (is_row(argument))
          bases_[argument->number] = base;
        else
          define(argument, load_cell(argument->type, base, int64(0)));
      }
      for (size_t r = 0; r < kernel_.results.size(); ++r)
        result_bases_[r] = cell_address(kernel_.results[r], arguments_[params + r], offsets[params + r]);
      for (int stage = 0; stage <= last_stage_; ++stage) emit_stage(stage);
      for (size_t r = 0; r < kernel_.results.size(); ++r)
        if (!is_row(yield->operands[r]))
          store_cell(kernel_.results[r], value(yield->operands[r]), result_bases_[r], int64(0));
    });
    if (heap_) {
      llvm::FunctionCallee free = unit_.runtime("mica_arena_free", b_.getVoidTy(), {unit_.pointer()});
      b_.CreateCall(free, {heap_});
    }
    finish();
    int64_t row_cells = 1;
    for (const Op *op : kernel_.body->ops)
      for (const Value *v : op->results) row_cells = std::max(row_cells, v->type->cells());
    for (const Value *v : kernel_.body->args) row_cells = std::max(row_cells, v->type->cells());
    int64_t rows = 1;
    for (int64_t size : kernel_.space) rows *= size;
    return {rows, std::max<int64_t>(1, kGrainCells / row_cells)};
  }

private:
  /// A row of cells; [1] and scalars are one value a row.
  bool is_row(const Value *v) const { return v->type->is_whole() && v->type->cells() != 1; }

  void plan_stages() {
    stages_.assign(unit_.spectra.value_count, 0);
    last_use_.assign(unit_.spectra.value_count, -1);
    result_bases_.resize(kernel_.results.size());
    for (const Op *op : kernel_.body->ops) {
      if (op->code == OpCode::yield) break;
      int stage = 0;
      for (const Value *v : op->operands) stage = std::max(stage, stages_[v->number]);
      stages_of_ops_[op] = stage;
      bool ends = is_reduction(op->code) && is_row(op->operands[0]);
      stages_[op->result()->number] = ends ? stage + 1 : stage;
      last_stage_ = std::max(last_stage_, ends ? stage + 1 : stage);
      for (const Value *v : op->operands) last_use_[v->number] = std::max(last_use_[v->number], stage);
    }
  }

  /// Rows that a later stage reads, and operands of reductions that need memory, get scratch; results are
  /// their own.
  void plan_scratch() {
    const Op *yield = kernel_.body->ops.back();
    for (size_t r = 0; r < yield->operands.size(); ++r)
      if (is_row(yield->operands[r])) result_of_.emplace(yield->operands[r], r);
    int64_t bytes = 0;
    std::vector<std::pair<const Value *, int64_t>> rows;
    auto keep = [&](const Value *v) {
      if (!is_row(v) || !v->def || kept_.count(v)) return;
      kept_.insert(v);
      if (result_of_.count(v)) return; // its own place in memory serves
      rows.emplace_back(v, bytes);
      bytes += (v->type->cells() * spectra::scalar_bytes(v->type->scalar) + 63) / 64 * 64;
    };
    for (const Op *op : kernel_.body->ops) {
      if (op->code == OpCode::yield) break;
      if (is_row(op->result()) && last_use_[op->result()->number] > stages_[op->result()->number])
        keep(op->result());
      bool by_memory = op->code == OpCode::row_arg_max || op->code == OpCode::row_pick ||
                       ((op->code == OpCode::row_sum || op->code == OpCode::row_mean) &&
                        (op->operands[0]->type->cells() > kBlock || !op->operands[0]->type->is_float()));
      bool apart = is_reduction(op->code) && is_row(op->operands[0]) &&
                   calls_functions(stages_of_ops_.at(op), op->operands[0]->type->cells());
      if (by_memory || apart) keep(op->operands[0]);
    }
    if (!bytes) return;
    LValue base = nullptr;
    if (bytes <= kStackBytes) {
      llvm::AllocaInst *slot = b_.CreateAlloca(b_.getInt8Ty(), int64(bytes), "scratch");
      slot->setAlignment(llvm::Align(64));
      base = slot;
    } else {
      auto [file, line] = place_arguments(unit_, kernel_.places.empty() ? Place{} : kernel_.places[0]);
      base = heap_ =
          b_.CreateCall(unit_.runtime("mica_arena", unit_.pointer(),
                                      {unit_.pointer(), b_.getInt32Ty(), b_.getInt64Ty(), b_.getInt32Ty()}),
                        {file, line, int64(bytes), b_.getInt32(0)});
    }
    for (auto &[v, offset] : rows)
      scratch_[v] = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, static_cast<uint64_t>(offset));
  }

  LValue memory_of(const Value *v) {
    if (bases_[v->number]) return bases_[v->number];
    auto result = result_of_.find(v);
    if (result != result_of_.end()) return result_bases_[result->second];
    return scratch_.at(v);
  }

  struct Accumulator {
    const Op *op;
    LValue lanes; ///< an array of 16 on the stack, or null where the reduction reads memory
  };

  void emit_stage(int stage) {
    std::vector<const Op *> cells; // row operations, by length of the row
    std::vector<Accumulator> sums;
    for (const Op *op : kernel_.body->ops) {
      if (op->code == OpCode::yield || stages_of_ops_[op] != stage) continue;
      if (is_reduction(op->code) && is_row(op->operands[0]))
        sums.push_back({op, nullptr});
      else if (is_row(op->result()))
        cells.push_back(op);
      else
        emit_single(*op);
    }
    // Rows of different lengths in one stage take one loop each.
    std::set<int64_t> lengths;
    for (const Op *op : cells) lengths.insert(op->result()->type->cells());
    for (const Accumulator &a : sums) lengths.insert(a.op->operands[0]->type->cells());
    const Op *yield = kernel_.body->ops.back();
    for (const Value *v : yield->operands) // a parameter handed through
      if (stage == 0 && is_row(v) && !v->def) lengths.insert(v->type->cells());
    for (int64_t length : lengths) emit_row_loop(stage, length, cells, sums);
    for (Accumulator &a : sums) finish_reduction(a);
  }

  /// An operation on one value a row; of reductions, that of a row of one cell.
  void emit_single(const Op &op) {
    LValue x = op.operands.empty() ? nullptr : value(op.operands[0]);
    switch (op.code) {
    case OpCode::row_sum:
    case OpCode::row_mean: // 0 + x, divided by 1
      if (op.operands[0]->type->is_float()) {
        LValue wide = widen_half(b_, x, op.operands[0]->type);
        wide = b_.CreateFAdd(llvm::Constant::getNullValue(wide->getType()), wide);
        x = narrow_half(unit_, b_, wide, op.result()->type);
      }
      define(op.result(), x);
      return;
    case OpCode::row_max:
    case OpCode::reshape: define(op.result(), x); return;
    case OpCode::row_arg_max: define(op.result(), b_.getInt32(0)); return;
    case OpCode::row_pick: {
      check_number(op, 1);
      LValue none = b_.CreateICmpSLT(value(op.operands[1]),
                                     llvm::Constant::getNullValue(value(op.operands[1])->getType()));
      define(op.result(), b_.CreateSelect(none, llvm::Constant::getNullValue(x->getType()), x));
      return;
    }
    case OpCode::row_put: {
      LValue first = b_.CreateICmpEQ(value(op.operands[1]),
                                     llvm::Constant::getNullValue(value(op.operands[1])->getType()));
      define(op.result(), b_.CreateSelect(first, x, llvm::Constant::getNullValue(x->getType())));
      return;
    }
    default: position_ = row_; emit_cell_op(op);
    }
  }

  void check_number(const Op &op, int64_t columns) {
    LValue id = b_.CreateIntCast(value(op.operands[1]), b_.getInt64Ty(), op.operands[1]->type->is_signed());
    LValue outside = b_.CreateOr(b_.CreateICmpSLT(id, int64(-1)), b_.CreateICmpSGE(id, int64(columns)));
    emit_failure(unit_, b_, outside, "outside", [&](Builder &fail) {
      auto [file, line] = place_arguments(unit_, op.place());
      fail.CreateCall(unit_.runtime("mica_fail_index", fail.getVoidTy(),
                                    {unit_.pointer(), unit_.i(32), unit_.i(64), unit_.i(64), unit_.i(64)}),
                      {file, line, id, int64(0), int64(columns - 1)});
    });
  }

  void emit_row_loop(int stage, int64_t length, const std::vector<const Op *> &cells,
                     std::vector<Accumulator> &sums) {
    bool lanes = false;
    for (Accumulator &a : sums) {
      const Type *row = a.op->operands[0]->type;
      bool by_memory = a.op->code == OpCode::row_arg_max || a.op->code == OpCode::row_pick ||
                       (a.op->code != OpCode::row_max && (row->cells() > kBlock || !row->is_float()));
      if (row->cells() != length || by_memory) continue;
      a.lanes = lane_slots(row, a.op->code);
      lanes = true;
    }
    auto one_cell = [&](LValue i, LValue lane, bool computes) {
      std::set<const Value *> here;
      auto cell_of = [&](const Value *v) {
        if (!is_row(v) || here.count(v)) return;
        here.insert(v);
        if (!v->def || stages_[v->number] < stage || !computes)
          define(v, load_cell(v->type, memory_of(v), i));
      };
      for (const Op *op : cells) {
        if (!computes || op->result()->type->cells() != length) continue;
        for (const Value *v : op->operands) cell_of(v);
        if (op->code == OpCode::row_put) {
          LValue id =
              b_.CreateIntCast(value(op->operands[1]), b_.getInt64Ty(), op->operands[1]->type->is_signed());
          LValue dy = value(op->operands[0]);
          define(op->result(),
                 b_.CreateSelect(b_.CreateICmpEQ(id, i), dy, llvm::Constant::getNullValue(dy->getType())));
        } else {
          if (op->code == OpCode::dropout)
            position_ = b_.CreateNSWAdd(b_.CreateNSWMul(row_, int64(length)), i);
          emit_cell_op(*op);
        }
        here.insert(op->result());
        if (kept_.count(op->result()) || result_of_.count(op->result()))
          store_cell(op->result()->type, value(op->result()), memory_of(op->result()), i);
      }
      const Op *yield = kernel_.body->ops.back();
      for (size_t r = 0; computes && r < yield->operands.size(); ++r) {
        const Value *v = yield->operands[r];
        bool elsewhere = is_row(v) && (!v->def || result_of_.at(v) != r); // handed through, or yielded twice
        if (!elsewhere || v->type->cells() != length || (v->def ? stages_[v->number] : 0) != stage) continue;
        cell_of(v);
        store_cell(v->type, value(v), result_bases_[r], i);
      }
      for (const Accumulator &a : sums) {
        if (!lane || !a.lanes || a.op->operands[0]->type->cells() != length) continue;
        cell_of(a.op->operands[0]);
        const Type *type = lane_type(a.op->operands[0]->type);
        LValue old = load_cell(type, a.lanes, lane);
        LValue x = widen_half(b_, value(a.op->operands[0]), a.op->operands[0]->type);
        store_cell(type, combine(a.op->code, type, old, x), a.lanes, lane);
      }
    };
    // What calls functions of the math library is best made by vectors of its own width, before its sum.
    bool apart = lanes && calls_functions(stage, length);
    if (!lanes || apart)
      loop(int64(0), int64(length), "column", true, [&](LValue i) { one_cell(i, nullptr, true); });
    if (!lanes) return;
    // Sixteen lanes side by side are one vector.
    int64_t whole = length / kLanes * kLanes;
    if (whole)
      loop(int64(0), int64(length / kLanes), "chunk", false, [&](LValue chunk) {
        LValue from = b_.CreateNSWMul(chunk, int64(kLanes));
        loop(
            int64(0), int64(kLanes), "lane", true,
            [&](LValue lane) { one_cell(b_.CreateNSWAdd(from, lane), lane, !apart); }, kLanes);
      });
    if (whole < length)
      loop(int64(0), int64(length - whole), "tail", true,
           [&](LValue lane) { one_cell(b_.CreateNSWAdd(lane, int64(whole)), lane, !apart); });
  }

  bool calls_functions(int stage, int64_t length) const {
    for (const Op *op : kernel_.body->ops)
      if (op->code != OpCode::yield && stages_of_ops_.at(op) == stage && is_row(op->result()) &&
          op->result()->type->cells() == length && is_math_call(op->code))
        return true;
    return false;
  }

  LValue combine(OpCode code, const Type *type, LValue a, LValue b) {
    if (code != OpCode::row_max) return b_.CreateFAdd(a, b);
    if (type->is_float()) return b_.CreateIntrinsic(llvm::Intrinsic::maximum, {a->getType()}, {a, b});
    return b_.CreateIntrinsic(type->is_signed() ? llvm::Intrinsic::smax : llvm::Intrinsic::umax,
                              {a->getType()}, {a, b});
  }

  /// Halves add and compare in float32.
  const Type *lane_type(const Type *row) {
    bool half = row->scalar == Scalar::f16 || row->scalar == Scalar::bf16;
    return unit_.spectra.types.scalar(half ? Scalar::f32 : row->scalar);
  }

  LValue lane_slots(const Type *item, OpCode code) {
    const Type *row = lane_type(item);
    llvm::Type *cell = unit_.scalar_type(row->scalar);
    llvm::BasicBlock &entry = function_->getEntryBlock();
    Builder at_entry(&entry, entry.begin());
    llvm::AllocaInst *slots = at_entry.CreateAlloca(llvm::ArrayType::get(cell, kLanes), nullptr, "lanes");
    slots->setAlignment(llvm::Align(64));
    LValue start = llvm::Constant::getNullValue(cell);
    if (code == OpCode::row_max) {
      unsigned bits = static_cast<unsigned>(cell->getPrimitiveSizeInBits());
      if (row->is_float())
        start = llvm::ConstantFP::getInfinity(cell, true);
      else
        start = row->is_signed() ? llvm::ConstantInt::get(cell, llvm::APInt::getSignedMinValue(bits))
                                 : llvm::Constant::getNullValue(cell);
    }
    b_.CreateAlignedStore(b_.CreateVectorSplat(kLanes, start), slots, llvm::Align(64));
    return slots;
  }

  void finish_reduction(Accumulator &a) {
    const Op &op = *a.op;
    const Value *x = op.operands[0];
    const Type *type = x->type;
    int64_t length = type->cells();
    LValue result = nullptr;
    if (a.lanes) {
      type = lane_type(type);
      // The tree: +8, +4, +2, +1.
      llvm::Type *lanes = llvm::FixedVectorType::get(unit_.scalar_type(type->scalar), kLanes);
      LValue all = b_.CreateAlignedLoad(lanes, a.lanes, llvm::Align(64));
      for (int half = kLanes / 2; half >= 1; half /= 2) {
        llvm::SmallVector<int, kLanes> low, high;
        for (int lane = 0; lane < half; ++lane) {
          low.push_back(lane);
          high.push_back(lane + half);
        }
        all = combine(op.code, type, b_.CreateShuffleVector(all, low), b_.CreateShuffleVector(all, high));
      }
      result = b_.CreateExtractElement(all, uint64_t{0});
    } else if (op.code == OpCode::row_arg_max) {
      llvm::FunctionCallee f =
          unit_.runtime("mica_argmax", b_.getInt64Ty(), {b_.getInt32Ty(), unit_.pointer(), b_.getInt64Ty()});
      result = b_.CreateTrunc(b_.CreateCall(f, {b_.getInt32(static_cast<uint32_t>(runtime_type(type))),
                                                memory_of(x), int64(length)}),
                              b_.getInt32Ty());
    } else if (op.code == OpCode::row_pick) {
      check_number(op, length);
      LValue id = b_.CreateIntCast(value(op.operands[1]), b_.getInt64Ty(), op.operands[1]->type->is_signed());
      LValue none = b_.CreateICmpSLT(id, int64(0));
      LValue safe = b_.CreateSelect(none, int64(0), id);
      LValue picked = length ? load_cell(type, memory_of(x), safe)
                             : llvm::Constant::getNullValue(unit_.scalar_type(type->scalar));
      result = b_.CreateSelect(none, llvm::Constant::getNullValue(picked->getType()), picked);
    } else if (type->is_float()) {
      std::string name = std::string("mica_sum_") + spectra::scalar_name(type->scalar);
      llvm::FunctionCallee f = unit_.runtime(name.c_str(), unit_.scalar_type(lane_type(type)->scalar),
                                             {unit_.pointer(), b_.getInt64Ty()});
      result = b_.CreateCall(f, {memory_of(x), int64(length)});
    } else {
      llvm::FunctionCallee f =
          unit_.runtime("mica_sum_int", b_.getInt64Ty(), {b_.getInt32Ty(), unit_.pointer(), b_.getInt64Ty()});
      LValue sum = b_.CreateCall(
          f, {b_.getInt32(static_cast<uint32_t>(runtime_type(type))), memory_of(x), int64(length)});
      result = b_.CreateTrunc(sum, unit_.scalar_type(type->scalar));
    }
    if (op.code == OpCode::row_mean) {
      LValue count = llvm::ConstantFP::get(result->getType(), static_cast<double>(length));
      result = b_.CreateFDiv(result, count);
    }
    if (result->getType()->isFloatTy()) result = narrow_half(unit_, b_, result, op.result()->type);
    define(op.result(), result);
  }

  std::vector<int> stages_, last_use_;
  std::map<const Op *, int> stages_of_ops_;
  int last_stage_ = 0;
  std::set<const Value *> kept_;
  std::map<const Value *, size_t> result_of_;
  std::map<const Value *, LValue> scratch_;
  std::vector<LValue> bases_;
  std::vector<LValue> result_bases_;
  LValue heap_ = nullptr;
  LValue row_ = nullptr; ///< which row is at hand
};

} // namespace

/// softmax and log_softmax become their lines (numerics.md 3).
void expand_softmax(spectra::Module &module, const spectra::Kernel &kernel) {
  spectra::Region *body = kernel.body;
  std::vector<Op *> old(body->ops.begin(), body->ops.end());
  body->ops.clear();
  spectra::Builder build(module, body);
  std::vector<Value *> map(module.value_count, nullptr);
  for (Op *op : old) {
    for (Value *&v : op->operands)
      if (v->number < map.size() && map[v->number]) v = map[v->number];
    if (op->code != OpCode::softmax && op->code != OpCode::log_softmax) {
      body->ops.push_back(op);
      continue;
    }
    build.set_places(op->places);
    Value *x = op->arg(0);
    Value *m = build.make(OpCode::row_max, {x});
    if (op->code == OpCode::softmax) {
      // A row of -inf has no largest value to subtract: subtracting 0 gives zeros all through.
      Value *least =
          build.constant_float(m->type->is_whole() ? module.types.scalar(m->type->scalar) : m->type,
                               -std::numeric_limits<double>::infinity());
      Value *zero = build.constant_float(least->type, 0);
      Value *one = build.constant_float(least->type, 1);
      m = build.make(OpCode::select, {build.make(OpCode::eq, {m, least}), zero, m});
      Value *e = build.make(OpCode::exp, {build.make(OpCode::sub, {x, m})});
      Value *s = build.make(OpCode::row_sum, {e});
      s = build.make(OpCode::select, {build.make(OpCode::eq, {s, zero}), one, s});
      map[op->result()->number] = build.make(OpCode::div, {e, s});
    } else {
      Value *d = build.make(OpCode::sub, {x, m});
      Value *s = build.make(OpCode::row_sum, {build.make(OpCode::exp, {d})});
      map[op->result()->number] = build.make(OpCode::sub, {d, build.make(OpCode::ln, {s})});
    }
  }
}

Share emit_rows_kernel(Unit &unit, const spectra::Kernel &kernel, llvm::Function *&function) {
  RowsEmitter emitter(unit, kernel, std::string(kernel.name));
  Share share = emitter.emit();
  function = emitter.function();
  return share;
}

} // namespace mica::codegen
