// A function: its locals, its regions, and which part emits each operation.
#include "card/card.h"
#include "codegen.h"
#include "function.h"

#include <llvm/IR/MDBuilder.h>

namespace mica::codegen {
namespace {

/// Locals beyond this come from the heap: a stack is small and whole values are not.
constexpr int64_t kLargeLocal = 16 << 10;

} // namespace

FunctionEmitter::FunctionEmitter(Unit &unit, const spectra::Func &func)
    : unit_(unit), func_(func), function_(unit.function(&func)), b_(unit.context), values_(unit.values) {
  values_.resize(unit.spectra.value_count, nullptr);
}

FunctionEmitter::LValue FunctionEmitter::entry_slot(llvm::Type *type, const char *name, uint64_t count,
                                                    unsigned align) {
  llvm::BasicBlock &entry = function_->getEntryBlock();
  Builder at_entry(&entry, entry.begin());
  llvm::AllocaInst *slot = at_entry.CreateAlloca(type, count == 1 ? nullptr : at_entry.getInt64(count), name);
  slot->setAlignment(llvm::Align(align));
  return slot;
}

void FunctionEmitter::emit() {
  b_.SetInsertPoint(llvm::BasicBlock::Create(unit_.context, "entry", function_));
  if (unit_.debug) {
    llvm::SmallVector<llvm::Metadata *> types{func_.result ? unit_.debug_type(func_.result) : nullptr};
    for (const Value *v : func_.body->args) types.push_back(unit_.debug_type(v->type));
    subprogram_ = unit_.debug_function(function_, func_.name, func_.place, types, false);
  }
  for (size_t i = 0; i < func_.body->args.size(); ++i) {
    llvm::Argument *argument = function_->getArg(static_cast<unsigned>(i));
    const Value *v = func_.body->args[i];
    argument->setName(llvm::StringRef(v->name.data(), v->name.size()));
    if (!argument->getType()->isStructTy())
      function_->addParamAttr(static_cast<unsigned>(i), llvm::Attribute::NoUndef);
    define(v, argument);
    show_parameter(*v, argument, static_cast<unsigned>(i) + 1);
  }
  emit_locals();
  // What stood so far has no line, so that a breakpoint on the function stops where its variables are ready.
  if (unit_.debug)
    b_.SetCurrentDebugLocation(llvm::DILocation::get(unit_.context, subprogram_->getLine(), 0, subprogram_));
  emit_region(*func_.body);
}

/// A parameter that the source names, for the debugger: in memory where nothing is optimized, else by value.
void FunctionEmitter::show_parameter(const Value &v, llvm::Argument *argument, unsigned number) {
  if (v.type->kind == TypeKind::frame) show_outer_frames(argument);
  if (!unit_.debug || v.name.empty() || v.type->kind == TypeKind::frame) return;
  if (const spectra::Record *frame = frame_of(func_.name); frame && frame->field_index(v.name) >= 0)
    return; // inner procedures may change it, where it lives in the frame
  for (const spectra::Variable &local : func_.locals)
    if (local.name == v.name) return; // mica-check copied it to a local, which the source sees
  llvm::StringRef name(v.name.data(), v.name.size());
  llvm::DILocalVariable *variable =
      unit_.debug->createParameterVariable(subprogram_, name, number, subprogram_->getFile(),
                                           subprogram_->getLine(), unit_.debug_type(v.type), true);
  llvm::DILocation *location = llvm::DILocation::get(unit_.context, subprogram_->getLine(), 0, subprogram_);
  if (unit_.spectra.options.optimizes()) {
    unit_.debug->insertDbgValueIntrinsic(argument, variable, unit_.debug->createExpression(), location,
                                         b_.GetInsertBlock());
    return;
  }
  unsigned align = static_cast<unsigned>(std::clamp<int64_t>(spectra::align_of(v.type), 1, 8));
  LValue slot = entry_slot(unit_.memory_type(v.type), "", 1, align);
  store(v.type, argument, slot);
  unit_.debug->insertDeclare(slot, variable, unit_.debug->createExpression(), location, b_.GetInsertBlock());
}

void FunctionEmitter::emit_locals() {
  for (const spectra::Variable &local : func_.locals) {
    int64_t size = spectra::size_of(local.type);
    unsigned align = static_cast<unsigned>(spectra::align_of(local.type));
    std::string name(local.name);
    LValue address = nullptr;
    if (size > kLargeLocal) {
      auto [file, line] = place_arguments(unit_, local.place);
      address = call("mica_arena", unit_.pointer(),
                     {file, line, b_.getInt64(static_cast<uint64_t>(size)), b_.getInt32(1)});
      arenas_.push_back({address, nullptr, false});
    } else {
      bool simple = !local.type->is_whole() && local.type->kind != TypeKind::record &&
                    local.type->kind != TypeKind::array;
      llvm::Type *type = simple ? unit_.memory_type(local.type)
                                : llvm::ArrayType::get(unit_.i(8), static_cast<uint64_t>(size));
      address = entry_slot(type, name.c_str(), 1, align);
      if (simple)
        b_.CreateAlignedStore(llvm::Constant::getNullValue(type), address, llvm::Align(align));
      else if (size)
        b_.CreateMemSet(address, b_.getInt8(0), static_cast<uint64_t>(size), llvm::Align(align));
    }
    locals_[local.name] = address;
    if (has_card_parts(local.type))
      arenas_.push_back(
          {emit_card_place(unit_, b_, local.place, address, local.type, b_.getInt64(1)), nullptr, true});
    const bool frame = local.name.find('\'') != std::string_view::npos; // the compiler's own
    if (unit_.debug && frame && local.type->kind == TypeKind::record && llvm::isa<llvm::AllocaInst>(address))
      show_fields(*local.type->record, address, {}, true);
    else if (unit_.debug && local.place)
      show_local(local, address);
  }
}

void FunctionEmitter::show_local(const spectra::Variable &local, LValue address) {
  llvm::StringRef name(local.name.data(), local.name.size());
  unsigned parameter = 0; // its number where mica-check made the local of a parameter
  for (size_t i = 0; i < func_.body->args.size(); ++i)
    if (func_.body->args[i]->name == local.name) parameter = static_cast<unsigned>(i) + 1;
  llvm::DIFile *file = subprogram_->getFile();
  llvm::DIType *type = unit_.debug_type(local.type);
  llvm::DILocalVariable *variable =
      parameter ? unit_.debug->createParameterVariable(subprogram_, name, parameter, file, local.place.line,
                                                       type, true)
                : unit_.debug->createAutoVariable(subprogram_, name, file, local.place.line, type, true);
  // What lies on the heap is reached through a pointer that the debugger finds in a slot.
  llvm::DIExpression *expression = unit_.debug->createExpression();
  if (!llvm::isa<llvm::AllocaInst>(address)) {
    if (unit_.spectra.options.optimizes()) return;
    LValue slot = entry_slot(unit_.pointer(), "");
    b_.CreateStore(address, slot);
    address = slot;
    expression = unit_.debug->createExpression({llvm::dwarf::DW_OP_deref});
  }
  unit_.debug->insertDeclare(
      address, variable, expression,
      llvm::DILocation::get(unit_.context, local.place.line, local.place.column, subprogram_),
      b_.GetInsertBlock());
}

/// Whether this is mica-check's copy of a parameter into its local: part of the entry, as a debugger sees it.
bool FunctionEmitter::is_entry_copy(const Op &op) const {
  return op.code == OpCode::write && op.path->base == spectra::Path::Base::local && op.path->steps.empty() &&
         op.arg(0)->region == func_.body && op.arg(0)->name == op.path->symbol;
}

void FunctionEmitter::set_location(const Op &op) {
  if (!unit_.debug || !op.place()) return;
  if (is_entry_copy(op)) return b_.SetCurrentDebugLocation(llvm::DebugLoc());
  b_.SetCurrentDebugLocation(
      llvm::DILocation::get(unit_.context, op.place().line, op.place().column, subprogram_));
}

void FunctionEmitter::emit_region(const spectra::Region &region) {
  for (const Op *op : region.ops) {
    if (op->code == OpCode::yield) {
      yields_.push_back(op);
      return;
    }
    emit_op(*op);
  }
}

void FunctionEmitter::emit_op(const Op &op) {
  set_location(op);
  switch (op.code) {
  case OpCode::read: {
    define(op.result(), load(path_end(op), path_address(op)));
    return;
  }
  case OpCode::write: return store(path_end(op), arg(op, 0), path_address(op));
  case OpCode::address: return define(op.result(), path_address(op));
  case OpCode::if_: return emit_if(op);
  case OpCode::switch_: return emit_switch(op);
  case OpCode::for_: return emit_for(op);
  case OpCode::while_: return emit_while(op);
  case OpCode::return_: return emit_return(op);
  case OpCode::break_: b_.CreateBr(loops_.back().after); return;
  case OpCode::continue_: b_.CreateBr(loops_.back().next); return;
  case OpCode::call: return emit_call(op);
  case OpCode::call_value: return emit_call_value(op);
  case OpCode::closure: return emit_closure(op);
  default: break;
  }
  llvm::SmallVector<LValue> operands;
  for (const Value *v : op.operands) operands.push_back(value(v));
  if (is_card_op(unit_, op)) {
    LValue result = emit_card_op(unit_, b_, op, operands);
    if (op.result()) define(op.result(), result);
    return;
  }
  if (op.code == OpCode::launch) return emit_launch(unit_, b_, op, operands);
  if (op.code == OpCode::run) return emit_run(unit_, b_, op, operands);
  if (emit_check(op) || emit_library(op)) return;
  LValue result = emit_scalar(unit_, b_, op, operands);
  if (!result)
    throw Refused{op.place(), std::string("`") + spectra::info(op.code).name + "` has no code on the host"};
  define(op.result(), result);
}

void emit_function(Unit &unit, const spectra::Func &func) { FunctionEmitter(unit, func).emit(); }

} // namespace mica::codegen
