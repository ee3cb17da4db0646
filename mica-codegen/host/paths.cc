// Places in memory: a base and steps become an address. Offsets are those of SPECTRA.md "Memory".
#include "function.h"

namespace mica::codegen {

/// The type at the path's end.
const Type *FunctionEmitter::path_end(const Op &op) const {
  if (op.code == OpCode::read) return op.result()->type;
  if (op.code == OpCode::write) return op.arg(0)->type;
  return spectra::path_type(unit_.spectra, &func_, op);
}

FunctionEmitter::LValue FunctionEmitter::path_address(const Op &op) {
  const spectra::Path &path = *op.path;
  LValue base = nullptr;
  const Type *type = nullptr;
  switch (path.base) {
  case spectra::Path::Base::global:
    base = unit_.variable(path.symbol);
    type = unit_.spectra.find_variable(path.symbol)->type;
    break;
  case spectra::Path::Base::local:
    base = locals_[path.symbol];
    for (const spectra::Variable &v : func_.locals)
      if (v.name == path.symbol) type = v.type;
    break;
  default:
    base = value(op.operands[0]);
    type = op.operands[0]->type;
    if (type->kind == TypeKind::slice)
      base = first(base);
    else
      type = type->element;
  }
  // What lives on the card is reached through its slot; a pointer to it is its address already.
  bool in_slot = path.base != spectra::Path::Base::pointer || !path.steps.empty();
  if (path.base == spectra::Path::Base::pointer && op.operands[0]->type->kind == TypeKind::pointer &&
      type->is_device_or_whole() && type->gpu)
    in_slot = false;
  int64_t offset = 0;
  auto flush = [&] {
    if (offset) base = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, static_cast<uint64_t>(offset));
    offset = 0;
  };
  auto enter_card = [&] {
    if (!in_slot || !type->is_device_or_whole() || !type->gpu) return;
    flush();
    base = load(type, base);
    in_slot = false;
  };
  for (const spectra::Path::Step &step : path.steps) {
    enter_card();
    if (step.kind == spectra::Path::Step::Kind::field) {
      offset += spectra::field_offset(type->record, static_cast<int>(step.index));
      type = type->record->fields[static_cast<size_t>(step.index)].type;
      continue;
    }
    int64_t low = type->kind == TypeKind::array ? type->low : 0;
    int64_t stride = 0;
    if (type->is_whole()) { // a leading dimension: cells lie dense
      stride = spectra::scalar_bytes(type->scalar);
      std::vector<int64_t> rest(type->sizes.begin() + 1, type->sizes.end());
      for (int64_t size : rest) stride *= size;
      type = unit_.spectra.types.with_sizes(type, rest);
    } else {
      type = type->element;
      stride = spectra::size_of(type);
    }
    if (step.kind == spectra::Path::Step::Kind::constant) {
      offset += (step.index - low) * stride;
      continue;
    }
    const Value *index = op.operands[static_cast<size_t>(step.index)];
    LValue i = int64(value(index), index->type);
    // The lower bound goes into the constant offset, so that the index itself stays a plain multiple.
    offset -= low * stride;
    flush();
    base = stride && (stride & (stride - 1)) == 0 && stride <= 8
               ? b_.CreateInBoundsGEP(unit_.i(static_cast<unsigned>(stride) * 8), base, i)
               : b_.CreateInBoundsGEP(llvm::ArrayType::get(b_.getInt8Ty(), static_cast<uint64_t>(stride)),
                                      base, i);
  }
  enter_card();
  flush();
  return base;
}

/// Says what kind of value an access moves. Places of different kinds never share memory: a pointer's type
/// is never changed. So a store of a number leaves the pointers that a loop has read as they are.
void FunctionEmitter::tag(llvm::Instruction *access, const char *what) {
  if (!unit_.spectra.options.optimizes()) return;
  llvm::MDNode *&node = unit_.access_kinds[what];
  if (!node) {
    llvm::MDBuilder build(unit_.context);
    llvm::MDNode *kind = build.createTBAAScalarTypeNode(what, build.createTBAARoot("Mica"));
    node = build.createTBAAStructTagNode(kind, kind, 0);
  }
  access->setMetadata(llvm::LLVMContext::MD_tbaa, node);
}

namespace {

const char *kind_of(llvm::Type *word, const Type *type) {
  if (word->isPointerTy()) return "pointer";
  if (type->kind == TypeKind::scalar) return spectra::scalar_name(type->scalar);
  return "word"; // a length, a key, a counter
}

} // namespace

FunctionEmitter::LValue FunctionEmitter::load(const Type *type, LValue address) {
  llvm::Align align(static_cast<uint64_t>(std::min<int64_t>(spectra::align_of(type), 8)));
  auto one = [&](llvm::Type *t, LValue from) {
    llvm::LoadInst *load = b_.CreateAlignedLoad(t, from, align);
    tag(load, kind_of(t, type));
    return load;
  };
  if (type->is_scalar() && type->is_bool() && !type->gpu)
    return b_.CreateTrunc(one(b_.getInt8Ty(), address), b_.getInt1Ty());
  llvm::Type *t = unit_.type_of(type);
  llvm::StructType *pair = llvm::dyn_cast<llvm::StructType>(t);
  if (!pair) return one(t, address);
  LValue out = llvm::PoisonValue::get(pair); // two words, each loaded as itself
  for (unsigned i = 0; i < 2; ++i) {
    LValue at = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), address, 8 * i);
    out = b_.CreateInsertValue(out, one(pair->getElementType(i), at), i);
  }
  return out;
}

void FunctionEmitter::store(const Type *type, LValue v, LValue address) {
  llvm::Align align(static_cast<uint64_t>(std::min<int64_t>(spectra::align_of(type), 8)));
  auto one = [&](LValue what, LValue to) {
    llvm::StoreInst *store = b_.CreateAlignedStore(what, to, align);
    tag(store, kind_of(what->getType(), type));
  };
  if (type->is_scalar() && type->is_bool() && !type->gpu)
    return one(b_.CreateZExt(v, b_.getInt8Ty()), address);
  if (!v->getType()->isStructTy()) return one(v, address);
  for (unsigned i = 0; i < 2; ++i)
    one(b_.CreateExtractValue(v, i), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), address, 8 * i));
}

} // namespace mica::codegen
