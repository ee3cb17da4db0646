// The host's part of what works on the card: which operations those are, launches, copies, waits.
#include "card.h"
#include "device.h"

namespace mica::codegen {
namespace {

using LValue = llvm::Value *;

bool points_to_card(const Value *v) {
  return v->type->kind == TypeKind::pointer && v->type->element && v->type->element->gpu;
}

class CardOp {
public:
  CardOp(Unit &unit, Builder &b, const Op &op, llvm::ArrayRef<LValue> operands)
      : unit_(unit), b_(b), op_(op), operands_(operands) {}

  void launch() {
    auto found = unit_.card->kernels.find(op_.symbol);
    const CardKernel &kernel = found->second;
    const spectra::Kernel *form = unit_.spectra.find_kernel(op_.symbol);
    if (form->form == spectra::KernelForm::multi) return multi(kernel, *form);
    std::vector<LValue> words(operands_.begin(), operands_.end());
    bool empty = true;
    for (const CardEntry &entry : kernel.entries) empty &= entry.blocks == 0;
    if (empty) return;
    if (kernel.scratch) words.push_back(call("mica_card_scratch", unit_.pointer(), {int64(kernel.scratch)}));
    for (const CardEntry &entry : kernel.entries)
      if (entry.blocks) emit_card_launch(unit_, b_, op_.place(), entry, words, kernel.fails);
  }

  /// The scalars, nothing for the members, and the table of all groups.
  void multi(const CardKernel &kernel, const spectra::Kernel &form) {
    MultiShape s = multi_shape(form);
    std::vector<LValue> words(operands_.begin(), operands_.begin() + static_cast<long>(s.scalars));
    std::vector<LValue> table{nullptr};
    int64_t pieces = 0, groups = 0;
    for (size_t group = s.scalars; s.members && group + s.members <= operands_.size(); group += s.members) {
      int64_t cells = op_.operands[group]->type->element->cells();
      table.insert(table.end(), {int64(pieces), int64(cells)});
      for (size_t m = 0; m < s.members; ++m) table.push_back(operands_[group + m]);
      pieces += multi_pieces(cells);
      ++groups;
    }
    if (!pieces) return;
    table[0] = int64(groups);
    words.insert(words.end(), s.members, llvm::ConstantPointerNull::get(unit_.pointer()));
    words.push_back(emit_card_table(unit_, b_, op_.place(), table));
    CardEntry entry = kernel.entries[0];
    entry.blocks = pieces;
    emit_card_launch(unit_, b_, op_.place(), entry, words, kernel.fails);
  }

  void copy() {
    const Type *type = op_.arg(0)->type->element;
    int64_t bytes = type->cells() * spectra::scalar_bytes(type->scalar);
    bool to_card = points_to_card(op_.arg(0)), from_card = points_to_card(op_.arg(1));
    const char *name = !to_card ? "mica_card_copy_down" : !from_card ? "mica_card_copy_up" : "mica_card_copy";
    call(name, b_.getVoidTy(), {operands_[0], operands_[1], int64(bytes)});
  }

  void wait() { call("mica_card_wait", b_.getVoidTy(), {}); }

private:
  LValue int64(int64_t v) { return b_.getInt64(static_cast<uint64_t>(v)); }
  /// A function of libmicart whose first arguments are the place.
  LValue call(const char *name, llvm::Type *result, std::vector<LValue> arguments) {
    auto [file, line] = place_arguments(unit_, op_.place());
    arguments.insert(arguments.begin(), {file, line});
    std::vector<llvm::Type *> types;
    for (LValue v : arguments) types.push_back(v->getType());
    return b_.CreateCall(unit_.runtime(name, result, types), arguments);
  }

  Unit &unit_;
  Builder &b_;
  const Op &op_;
  llvm::ArrayRef<LValue> operands_;
};

} // namespace

LValue emit_card_table(Unit &unit, Builder &b, Place place, llvm::ArrayRef<LValue> words) {
  llvm::BasicBlock &first = b.GetInsertBlock()->getParent()->getEntryBlock();
  Builder at_entry(&first, first.begin());
  LValue table = at_entry.CreateAlloca(b.getInt64Ty(), at_entry.getInt64(words.size()), "table");
  for (size_t i = 0; i < words.size(); ++i)
    b.CreateStore(words[i], b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), table, i));
  // struct mica_card_table: what was brought there last.
  llvm::ArrayType *type = llvm::ArrayType::get(b.getInt64Ty(), 3);
  auto *kept = new llvm::GlobalVariable(*unit.module, type, false, llvm::GlobalValue::InternalLinkage,
                                        llvm::Constant::getNullValue(type), "table");
  auto [file, line] = place_arguments(unit, place);
  llvm::FunctionCallee bring =
      unit.runtime("mica_card_bring_table", unit.pointer(),
                   {unit.pointer(), b.getInt32Ty(), unit.pointer(), unit.pointer(), b.getInt64Ty()});
  return b.CreateCall(bring, {file, line, kept, table, b.getInt64(words.size())});
}

void emit_card_launch(Unit &unit, Builder &b, Place place, const CardEntry &entry,
                      llvm::ArrayRef<LValue> arguments, bool fails) {
  llvm::BasicBlock &first = b.GetInsertBlock()->getParent()->getEntryBlock();
  Builder at_entry(&first, first.begin());
  auto slot = [&](llvm::Type *type, size_t count, const char *name) {
    return at_entry.CreateAlloca(type, at_entry.getInt64(count), name);
  };
  size_t count = arguments.size() + (fails ? 2 : 0);
  LValue table = slot(unit.pointer(), std::max<size_t>(count, 1), "arguments");
  for (size_t i = 0; i < arguments.size(); ++i) {
    LValue word = arguments[i];
    if (word->getType()->isIntegerTy(1)) word = b.CreateZExt(word, b.getInt8Ty());
    LValue place_of_word = slot(word->getType(), 1, "argument");
    b.CreateStore(word, place_of_word);
    b.CreateStore(place_of_word, b.CreateConstInBoundsGEP1_64(unit.pointer(), table, i));
  }
  auto int32 = [&](int64_t v) { return b.getInt32(static_cast<uint32_t>(v)); };
  auto [file, line] = place_arguments(unit, place);
  llvm::FunctionCallee launch =
      unit.runtime("mica_card_launch", b.getVoidTy(),
                   {unit.pointer(), b.getInt32Ty(), unit.pointer(), b.getInt32Ty(), b.getInt32Ty(),
                    b.getInt32Ty(), b.getInt32Ty(), b.getInt64Ty(), unit.pointer()});
  b.CreateCall(launch, {file, line, entry.table, int32(entry.blocks), int32(1), int32(1),
                        int32(entry.threads), b.getInt64(count), table});
}

bool is_card_op(const Unit &unit, const Op &op) {
  if (unit.spectra.options.device != "gpu") return false;
  switch (op.code) {
  case OpCode::wait: return true;
  case OpCode::launch: {
    const spectra::Kernel *kernel = unit.spectra.find_kernel(op.symbol);
    return kernel && kernel->gpu;
  }
  case OpCode::copy: return points_to_card(op.arg(0)) || points_to_card(op.arg(1));
  case OpCode::run:
    for (const Value *v : op.operands)
      if (points_to_card(v)) return true;
    return false;
  default: return false;
  }
}

llvm::Value *emit_card_op(Unit &unit, Builder &b, const Op &op, llvm::ArrayRef<llvm::Value *> operands) {
  CardOp card(unit, b, op, operands);
  switch (op.code) {
  case OpCode::launch: card.launch(); break;
  case OpCode::copy: card.copy(); break;
  case OpCode::wait: card.wait(); break;
  default: emit_card_run(unit, b, op, operands);
  }
  return nullptr;
}

} // namespace mica::codegen
