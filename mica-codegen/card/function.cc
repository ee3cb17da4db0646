// One function of the PTX text: parameters, thread numbers, and its `struct mica_kernel` in the host's
// module.
#include "device.h"
#include "spectra/ops.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

namespace mica::codegen {
namespace {

/// struct Failures of libmicart/device/failure.cc: the slot, the launch's number, the cell.
constexpr uint64_t kFailureWords = 3;
constexpr int32_t kFlagFails = 2; ///< mica_kernel.flags: the last two arguments are the runtime's

/// struct mica_kernel: name, file, line, shared, cluster, flags, label, handle.
llvm::GlobalVariable *kernel_table(Unit &host, const std::string &name, const std::string &label, Place place,
                                   int32_t shared, bool fails) {
  auto [file, line] = place_arguments(host, place);
  auto word = [&](int32_t v) { return llvm::ConstantInt::get(host.i(32), static_cast<uint32_t>(v)); };
  llvm::Constant *null = llvm::ConstantPointerNull::get(host.pointer());
  llvm::Constant *value = llvm::ConstantStruct::getAnon(
      host.context, {host.c_string(name), llvm::cast<llvm::Constant>(file), llvm::cast<llvm::Constant>(line),
                     word(shared), word(0), word(fails ? kFlagFails : 0), host.c_string(label), null});
  auto *table = new llvm::GlobalVariable(*host.module, value->getType(), false,
                                         llvm::GlobalValue::InternalLinkage, value, "kernel." + label);
  table->setAlignment(llvm::Align(8));
  host.card->tables.push_back(table);
  std::string where = name;
  const std::vector<spectra::SourceFile> &sources = host.spectra.sources;
  if (place && place.file < sources.size())
    where += " " + sources[place.file].name + ":" + std::to_string(place.line) + ":" +
             std::to_string(place.column);
  host.card->places.push_back(where);
  return table;
}

} // namespace

bool may_fail(const spectra::Module &module, const spectra::Kernel &kernel) {
  bool checked = module.options.tier == "checked";
  for (const Op *op : kernel.body->ops) {
    if (op->code == OpCode::row_pick) return true;
    if (op->code == OpCode::yield) continue;
    if (checked && (spectra::info(op->code).role == spectra::Role::map)) return true;
    if ((op->code == OpCode::div || op->code == OpCode::mod) && op->operands[0]->type->is_integer())
      return true;
  }
  return false;
}

CardFunction::CardFunction(Unit &host, Card &card, const spectra::Kernel &kernel, const char *suffix,
                           bool with_scratch)
    : b(card.device.context), host_(host), card_(card), kernel_(kernel) {
  Unit &unit = card.device;
  std::vector<llvm::Type *> types;
  for (size_t i = 0; i < kernel.params.size(); ++i)
    types.push_back(is_by_value(kernel, i) ? unit.memory_type(kernel.params[i]) : unit.pointer());
  for (size_t i = 0; i < kernel.results.size(); ++i) types.push_back(unit.pointer());
  if (with_scratch) types.push_back(unit.pointer());
  bool fails = may_fail(unit.spectra, kernel);
  if (fails) types.insert(types.end(), {unit.pointer(), unit.i(64)});
  llvm::FunctionType *type = llvm::FunctionType::get(b.getVoidTy(), types, false);
  function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, card_name(card, kernel, suffix),
                                    *unit.module);
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::Convergent);
  b.SetInsertPoint(llvm::BasicBlock::Create(unit.context, "entry", function));
  unsigned at = 0;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    LValue v = function->getArg(at++);
    if (is_by_value(kernel, i) && kernel.params[i]->is_bool()) v = b.CreateTrunc(v, b.getInt1Ty());
    arguments.push_back(v);
  }
  for (size_t i = 0; i < kernel.results.size(); ++i) arguments.push_back(function->getArg(at++));
  if (with_scratch) scratch = function->getArg(at++);
  unit.failures = nullptr;
  if (!fails) return;
  llvm::AllocaInst *slot = b.CreateAlloca(llvm::ArrayType::get(b.getInt64Ty(), kFailureWords));
  b.CreateStore(function->getArg(at), slot);
  b.CreateStore(function->getArg(at + 1), b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), slot, 1));
  cell_slot_ = b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), slot, 2);
  b.CreateStore(b.getInt64(0), cell_slot_);
  unit.failures = slot;
}

void CardFunction::failing_cell(LValue cell) {
  if (cell_slot_) b.CreateStore(b.CreateZExt(cell, b.getInt64Ty()), cell_slot_);
}

CardFunction::LValue CardFunction::thread() {
  return b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
}
CardFunction::LValue CardFunction::block() {
  return b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {});
}
CardFunction::LValue CardFunction::global_thread() {
  LValue threads = b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x, {});
  LValue first = b.CreateMul(b.CreateZExt(block(), b.getInt64Ty()), b.CreateZExt(threads, b.getInt64Ty()));
  return b.CreateAdd(first, b.CreateZExt(thread(), b.getInt64Ty()));
}

CardFunction::LValue CardFunction::context() {
  llvm::AllocaInst *words = b.CreateAlloca(llvm::ArrayType::get(b.getInt64Ty(), arguments.size() + 1));
  auto put = [&](size_t i, LValue v) {
    if (v->getType()->isIntegerTy(1)) v = b.CreateZExt(v, b.getInt8Ty());
    b.CreateStore(v, b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), words, i));
  };
  for (size_t i = 0; i < arguments.size(); ++i) put(i, arguments[i]);
  if (card_.device.failures) put(arguments.size(), card_.device.failures);
  return words;
}

std::vector<CardFunction::LValue> CardFunction::read_context(Builder &at, LValue context) {
  auto get = [&](llvm::Type *type, size_t i) {
    return at.CreateLoad(type, at.CreateConstInBoundsGEP1_64(at.getInt64Ty(), context, i));
  };
  std::vector<LValue> out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    bool truth = arguments[i]->getType()->isIntegerTy(1);
    LValue v = get(truth ? at.getInt8Ty() : arguments[i]->getType(), i);
    out.push_back(truth ? at.CreateTrunc(v, at.getInt1Ty()) : v);
  }
  if (cell_slot_) card_.device.failures = get(at.getPtrTy(), arguments.size());
  return out;
}

void CardFunction::when(LValue condition, const std::function<void()> &body) {
  llvm::BasicBlock *yes = llvm::BasicBlock::Create(card_.device.context, "", function);
  llvm::BasicBlock *after = llvm::BasicBlock::Create(card_.device.context, "", function);
  b.CreateCondBr(condition, yes, after);
  b.SetInsertPoint(yes);
  body();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

CardEntry CardFunction::finish(int64_t blocks, int64_t threads, int32_t shared) {
  b.CreateRetVoid();
  function->addFnAttr("nvvm.reqntid", std::to_string(threads) + ",1,1");
  card_.device.failures = nullptr;

  Place place = kernel_.places.empty() ? Place{} : kernel_.places[0];
  std::string name = function->getName().str();
  bool fails = may_fail(card_.device.spectra, kernel_);
  return {kernel_table(host_, name, name, place, shared, fails), blocks, threads};
}

CardEntry card_routine(Unit &host, const std::string &symbol, const Op &op, bool fails) {
  Card &card = *host.card;
  card.routines.insert(symbol);
  std::string label = op.text(spectra::Attr::name);
  const std::vector<spectra::SourceFile> &sources = host.spectra.sources;
  if (op.place() && op.place().file < sources.size())
    label += "_" + plain_name(sources[op.place().file].name) + "_" + std::to_string(op.place().line);
  return {kernel_table(host, symbol, label, op.place(), 0, fails), 0, 0};
}

} // namespace mica::codegen
