// Types as LLVM sees them, and as a debugger does.
#include "unit.h"

namespace mica::codegen {

llvm::Type *Unit::scalar_type(Scalar scalar) {
  switch (scalar) {
  case Scalar::boolean: return i(1);
  case Scalar::f16: return llvm::Type::getHalfTy(context);
  case Scalar::bf16: return llvm::Type::getBFloatTy(context);
  case Scalar::f32: return llvm::Type::getFloatTy(context);
  case Scalar::f64: return llvm::Type::getDoubleTy(context);
  default: return i(static_cast<unsigned>(spectra::scalar_bytes(scalar)) * 8);
  }
}

llvm::Type *Unit::pair() { return llvm::StructType::get(context, {pointer(), i(64)}); }

llvm::Type *Unit::type_of(const Type *type) {
  switch (type->kind) {
  case TypeKind::scalar: return type->gpu ? pointer() : scalar_type(type->scalar);
  case TypeKind::string:
  case TypeKind::slice: return pair();
  case TypeKind::function: return llvm::StructType::get(context, {pointer(), pointer()});
  case TypeKind::random:
  case TypeKind::draw: return llvm::StructType::get(context, {i(64), i(64)});
  default: return pointer();
  }
}

llvm::Type *Unit::memory_type(const Type *type) {
  if (type->is_scalar() && type->is_bool() && !type->gpu) return i(8);
  return type_of(type);
}

int runtime_type(const Type *type) {
  switch (type->kind) {
  case TypeKind::string: return 17;
  case TypeKind::random: return 20;
  case TypeKind::pointer: return 19;
  default: break;
  }
  switch (type->scalar) { // enum mica_type
  case Scalar::boolean: return 1;
  case Scalar::i8: return 2;
  case Scalar::i16: return 3;
  case Scalar::i32: return 4;
  case Scalar::i64: return 5;
  case Scalar::i128: return 6;
  case Scalar::u8: return 7;
  case Scalar::u16: return 8;
  case Scalar::u32: return 9;
  case Scalar::u64: return 10;
  case Scalar::u128: return 11;
  case Scalar::f16: return 12;
  case Scalar::bf16: return 13;
  case Scalar::f32: return 14;
  case Scalar::f64: return 15;
  case Scalar::unicode: return 16;
  }
  return 0;
}

llvm::DIType *Unit::debug_type(const Type *type) {
  using namespace llvm::dwarf;
  uint64_t bits = static_cast<uint64_t>(spectra::size_of(type)) * 8;
  switch (type->kind) {
  case TypeKind::scalar: {
    unsigned encoding = type->is_float()                  ? DW_ATE_float
                        : type->is_bool()                 ? DW_ATE_boolean
                        : type->scalar == Scalar::unicode ? DW_ATE_UTF
                        : type->is_signed()               ? DW_ATE_signed
                                                          : DW_ATE_unsigned;
    return debug->createBasicType(spectra::to_source(type), bits, encoding);
  }
  case TypeKind::whole: {
    llvm::SmallVector<llvm::Metadata *> ranges;
    for (int64_t size : type->sizes) ranges.push_back(debug->getOrCreateSubrange(0, size));
    Type cell = *type;
    cell.kind = TypeKind::scalar;
    cell.sizes.clear();
    return debug->createArrayType(bits, 512, debug_type(&cell), debug->getOrCreateArray(ranges));
  }
  case TypeKind::array: {
    llvm::Metadata *range = debug->getOrCreateSubrange(type->low, type->high - type->low + 1);
    return debug->createArrayType(bits, 0, debug_type(type->element), debug->getOrCreateArray({range}));
  }
  default: return debug->createBasicType(spectra::to_source(type), bits ? bits : 64, DW_ATE_unsigned);
  }
}

} // namespace mica::codegen
