// multi kernels: one launch over many tensors. A table in the card's memory says where each group's members
// lie; a block takes a piece of one group.
#include "device.h"
#include "spectra/ops.h"

namespace mica::codegen {
namespace {

using LValue = llvm::Value *;
using spectra::Attr;

constexpr int64_t kPieceCells = 4096; ///< a block's

} // namespace

MultiShape multi_shape(const spectra::Kernel &kernel) {
  MultiShape s;
  for (const spectra::Attribute &a : kernel.attributes) {
    if (a.key == Attr::scalars) s.scalars = static_cast<size_t>(std::get<int64_t>(a.value));
    if (a.key == Attr::writes) s.writes = std::get<std::vector<int64_t>>(a.value);
  }
  s.members = kernel.params.size() - s.scalars;
  return s;
}

int64_t multi_pieces(int64_t cells) { return (cells + kPieceCells - 1) / kPieceCells; }

/// Words of the table: the number of groups, then for each its first piece, its cells, its members'
/// addresses.
CardKernel card_multi(Unit &host, Card &card, const spectra::Kernel &kernel) {
  Unit &unit = card.device;
  MultiShape s = multi_shape(kernel);
  CardFunction f(host, card, kernel, "", true);
  Builder &b = f.b;
  llvm::Type *i64 = b.getInt64Ty();
  int64_t stride = static_cast<int64_t>(2 + s.members);
  auto word = [&](LValue group, int64_t number) {
    LValue at = b.CreateNSWAdd(b.CreateNSWMul(group, f.int64(stride)), f.int64(1 + number));
    return b.CreateInBoundsGEP(i64, f.scratch, at);
  };
  // The last group whose first piece is not behind this block: by halves.
  LValue block = b.CreateZExt(f.block(), i64);
  LValue count = b.CreateLoad(i64, f.scratch);
  llvm::BasicBlock *entry = b.GetInsertBlock();
  llvm::BasicBlock *turn = llvm::BasicBlock::Create(unit.context, "halve", f.function);
  llvm::BasicBlock *body = llvm::BasicBlock::Create(unit.context, "", f.function);
  llvm::BasicBlock *found = llvm::BasicBlock::Create(unit.context, "found", f.function);
  b.CreateBr(turn);
  b.SetInsertPoint(turn);
  llvm::PHINode *low = b.CreatePHI(i64, 2), *high = b.CreatePHI(i64, 2);
  low->addIncoming(f.int64(0), entry);
  high->addIncoming(count, entry);
  b.CreateCondBr(b.CreateICmpUGT(b.CreateSub(high, low), f.int64(1)), body, found);
  b.SetInsertPoint(body);
  LValue middle = b.CreateLShr(b.CreateAdd(low, high), 1);
  LValue before = b.CreateICmpULE(b.CreateLoad(i64, word(middle, 0)), block);
  low->addIncoming(b.CreateSelect(before, middle, low), body);
  high->addIncoming(b.CreateSelect(before, high, middle), body);
  b.CreateBr(turn);
  b.SetInsertPoint(found);

  LValue cells = b.CreateLoad(i64, word(low, 1));
  LValue piece = b.CreateSub(block, b.CreateLoad(i64, word(low, 0)));
  std::vector<LValue> scalars, members;
  auto memory = [&](const Type *type) {
    return type->is_bool() ? static_cast<llvm::Type *>(b.getInt8Ty()) : unit.scalar_type(type->scalar);
  };
  auto align = [](const Type *type, int64_t n) {
    return llvm::Align(static_cast<uint64_t>(std::min<int64_t>(16, n * spectra::scalar_bytes(type->scalar))));
  };
  for (size_t i = 0; i < s.scalars; ++i) {
    const Type *type = kernel.params[i];
    LValue v = f.arguments[i];
    if (!is_by_value(kernel, i)) {
      v = b.CreateLoad(memory(type), v);
      if (type->is_bool()) v = b.CreateTrunc(v, b.getInt1Ty());
    }
    scalars.push_back(v);
  }
  int64_t widest = 1;
  for (size_t m = 0; m < s.members; ++m) {
    members.push_back(b.CreateLoad(unit.pointer(), word(low, 2 + static_cast<int64_t>(m))));
    widest = std::max<int64_t>(widest, spectra::scalar_bytes(kernel.params[s.scalars + m]->scalar));
  }
  int64_t width = card.aligned ? std::min<int64_t>(4, 16 / widest) : 1;

  unit.values.resize(unit.spectra.value_count, nullptr);
  /// `n` cells from `at` on.
  auto emit = [&](LValue at, int64_t n) {
    std::vector<std::vector<LValue>> loaded(s.members);
    auto address = [&](size_t m) {
      return b.CreateInBoundsGEP(memory(kernel.params[s.scalars + m]), members[m], at);
    };
    for (size_t m = 0; m < s.members; ++m) {
      const Type *type = kernel.params[s.scalars + m];
      auto value = [&](LValue v) { return type->is_bool() ? b.CreateTrunc(v, b.getInt1Ty()) : v; };
      if (n == 1) {
        loaded[m] = {value(b.CreateAlignedLoad(memory(type), address(m), align(type, 1)))};
        continue;
      }
      LValue all = b.CreateAlignedLoad(llvm::FixedVectorType::get(memory(type), static_cast<unsigned>(n)),
                                       address(m), align(type, n));
      for (int64_t i = 0; i < n; ++i)
        loaded[m].push_back(value(b.CreateExtractElement(all, static_cast<uint64_t>(i))));
    }
    std::vector<std::vector<LValue>> yielded(s.writes.size());
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
      for (size_t p = 0; p < kernel.params.size(); ++p)
        unit.values[kernel.body->args[p]->number] = p < s.scalars ? scalars[p] : loaded[p - s.scalars][i];
      f.failing_cell(b.CreateNSWAdd(at, f.int64(static_cast<int64_t>(i))));
      for (const Op *op : kernel.body->ops) {
        llvm::SmallVector<LValue> operands;
        for (const Value *v : op->operands) operands.push_back(unit.values[v->number]);
        if (op->code == OpCode::yield) {
          for (size_t w = 0; w < s.writes.size(); ++w) yielded[w].push_back(operands[w]);
          break;
        }
        LValue result = emit_scalar(unit, b, *op, operands);
        if (!result)
          throw std::logic_error(std::string("no lowering of `") + spectra::info(op->code).name +
                                 "` over many tensors on the card");
        unit.values[op->result()->number] = result;
      }
    }
    for (size_t w = 0; w < s.writes.size(); ++w) {
      size_t m = static_cast<size_t>(s.writes[w]);
      const Type *type = kernel.params[s.scalars + m];
      if (type->is_bool())
        for (LValue &v : yielded[w]) v = b.CreateZExt(v, b.getInt8Ty());
      if (n == 1) {
        b.CreateAlignedStore(yielded[w][0], address(m), align(type, 1));
        continue;
      }
      LValue all = llvm::PoisonValue::get(llvm::FixedVectorType::get(memory(type), static_cast<unsigned>(n)));
      for (size_t i = 0; i < yielded[w].size(); ++i) all = b.CreateInsertElement(all, yielded[w][i], i);
      b.CreateAlignedStore(all, address(m), align(type, n));
    }
  };

  // Each thread takes every 256th vector of the piece; what is left of the last one, cell by cell.
  auto loop = [&](LValue from, LValue to, int64_t step, const std::function<void(LValue)> &turn_of) {
    llvm::BasicBlock *start = b.GetInsertBlock();
    llvm::BasicBlock *next_turn = llvm::BasicBlock::Create(unit.context, "turn", f.function);
    llvm::BasicBlock *inner = llvm::BasicBlock::Create(unit.context, "", f.function);
    llvm::BasicBlock *done = llvm::BasicBlock::Create(unit.context, "", f.function);
    b.CreateBr(next_turn);
    b.SetInsertPoint(next_turn);
    llvm::PHINode *at = b.CreatePHI(i64, 2);
    at->addIncoming(from, start);
    b.CreateCondBr(b.CreateICmpULT(at, to), inner, done);
    b.SetInsertPoint(inner);
    turn_of(at);
    at->addIncoming(b.CreateAdd(at, f.int64(step)), b.GetInsertBlock());
    b.CreateBr(next_turn);
    b.SetInsertPoint(done);
  };
  LValue begin = b.CreateMul(piece, f.int64(kPieceCells));
  LValue end =
      b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b.CreateAdd(begin, f.int64(kPieceCells)), cells);
  LValue first = b.CreateAdd(begin, b.CreateMul(b.CreateZExt(f.thread(), i64), f.int64(width)));
  LValue vectors = width == 1 ? end : b.CreateAnd(end, f.int64(-width));
  loop(first, vectors, kBlockThreads * width, [&](LValue at) { emit(at, width); });
  if (width > 1)
    loop(b.CreateAdd(vectors, b.CreateZExt(f.thread(), i64)), end, kBlockThreads,
         [&](LValue at) { emit(at, 1); });
  CardKernel out;
  out.fails = may_fail(unit.spectra, kernel);
  out.entries.push_back(f.finish(0, kBlockThreads)); // how many blocks, each launch knows
  return out;
}

} // namespace mica::codegen
