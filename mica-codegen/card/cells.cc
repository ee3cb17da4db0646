// A kernel's scalar body for a few cells that follow each other: maps, the epilogues of products, the cells
// of reductions.
#include "device.h"
#include "spectra/ops.h"

namespace mica::codegen {
namespace {

using LValue = llvm::Value *;

/// Bytes that one instruction moves at most.
constexpr int64_t kVectorBytes = 16;
constexpr int64_t kMostCells = 8;

llvm::Type *cell_type(Unit &unit, const Type *type) {
  return type->is_bool() ? unit.i(8) : unit.scalar_type(type->scalar);
}
int64_t cell_bytes(const Type *type) { return spectra::scalar_bytes(type->scalar); }
llvm::Align alignment(const Type *type, int64_t cells) {
  return llvm::Align(static_cast<uint64_t>(std::min(kVectorBytes, cells * cell_bytes(type))));
}

} // namespace

CellGroup::CellGroup(Card &card, const spectra::Kernel &kernel, const std::vector<int64_t> &space,
                     const std::vector<const Type *> &results, bool acc)
    : card_(card), kernel_(kernel), results_(results), acc_(acc) {
  std::vector<std::vector<int64_t>> shapes;
  for (size_t i = 0; i < kernel.params.size(); ++i)
    shapes.push_back(kernel.body->args[i]->type->is_scalar() ? kernel.params[i]->sizes
                                                             : std::vector<int64_t>());
  for (size_t i = 0; i < results.size(); ++i) shapes.push_back(space);
  flat_ = collapse(space, shapes, std::vector<int64_t>(shapes.size(), 1));
  for (int64_t size : space) cells_ *= size;
  int64_t widest = 1;
  for (size_t i = 0; i < kernel.params.size(); ++i)
    if (!is_by_value(kernel, i) && kernel.body->args[i]->type->is_scalar())
      widest = std::max(widest, cell_bytes(kernel.params[i]));
  for (const Type *type : results) widest = std::max(widest, cell_bytes(type));
  width_ = std::min(kMostCells, kVectorBytes / std::min(widest, kVectorBytes));
  // A group stays within a row of the innermost dimension.
  if (flat_.sizes.size() > 1)
    while (width_ > 1 && flat_.inner() % width_) width_ /= 2;
  if (cells_ < width_ || !card.aligned) width_ = 1;
}

/// Where cell width*group lies in each value, in cells.
std::vector<LValue> CellGroup::offsets(Builder &b, LValue group, int64_t count) {
  auto int64 = [&](int64_t v) { return b.getInt64(static_cast<uint64_t>(v)); };
  std::vector<LValue> out(flat_.accesses.size(), int64(0));
  auto add = [&](size_t dimension, LValue index) {
    for (size_t v = 0; v < out.size(); ++v)
      if (int64_t stride = flat_.accesses[v].strides[dimension])
        out[v] = b.CreateNSWAdd(out[v], stride == 1 ? index : b.CreateNSWMul(index, int64(stride)));
  };
  size_t last = flat_.sizes.size() - 1;
  if (last == 0) {
    add(0, b.CreateNSWMul(group, int64(count)));
    return out;
  }
  // Divisions are by constants; in 32 bits where the numbers allow it.
  bool narrow = cells_ < (int64_t{1} << 31);
  LValue rest = narrow ? b.CreateTrunc(group, b.getInt32Ty()) : group;
  for (size_t d = last + 1; d-- > 0;) {
    int64_t size = d == last ? flat_.sizes[d] / count : flat_.sizes[d];
    LValue divisor = llvm::ConstantInt::get(rest->getType(), static_cast<uint64_t>(size));
    LValue index = d == 0 ? rest : b.CreateURem(rest, divisor);
    if (d) rest = b.CreateUDiv(rest, divisor);
    LValue wide = b.CreateZExt(index, b.getInt64Ty());
    if (d == last && count != 1) wide = b.CreateNSWMul(wide, int64(count));
    add(d, wide);
  }
  return out;
}

LValue CellGroup::cell_address(Builder &b, LValue base, LValue at, const Type *type, size_t v, int64_t i) {
  if (int64_t step = flat_.accesses[v].strides.back() * i)
    at = b.CreateNSWAdd(at, b.getInt64(static_cast<uint64_t>(step)));
  return b.CreateInBoundsGEP(cell_type(card_.device, type), base, at);
}

/// Whether value `v`'s cells of a group lie side by side, aligned as a whole.
bool CellGroup::is_vector(size_t v, int64_t count) const {
  const std::vector<int64_t> &strides = flat_.accesses[v].strides;
  if (count == 1 || strides.back() != 1) return false;
  return std::all_of(strides.begin(), strides.end() - 1, [&](int64_t s) { return s % count == 0; });
}

std::vector<std::vector<LValue>> CellGroup::compute(Builder &b, llvm::ArrayRef<LValue> arguments,
                                                    LValue group, int64_t count, llvm::ArrayRef<LValue> acc,
                                                    CardFunction *failing) {
  return compute_at(b, arguments, offsets(b, group, count), group, count, acc, failing);
}

std::vector<std::vector<LValue>> CellGroup::compute_at(Builder &b, llvm::ArrayRef<LValue> arguments,
                                                       const std::vector<LValue> &at, LValue group,
                                                       int64_t count, llvm::ArrayRef<LValue> acc,
                                                       CardFunction *failing) {
  Unit &unit = card_.device;
  size_t params = kernel_.params.size();
  size_t cells = static_cast<size_t>(count);
  auto address = [&](const Type *type, size_t v, int64_t i) {
    return cell_address(b, arguments[v], at[v], type, v, i);
  };

  // All loads stand before the first store: a result may be written in place of a parameter.
  std::vector<std::vector<LValue>> loaded(params);
  for (size_t p = 0; p < params; ++p) {
    const Type *type = kernel_.body->args[p]->type;
    if (!type->is_scalar() && !is_by_value(kernel_, p)) continue; // a product's operands are no cells
    llvm::Type *t = cell_type(unit, type);
    auto as_value = [&](LValue v) { return type->is_bool() ? b.CreateTrunc(v, b.getInt1Ty()) : v; };
    if (is_by_value(kernel_, p)) {
      loaded[p].assign(cells, arguments[p]);
    } else if (is_vector(p, count)) {
      llvm::Type *vector = llvm::FixedVectorType::get(t, static_cast<unsigned>(count));
      LValue all = b.CreateAlignedLoad(vector, address(type, p, 0), alignment(type, count));
      for (size_t i = 0; i < cells; ++i) loaded[p].push_back(as_value(b.CreateExtractElement(all, i)));
    } else if (flat_.accesses[p].strides.back() == 0) {
      loaded[p].assign(cells, as_value(b.CreateAlignedLoad(t, address(type, p, 0), alignment(type, 1))));
    } else {
      for (size_t i = 0; i < cells; ++i)
        loaded[p].push_back(
            as_value(b.CreateAlignedLoad(t, address(type, p, static_cast<int64_t>(i)), alignment(type, 1))));
    }
  }

  std::vector<std::vector<LValue>> yielded(kernel_.body->ops.back()->operands.size());
  unit.values.resize(unit.spectra.value_count, nullptr);
  for (size_t i = 0; i < cells; ++i) {
    if (failing)
      failing->failing_cell(b.CreateNSWAdd(b.CreateNSWMul(group, b.getInt64(cells)), b.getInt64(i)));
    for (size_t p = 0; p < params; ++p)
      if (!loaded[p].empty()) unit.values[kernel_.body->args[p]->number] = loaded[p][i];
    if (acc_) unit.values[kernel_.body->args[params]->number] = acc[i];
    for (const Op *op : kernel_.body->ops) {
      llvm::SmallVector<LValue> operands;
      for (const Value *v : op->operands) operands.push_back(unit.values[v->number]);
      if (op->code == OpCode::yield) {
        for (size_t r = 0; r < yielded.size(); ++r) yielded[r].push_back(operands[r]);
        break;
      }
      LValue result = nullptr;
      if (op->code == OpCode::dropout) {
        LValue position = b.CreateNSWAdd(b.CreateNSWMul(group, b.getInt64(cells)), b.getInt64(i));
        result = emit_dropout(unit, b, *op, operands, position);
      } else {
        result = emit_scalar(unit, b, *op, operands);
      }
      if (!result)
        throw std::logic_error(std::string("no lowering of `") + spectra::info(op->code).name +
                               "` in a kernel's cell on the card");
      unit.values[op->result()->number] = result;
    }
  }

  return yielded;
}

void CellGroup::emit(Builder &b, llvm::ArrayRef<LValue> arguments, LValue group, int64_t count,
                     llvm::ArrayRef<LValue> acc, CardFunction *failing) {
  Unit &unit = card_.device;
  size_t params = kernel_.params.size();
  std::vector<LValue> at = offsets(b, group, count);
  std::vector<std::vector<LValue>> yielded = compute_at(b, arguments, at, group, count, acc, failing);
  auto address = [&](const Type *type, size_t v, int64_t i) {
    return cell_address(b, arguments[v], at[v], type, v, i);
  };
  for (size_t r = 0; r < results_.size(); ++r) {
    const Type *type = results_[r];
    if (type->is_bool())
      for (LValue &v : yielded[r]) v = b.CreateZExt(v, b.getInt8Ty());
    if (!is_vector(params + r, count)) {
      for (size_t i = 0; i < static_cast<size_t>(count); ++i)
        b.CreateAlignedStore(yielded[r][i], address(type, params + r, static_cast<int64_t>(i)),
                             alignment(type, 1));
      continue;
    }
    LValue all = llvm::PoisonValue::get(
        llvm::FixedVectorType::get(cell_type(unit, type), static_cast<unsigned>(count)));
    for (size_t i = 0; i < static_cast<size_t>(count); ++i)
      all = b.CreateInsertElement(all, yielded[r][i], i);
    b.CreateAlignedStore(all, address(type, params + r, 0), alignment(type, count));
  }
}

} // namespace mica::codegen
