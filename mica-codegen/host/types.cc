// Types as LLVM sees them, and their numbers in libmicart.
#include "unit.h"

namespace mica::codegen {

// Note [bfloat16]: x86-64 without AVX512-BF16 converts LLVM's `bfloat` by calls that libgcc 12 lacks, and
// vcvtneps2bf16 flushes subnormals. A bfloat16 is its 16 bits here, widened by a shift and rounded by the
// math library's few integer instructions, which vectorize.
llvm::Type *Unit::scalar_type(Scalar scalar) {
  switch (scalar) {
  case Scalar::boolean: return i(1);
  case Scalar::f16: return llvm::Type::getHalfTy(context);
  case Scalar::bf16: return i(16);
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

} // namespace mica::codegen
