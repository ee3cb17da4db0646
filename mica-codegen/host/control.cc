// Structured control becomes blocks; carried values become phis.
#include "function.h"

#include <llvm/IR/MDBuilder.h>

namespace mica::codegen {

void FunctionEmitter::emit_if(const Op &op) {
  llvm::BasicBlock *then = block("then");
  llvm::BasicBlock *otherwise = block("else");
  llvm::BasicBlock *after = block("endif");
  b_.CreateCondBr(arg(op, 0), then, otherwise);
  struct Incoming {
    std::vector<LValue> values;
    llvm::BasicBlock *from;
  };
  std::vector<Incoming> incoming;
  for (int i = 0; i < 2; ++i) {
    b_.SetInsertPoint(i ? otherwise : then);
    emit_region(*op.regions[static_cast<size_t>(i)]);
    if (terminated()) continue;
    const Op *yield = yields_.back();
    yields_.pop_back();
    Incoming in{{}, b_.GetInsertBlock()};
    for (const Value *v : yield->operands) in.values.push_back(value(v));
    incoming.push_back(in);
    b_.CreateBr(after);
  }
  b_.SetInsertPoint(after);
  if (incoming.empty()) { // both branches leave; what follows in the region is never reached
    for (const Value *v : op.results) define(v, llvm::PoisonValue::get(unit_.type_of(v->type)));
    return;
  }
  for (size_t r = 0; r < op.results.size(); ++r) {
    llvm::PHINode *phi =
        b_.CreatePHI(unit_.type_of(op.results[r]->type), static_cast<unsigned>(incoming.size()));
    for (const Incoming &in : incoming) phi->addIncoming(in.values[r], in.from);
    define(op.results[r], phi);
  }
}

void FunctionEmitter::emit_switch(const Op &op) {
  /// A range this wide or wider is compared instead of listed.
  constexpr int64_t kListed = 64;
  const std::vector<int64_t> &labels = *op.integers(spectra::Attr::labels);
  LValue x = arg(op, 0);
  if (x->getType()->isIntegerTy(1)) x = b_.CreateZExt(x, b_.getInt8Ty());
  llvm::IntegerType *type = llvm::cast<llvm::IntegerType>(x->getType());
  bool is_signed = op.arg(0)->type->is_signed();
  std::vector<llvm::BasicBlock *> arms;
  for (size_t i = 0; i < op.regions.size(); ++i)
    arms.push_back(block(i + 1 < op.regions.size() ? "arm" : "otherwise"));
  llvm::BasicBlock *after = block("endcase");
  for (size_t i = 0; i + 2 < labels.size(); i += 3) {
    if (labels[i + 2] - labels[i + 1] < kListed) continue;
    llvm::BasicBlock *next = block("");
    LValue low = llvm::ConstantInt::get(type, static_cast<uint64_t>(labels[i + 1]), true, true);
    LValue high = llvm::ConstantInt::get(type, static_cast<uint64_t>(labels[i + 2]), true, true);
    LValue inside = b_.CreateAnd(is_signed ? b_.CreateICmpSGE(x, low) : b_.CreateICmpUGE(x, low),
                                 is_signed ? b_.CreateICmpSLE(x, high) : b_.CreateICmpULE(x, high));
    b_.CreateCondBr(inside, arms[static_cast<size_t>(labels[i])], next);
    b_.SetInsertPoint(next);
  }
  llvm::SwitchInst *cases = b_.CreateSwitch(x, arms.back());
  for (size_t i = 0; i + 2 < labels.size(); i += 3) {
    if (labels[i + 2] - labels[i + 1] >= kListed) continue;
    for (int64_t label = labels[i + 1]; label <= labels[i + 2]; ++label)
      cases->addCase(
          llvm::ConstantInt::get(unit_.context,
                                 llvm::APInt(type->getBitWidth(), static_cast<uint64_t>(label), true, true)),
          arms[static_cast<size_t>(labels[i])]);
  }
  for (size_t i = 0; i < arms.size(); ++i) {
    b_.SetInsertPoint(arms[i]);
    emit_region(*op.regions[i]);
    if (terminated()) continue;
    yields_.pop_back();
    b_.CreateBr(after);
  }
  b_.SetInsertPoint(after);
}

/// Counts from a to b, both included. The test at the turn's end compares before it steps, so a loop that
/// ends at its type's last value ends.
void FunctionEmitter::emit_for(const Op &op) {
  LValue from = arg(op, 0);
  LValue to = arg(op, 1);
  const Type *counter = op.arg(0)->type;
  llvm::Type *type = from->getType();
  bool down = op.flag(spectra::Attr::down);
  bool is_signed = counter->is_signed();
  uint64_t by = static_cast<uint64_t>(op.integer(spectra::Attr::by, 1));
  LValue some = down ? (is_signed ? b_.CreateICmpSGE(from, to) : b_.CreateICmpUGE(from, to))
                     : (is_signed ? b_.CreateICmpSLE(from, to) : b_.CreateICmpULE(from, to));
  // Beyond single steps the last value is where a further step would pass b; the distance fits the unsigned
  // type.
  LValue last = to;
  if (by > 1) {
    LValue distance = down ? b_.CreateSub(from, to) : b_.CreateSub(to, from);
    unsigned bits = type->getIntegerBitWidth();
    LValue step = bits < 64 && by >> bits ? nullptr : llvm::ConstantInt::get(type, by);
    LValue whole =
        step ? b_.CreateSub(distance, b_.CreateURem(distance, step)) : llvm::Constant::getNullValue(type);
    last = down ? b_.CreateSub(from, whole) : b_.CreateAdd(from, whole);
  }
  const spectra::Region &body = *op.regions[0];
  llvm::BasicBlock *before = b_.GetInsertBlock();
  llvm::BasicBlock *turn = block("for");
  llvm::BasicBlock *next = block("next");
  llvm::BasicBlock *step_block = block("step");
  llvm::BasicBlock *after = block("endfor");
  b_.CreateCondBr(some, turn, after);

  b_.SetInsertPoint(turn);
  std::vector<llvm::PHINode *> phis;
  for (size_t i = 0; i < body.args.size(); ++i) {
    llvm::PHINode *phi = b_.CreatePHI(unit_.type_of(body.args[i]->type), 2);
    phi->addIncoming(i ? arg(op, static_cast<int>(i) + 1) : from, before);
    phis.push_back(phi);
    define(body.args[i], phi);
  }
  loops_.push_back({next, after});
  emit_region(body);
  loops_.pop_back();
  std::vector<LValue> carried;
  if (!terminated()) {
    for (const Value *v : yields_.back()->operands) carried.push_back(value(v));
    yields_.pop_back();
    b_.CreateBr(next);
  } else {
    for (size_t i = 1; i < body.args.size(); ++i)
      carried.push_back(llvm::PoisonValue::get(phis[i]->getType()));
  }
  b_.SetInsertPoint(next);
  b_.CreateCondBr(b_.CreateICmpEQ(phis[0], last), after, step_block);
  b_.SetInsertPoint(step_block);
  LValue amount = llvm::ConstantInt::get(type, by);
  // A step is taken only short of the last value, so it never wraps.
  LValue stepped = down ? b_.CreateSub(phis[0], amount, "", !is_signed, is_signed)
                        : b_.CreateAdd(phis[0], amount, "", !is_signed, is_signed);
  b_.CreateBr(turn);
  phis[0]->addIncoming(stepped, step_block);
  for (size_t i = 1; i < phis.size(); ++i) phis[i]->addIncoming(carried[i - 1], step_block);

  b_.SetInsertPoint(after);
  for (size_t r = 0; r < op.results.size(); ++r) {
    llvm::PHINode *phi = b_.CreatePHI(phis[r + 1]->getType(), 2);
    phi->addIncoming(arg(op, static_cast<int>(r) + 2), before);
    phi->addIncoming(carried[r], next);
    define(op.results[r], phi);
  }
}

void FunctionEmitter::emit_while(const Op &op) {
  const spectra::Region &condition = *op.regions[0];
  const spectra::Region &body = *op.regions[1];
  llvm::BasicBlock *before = b_.GetInsertBlock();
  llvm::BasicBlock *test = block("while");
  llvm::BasicBlock *turn = block("do");
  llvm::BasicBlock *next = block("next");
  llvm::BasicBlock *after = block("endwhile");
  b_.CreateBr(test);
  b_.SetInsertPoint(test);
  std::vector<llvm::PHINode *> phis;
  for (size_t i = 0; i < condition.args.size(); ++i) {
    llvm::PHINode *phi = b_.CreatePHI(unit_.type_of(condition.args[i]->type), 2);
    phi->addIncoming(arg(op, static_cast<int>(i)), before);
    phis.push_back(phi);
    define(condition.args[i], phi);
  }
  // A `repeat` has its body in the first region: there `continue` goes to the next turn too.
  loops_.push_back({next, after});
  emit_region(condition);
  if (!terminated()) {
    const Op *yield = yields_.back();
    yields_.pop_back();
    for (size_t i = 0; i < body.args.size(); ++i) define(body.args[i], value(yield->operands[i + 1]));
    for (size_t r = 0; r < op.results.size(); ++r) define(op.results[r], value(yield->operands[r + 1]));
    b_.CreateCondBr(value(yield->operands[0]), turn, after);
  }
  b_.SetInsertPoint(turn);
  emit_region(body);
  std::vector<LValue> carried;
  if (!terminated()) {
    for (const Value *v : yields_.back()->operands) carried.push_back(value(v));
    yields_.pop_back();
    b_.CreateBr(next);
  }
  loops_.pop_back();
  b_.SetInsertPoint(next);
  b_.CreateBr(test);
  for (size_t i = 0; i < phis.size(); ++i)
    phis[i]->addIncoming(i < carried.size() ? carried[i] : llvm::PoisonValue::get(phis[i]->getType()), next);
  b_.SetInsertPoint(after);
}

void FunctionEmitter::emit_return(const Op &op) {
  LValue answer = op.arg_count() ? arg(op, 0) : nullptr;
  for (const Arena &arena : arenas_) {
    const char *free_it = arena.on_card ? "mica_card_free" : "mica_arena_free";
    if (!arena.keeper) {
      call(free_it, b_.getVoidTy(), {arena.memory});
      continue;
    }
    // Keep it for the next call where nobody has put one there meanwhile (a recursive call may have).
    LValue waiting = b_.CreateLoad(unit_.pointer(), arena.keeper);
    llvm::BasicBlock *free = block("free");
    llvm::BasicBlock *done = block("");
    b_.CreateStore(arena.memory, arena.keeper);
    b_.CreateCondBr(b_.CreateIsNull(waiting), done, free);
    b_.SetInsertPoint(free);
    call(free_it, b_.getVoidTy(), {waiting});
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  }
  if (answer)
    b_.CreateRet(answer);
  else
    b_.CreateRetVoid();
}

void FunctionEmitter::emit_call(const Op &op) {
  const spectra::Func *callee = unit_.spectra.find_func(op.symbol);
  llvm::SmallVector<LValue> arguments;
  for (const Value *v : op.operands) arguments.push_back(value(v));
  llvm::Function *target = unit_.function(callee);
  llvm::CallInst *result = b_.CreateCall(target, arguments);
  result->setAttributes(
      target->getAttributes().removeFnAttributes(unit_.context)); // how C extends small integers
  // What the program's body does once gains nothing by inlining, and a body that swallows a whole large
  // program takes the optimizer many times as long.
  if (func_.name == "program.main" && loops_.empty()) result->setIsNoInline();
  if (!op.results.empty()) define(op.result(), result);
}

/// A procedure value is {code, frame}. Code that takes no frame is reached through a thunk that drops it.
void FunctionEmitter::emit_call_value(const Op &op) {
  LValue closure = arg(op, 0);
  const Type *type = op.arg(0)->type;
  llvm::SmallVector<llvm::Type *> types{unit_.pointer()};
  llvm::SmallVector<LValue> arguments{second(closure)};
  for (int i = 1; i < op.arg_count(); ++i) {
    arguments.push_back(arg(op, i));
    types.push_back(arguments.back()->getType());
  }
  llvm::Type *result = type->element ? unit_.type_of(type->element) : b_.getVoidTy();
  LValue code = first(closure);
  emit_failure(unit_, b_, b_.CreateIsNull(code), "nil", [&](Builder &fail) {
    fail.CreateCall(unit_.runtime("mica_fail_nil", fail.getVoidTy(), {unit_.pointer(), unit_.i(32)}),
                    {place_file(op), place_line(op)});
  });
  llvm::CallInst *answer = b_.CreateCall(llvm::FunctionType::get(result, types, false), code, arguments);
  if (!op.results.empty()) define(op.result(), answer);
}

void FunctionEmitter::emit_closure(const Op &op) {
  const spectra::Func *callee = unit_.spectra.find_func(op.symbol);
  llvm::Function *code = unit_.function(callee);
  LValue frame = llvm::ConstantPointerNull::get(unit_.pointer());
  if (op.operands.size() == 1)
    frame = value(op.operands[0]);
  else {
    std::string name = code->getName().str() + ".thunk";
    llvm::Function *thunk = unit_.module->getFunction(name);
    if (!thunk) {
      llvm::SmallVector<llvm::Type *> types{unit_.pointer()};
      for (llvm::Type *t : code->getFunctionType()->params()) types.push_back(t);
      thunk = llvm::Function::Create(llvm::FunctionType::get(code->getReturnType(), types, false),
                                     llvm::GlobalValue::InternalLinkage, name, *unit_.module);
      thunk->setDoesNotThrow();
      Builder t(llvm::BasicBlock::Create(unit_.context, "entry", thunk));
      llvm::SmallVector<LValue> arguments;
      for (unsigned i = 1; i < thunk->arg_size(); ++i) arguments.push_back(thunk->getArg(i));
      llvm::CallInst *answer = t.CreateCall(code, arguments);
      answer->setAttributes(code->getAttributes().removeFnAttributes(unit_.context));
      if (answer->getType()->isVoidTy())
        t.CreateRetVoid();
      else
        t.CreateRet(answer);
    }
    code = thunk;
  }
  LValue closure =
      llvm::PoisonValue::get(llvm::StructType::get(unit_.context, {unit_.pointer(), unit_.pointer()}));
  closure = b_.CreateInsertValue(closure, code, 0);
  define(op.result(), b_.CreateInsertValue(closure, frame, 1));
}

} // namespace mica::codegen
