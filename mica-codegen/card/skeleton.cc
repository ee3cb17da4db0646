// A skeleton of libmicart/device made part of one kernel: a copy in which its constants are numbers and its
// hooks are the kernel's own functions, to be inlined.
#include "device.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace mica::codegen {

llvm::Function *specialize(Card &card, const std::string &name, const std::vector<int64_t> &constants,
                           const std::map<std::string, llvm::Function *> &hooks) {
  llvm::Function *original = skeleton(card, name);
  llvm::ValueToValueMapTy map;
  llvm::Function *copy = llvm::CloneFunction(original, map);
  copy->setName(name + ".copy");
  copy->setLinkage(llvm::GlobalValue::InternalLinkage);
  copy->removeFnAttr(llvm::Attribute::NoInline);
  copy->addFnAttr(llvm::Attribute::AlwaysInline);
  std::vector<llvm::CallInst *> numbers;
  for (llvm::Instruction &i : llvm::instructions(copy)) {
    llvm::CallInst *call = llvm::dyn_cast<llvm::CallInst>(&i);
    llvm::Function *callee = call ? call->getCalledFunction() : nullptr;
    if (!callee) continue;
    if (callee->getName() == "mica_constant") numbers.push_back(call);
    if (auto hook = hooks.find(callee->getName().str()); hook != hooks.end())
      call->setCalledFunction(hook->second);
    else if (callee->getName().starts_with("mica_hook_"))
      throw std::logic_error("nothing stands for " + callee->getName().str());
  }
  for (llvm::CallInst *call : numbers) {
    uint64_t which = llvm::cast<llvm::ConstantInt>(call->getArgOperand(0))->getZExtValue();
    call->replaceAllUsesWith(
        llvm::ConstantInt::get(call->getType(), static_cast<uint64_t>(constants.at(which)), true));
    call->eraseFromParent();
  }
  return copy;
}

llvm::Function *make_hook(Card &card, const std::string &name, const std::string &like) {
  llvm::Function *declared = card.device.module->getFunction(like);
  if (!declared) throw std::logic_error("libmicart/device calls no " + like);
  llvm::Function *hook =
      llvm::Function::Create(declared->getFunctionType(), llvm::GlobalValue::InternalLinkage,
                             name + "." + like, *card.device.module);
  hook->addFnAttr(llvm::Attribute::AlwaysInline);
  hook->setDoesNotThrow();
  return hook;
}

} // namespace mica::codegen
