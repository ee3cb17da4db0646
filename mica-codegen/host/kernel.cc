// What all kernels on the processor share: context, loops, cells in memory, collapsed spaces.
#include "kernel.h"
#include "codegen.h"
#include "spectra/ops.h"

#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>

namespace mica::codegen {

int64_t Collapsed::outer() const {
  int64_t n = 1;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) n *= sizes[i];
  return n;
}

Collapsed collapse(const std::vector<int64_t> &space, const std::vector<std::vector<int64_t>> &shapes,
                   const std::vector<int64_t> &cell) {
  std::vector<std::vector<int64_t>> strides; // by value, by dimension
  for (size_t v = 0; v < shapes.size(); ++v) {
    std::vector<int64_t> s(space.size(), 0);
    size_t missing = space.size() - shapes[v].size();
    int64_t step = cell[v];
    for (size_t d = space.size(); d-- > missing;) {
      int64_t size = shapes[v][d - missing];
      s[d] = size == 1 && space[d] != 1 ? 0 : step;
      step *= size;
    }
    strides.push_back(std::move(s));
  }
  Collapsed out;
  out.accesses.resize(shapes.size());
  for (size_t d = 0; d < space.size(); ++d) {
    bool merges = !out.sizes.empty();
    if (merges && space[d] != 1 && out.sizes.back() != 1)
      for (size_t v = 0; v < strides.size(); ++v)
        merges &= out.accesses[v].strides.back() == strides[v][d] * space[d];
    if (!merges) {
      out.sizes.push_back(space[d]);
      for (size_t v = 0; v < strides.size(); ++v) out.accesses[v].strides.push_back(strides[v][d]);
      continue;
    }
    bool was_one = out.sizes.back() == 1;
    out.sizes.back() *= space[d];
    if (space[d] != 1 || was_one)
      for (size_t v = 0; v < strides.size(); ++v) out.accesses[v].strides.back() = strides[v][d];
  }
  if (out.sizes.empty()) {
    out.sizes.push_back(1);
    for (Access &a : out.accesses) a.strides.push_back(0);
  }
  return out;
}

bool is_by_value(const spectra::Kernel &kernel, size_t i) {
  if (kernel.form == spectra::KernelForm::multi) {
    int64_t scalars = 0;
    for (const spectra::Attribute &a : kernel.attributes)
      if (a.key == spectra::Attr::scalars) scalars = std::get<int64_t>(a.value);
    return static_cast<int64_t>(i) < scalars && !kernel.params[i]->gpu;
  }
  if (i < kernel.params.size() && kernel.params[i]->kind == TypeKind::draw) return true;
  return i < kernel.params.size() && kernel.params[i]->is_scalar() && !kernel.params[i]->gpu;
}

KernelEmitter::KernelEmitter(Unit &unit, const spectra::Kernel &kernel, const std::string &name)
    : unit_(unit), kernel_(kernel), b_(unit.context), values_(unit.values) {
  llvm::FunctionType *type =
      llvm::FunctionType::get(b_.getVoidTy(), {unit.pointer(), b_.getInt64Ty(), b_.getInt64Ty()}, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, *unit.module);
  function_->setDoesNotThrow();
  // A function that launches thousands of kernels would grow by all of their bodies, and the optimizer's time
  // with it.
  function_->addFnAttr(llvm::Attribute::NoInline);
  values_.resize(unit.spectra.value_count, nullptr);
}

void KernelEmitter::begin(size_t words) {
  b_.SetInsertPoint(llvm::BasicBlock::Create(unit_.context, "entry", function_));
  if (unit_.debug) {
    Place place = kernel_.places.empty() ? Place{} : kernel_.places[0];
    unsigned line = std::max<unsigned>(place.line, 1);
    std::string name = function_->getName().str();
    llvm::DISubprogram *subprogram = unit_.debug_function(function_, name, place, {}, true);
    b_.SetCurrentDebugLocation(llvm::DILocation::get(unit_.context, line, 0, subprogram));
  }
  LValue context = function_->getArg(0);
  begin_ = function_->getArg(1);
  end_ = function_->getArg(2);
  for (size_t i = 0; i < words; ++i) {
    LValue slot = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), context, i);
    llvm::Type *type = is_by_value(kernel_, i) ? unit_.memory_type(kernel_.params[i]) : unit_.pointer();
    // A draw is wider than the context's word, which then points to it.
    if (is_by_value(kernel_, i) && kernel_.params[i]->kind == TypeKind::draw)
      slot = b_.CreateLoad(unit_.pointer(), slot);
    LValue word = b_.CreateLoad(type, slot);
    if (is_by_value(kernel_, i) && kernel_.params[i]->is_bool()) word = b_.CreateTrunc(word, b_.getInt1Ty());
    arguments_.push_back(word);
  }
}

/// Calls of the math library read its tables: once inlined, those reads must not tie the loop's turns
/// together either, or LLVM would not vectorize it.
bool KernelEmitter::mark_calls(llvm::BasicBlock *first, llvm::MDNode *group) {
  bool calls = false;
  for (auto block = first->getIterator(); block != function_->end(); ++block) {
    if (block->getTerminator() && llvm::isa<llvm::UnreachableInst>(block->getTerminator()))
      continue; // a failure
    for (llvm::Instruction &i : *block)
      if (llvm::isa<llvm::CallInst>(i) && !i.hasMetadata(llvm::LLVMContext::MD_access_group)) {
        i.setMetadata(llvm::LLVMContext::MD_access_group, group);
        if (llvm::isa<llvm::IntrinsicInst>(i)) continue;
        llvm::cast<llvm::CallInst>(i).addFnAttr(llvm::Attribute::AlwaysInline);
        calls = true;
      }
  }
  return calls;
}

void KernelEmitter::loop(LValue from, LValue to, const char *name, bool parallel,
                         const std::function<void(LValue)> &body, uint32_t width) {
  llvm::BasicBlock *before = b_.GetInsertBlock();
  llvm::BasicBlock *turn = llvm::BasicBlock::Create(unit_.context, name, function_);
  llvm::BasicBlock *after = llvm::BasicBlock::Create(unit_.context, std::string("end") + name, function_);
  b_.CreateCondBr(b_.CreateICmpSLT(from, to), turn, after);
  b_.SetInsertPoint(turn);
  llvm::PHINode *i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(from, before);
  llvm::MDNode *outer_group = access_group_;
  if (parallel) access_group_ = llvm::MDNode::getDistinct(unit_.context, {});
  body(i);
  LValue next = b_.CreateNSWAdd(i, b_.getInt64(1));
  i->addIncoming(next, b_.GetInsertBlock());
  llvm::BranchInst *back = b_.CreateCondBr(b_.CreateICmpSLT(next, to), turn, after);
  if (parallel) {
    bool calls = mark_calls(turn, access_group_);
    llvm::Metadata *accesses = llvm::MDNode::get(
        unit_.context, {llvm::MDString::get(unit_.context, "llvm.loop.parallel_accesses"), access_group_});
    llvm::SmallVector<llvm::Metadata *> hints{nullptr, accesses};
    auto hint = [&](const char *what, llvm::Constant *value) {
      llvm::SmallVector<llvm::Metadata *, 2> words{llvm::MDString::get(unit_.context, what)};
      if (value) words.push_back(llvm::ConstantAsMetadata::get(value));
      hints.push_back(llvm::MDNode::get(unit_.context, words));
    };
    // LLVM overrates what the branches of inlined functions cost as vectors: ln and sin would stay scalar.
    if (calls || width) hint("llvm.loop.vectorize.enable", b_.getTrue());
    if (calls && !width) hint("llvm.loop.interleave.count", b_.getInt32(2));
    // A short loop would be unrolled into scalars before the vectorizer sees it.
    if (width && unit_.spectra.options.tier != "O1") {
      hint("llvm.loop.vectorize.width", b_.getInt32(width));
      hint("llvm.loop.interleave.count", b_.getInt32(1));
      hint("llvm.loop.unroll.disable", nullptr);
    }
    llvm::MDNode *id = llvm::MDNode::getDistinct(unit_.context, hints);
    id->replaceOperandWith(0, id);
    back->setMetadata(llvm::LLVMContext::MD_loop, id);
  }
  access_group_ = outer_group;
  b_.SetInsertPoint(after);
}

KernelEmitter::LValue KernelEmitter::cell_address(const Type *type, LValue base, LValue index) {
  llvm::Type *t = type->is_bool() ? b_.getInt8Ty() : unit_.scalar_type(type->scalar);
  return b_.CreateInBoundsGEP(t, base, index);
}

KernelEmitter::LValue KernelEmitter::load_cell(const Type *type, LValue base, LValue index) {
  llvm::Type *t = type->is_bool() ? b_.getInt8Ty() : unit_.scalar_type(type->scalar);
  llvm::LoadInst *load =
      b_.CreateAlignedLoad(t, cell_address(type, base, index),
                           llvm::Align(static_cast<uint64_t>(spectra::scalar_bytes(type->scalar))));
  if (access_group_) load->setMetadata(llvm::LLVMContext::MD_access_group, access_group_);
  return type->is_bool() ? b_.CreateTrunc(load, b_.getInt1Ty()) : static_cast<LValue>(load);
}

void KernelEmitter::store_cell(const Type *type, LValue v, LValue base, LValue index) {
  if (type->is_bool()) v = b_.CreateZExt(v, b_.getInt8Ty());
  llvm::StoreInst *store =
      b_.CreateAlignedStore(v, cell_address(type, base, index),
                            llvm::Align(static_cast<uint64_t>(spectra::scalar_bytes(type->scalar))));
  if (access_group_) store->setMetadata(llvm::LLVMContext::MD_access_group, access_group_);
}

std::vector<KernelEmitter::LValue> KernelEmitter::outer_offsets(const Collapsed &space, LValue o) {
  std::vector<LValue> offsets(space.accesses.size(), int64(0));
  LValue rest = o;
  for (size_t d = space.sizes.size() - 1; d-- > 0;) { // the last is the inner loop's
    LValue size = int64(space.sizes[d]);
    LValue index = d == 0 ? rest : b_.CreateURem(rest, size);
    for (size_t v = 0; v < offsets.size(); ++v)
      if (int64_t stride = space.accesses[v].strides[d])
        offsets[v] = b_.CreateNSWAdd(offsets[v], b_.CreateNSWMul(index, int64(stride)));
    if (d) rest = b_.CreateUDiv(rest, size);
  }
  return offsets;
}

void KernelEmitter::emit_cell_op(const Op &op) {
  llvm::SmallVector<LValue> operands;
  for (const Value *v : op.operands) operands.push_back(value(v));
  LValue result = op.code == OpCode::dropout ? emit_dropout(unit_, b_, op, operands, position_)
                                             : emit_scalar(unit_, b_, op, operands);
  if (!result)
    throw Refused{op.place(),
                  std::string("`") + spectra::info(op.code).name + "` is not for a kernel's cell"};
  define(op.result(), result);
}

const Op *KernelEmitter::emit_cells() {
  for (const Op *op : kernel_.body->ops) {
    if (op->code == OpCode::yield) return op;
    emit_cell_op(*op);
  }
  throw std::logic_error("a kernel without yield");
}

} // namespace mica::codegen
