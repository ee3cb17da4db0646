// Dropout of one cell, in kernels of the processor and of the card.
#include "unit.h"

namespace mica::codegen {

/// numerics.md 9: dropped where the 16-bit draw of the cell's row and column is below p * 65536, else times
/// 1 / (1 - p), computed in float64 and rounded once. `position`: which cell of all it is, row by row.
llvm::Value *emit_dropout(Unit &unit, Builder &b, const Op &op, llvm::ArrayRef<llvm::Value *> operands,
                          llvm::Value *position) {
  llvm::Value *p = operands[1], *draw = operands[2];
  llvm::Value *columns = b.getInt64(static_cast<uint64_t>(op.integer(spectra::Attr::columns, 1)));
  llvm::Value *row = b.CreateUDiv(position, columns), *column = b.CreateURem(position, columns);
  llvm::Type *i32 = b.getInt32Ty(), *i64 = b.getInt64Ty(), *f64 = b.getDoubleTy();
  llvm::FunctionCallee cell = unit.runtime("mica_draw16_cell", i32, {i64, i64, i32, i64, i64});
  llvm::Value *drawn = b.CreateCall(
      cell, {b.CreateExtractValue(draw, 0), b.CreateExtractValue(draw, 1), b.getInt32(0), row, column});
  auto number = [&](double v) { return llvm::ConstantFP::get(f64, v); };
  llvm::Value *half_up = b.CreateFAdd(b.CreateFMul(p, number(65536)), number(0.5));
  llvm::Value *threshold = b.CreateFPToUI(half_up, i32); // truncation is the floor: p is not negative
  llvm::Value *factor = b.CreateFDiv(number(1), b.CreateFSub(number(1), p));
  llvm::Type *type = unit.scalar_type(op.result()->type->scalar);
  if (type != f64) factor = b.CreateFPTrunc(factor, type);
  llvm::Value *kept = b.CreateFMul(operands[0], factor);
  return b.CreateSelect(b.CreateICmpULT(drawn, threshold), llvm::Constant::getNullValue(type), kept);
}

} // namespace mica::codegen
