// `run`: whole-value work that is no kernel form on the processor. The operands are those of the operation of
// that name, with pointers for whole values, then pointers to the results (README.md lists them).
#include "codegen.h"
#include "kernel.h"
#include "spectra/ops.h"

#include <cmath>

namespace mica::codegen {
namespace {

using LValue = llvm::Value *;
using spectra::Attr;

class Run {
public:
  Run(Unit &unit, Builder &b, const Op &op, llvm::ArrayRef<LValue> v) : unit_(unit), b_(b), op_(op), v_(v) {}

  void emit() {
    std::string name = op_.text(Attr::name);
    if (name == "gather") return gather();
    if (name == "scatter_rows") return scatter_rows();
    if (name == "transpose" || name == "permute") return permute(name);
    if (name == "concat") return concat();
    if (name == "slice" || name == "slice_rows" || name == "row") return slice(name);
    if (name == "put") return put();
    if (name == "normal" || name == "uniform") return fill(name);
    if (name == "attention" || name == "attention_gradient") return attention(name == "attention");
    if (name == "norm" || name == "joint_norm") return norm();
    if (name == "check_targets") return check_targets();
    if (name == "adamw_scalars") return adamw_scalars();
    throw Refused{op_.place(), "`run` has no routine named `" + name + "`"};
  }

private:
  LValue int64(int64_t x) { return b_.getInt64(static_cast<uint64_t>(x)); }
  LValue int32(int64_t x) { return b_.getInt32(static_cast<uint32_t>(x)); }
  const Type *type(size_t i) const {
    const Type *t = op_.operands[i]->type;
    return t->kind == TypeKind::pointer ? t->element : t;
  }
  LValue call(const char *name, llvm::Type *result, std::vector<LValue> arguments, bool place = false) {
    if (place) {
      auto [file, line] = place_arguments(unit_, op_.place());
      arguments.insert(arguments.begin(), {file, line});
    }
    std::vector<llvm::Type *> types;
    for (LValue v : arguments) types.push_back(v->getType());
    return b_.CreateCall(unit_.runtime(name, result, types), arguments);
  }
  static int64_t bytes(const Type *t) { return spectra::scalar_bytes(t->scalar); }
  LValue index(size_t i) {
    return b_.CreateIntCast(v_[i], b_.getInt64Ty(), op_.operands[i]->type->is_signed());
  }

  void gather() {
    call("mica_gather", b_.getVoidTy(),
         {int32(runtime_type(type(0))), v_[0], int64(type(0)->sizes[0]), int64(type(0)->columns()),
          int32(runtime_type(type(1))), v_[1], int64(type(1)->cells()), v_[2]},
         true);
  }
  void scatter_rows() {
    call("mica_gather_gradient", b_.getVoidTy(),
         {int32(runtime_type(type(0))), v_[0], int32(runtime_type(type(1))), v_[1], int64(type(1)->cells()),
          int64(type(2)->columns()), v_[2], int64(type(2)->sizes[0])});
  }

  /// for each cell of the result, in order, the source's cell: strides of the source by the result's
  /// dimensions.
  void permute(const std::string &name) {
    const Type *from = type(0);
    std::vector<int64_t> order;
    if (name == "permute")
      order = *op_.integers(Attr::order);
    else {
      for (int64_t d = 0; d < from->rank(); ++d) order.push_back(d);
      std::swap(order[order.size() - 1], order[order.size() - 2]);
    }
    std::vector<int64_t> strides(from->sizes.size(), 1);
    for (size_t d = from->sizes.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * from->sizes[d + 1];
    std::vector<int64_t> steps;
    for (int64_t d : order) steps.push_back(strides[static_cast<size_t>(d)]);
    call("mica_permute", b_.getVoidTy(),
         {v_[1], v_[0], int64(bytes(from)), int64(from->rank()), unit_.int64s(type(1)->sizes),
          unit_.int64s(steps)});
  }

  /// rows of `width` bytes from (source + i * source_step) to (target + i * target_step).
  void copy_rows(LValue target, int64_t target_step, LValue source, int64_t source_step, int64_t width,
                 int64_t rows) {
    call("mica_copy_rows", b_.getVoidTy(),
         {target, int64(target_step), source, int64(source_step), int64(width), int64(rows)});
  }
  LValue offset(LValue base, LValue by) { return b_.CreateInBoundsGEP(b_.getInt8Ty(), base, by); }

  void concat() {
    size_t last = op_.operands.size() - 1;
    int64_t step = type(last)->columns() * bytes(type(last));
    int64_t at = 0;
    for (size_t i = 0; i < last; ++i) {
      int64_t width = type(i)->columns() * bytes(type(i));
      copy_rows(offset(v_[last], int64(at)), step, v_[i], width, width, type(last)->rows());
      at += width;
    }
  }

  void check_from(LValue from, int64_t size, int64_t count) {
    emit_check_from(unit_, b_, op_.place(), from, size, count);
  }

  void slice(const std::string &name) { // x, from, result
    const Type *x = type(0);
    const Type *y = type(2);
    LValue from = index(1);
    if (name == "slice") {
      check_from(from, x->columns(), y->columns());
      copy_rows(v_[2], y->columns() * bytes(y), offset(v_[0], b_.CreateMul(from, int64(bytes(x)))),
                x->columns() * bytes(x), y->columns() * bytes(y), y->rows());
      return;
    }
    int64_t count = name == "row" ? 1 : y->sizes[0];
    check_from(from, x->sizes[0], count);
    int64_t row = bytes(x);
    for (size_t d = 1; d < x->sizes.size(); ++d) row *= x->sizes[d];
    copy_rows(v_[2], row * count, offset(v_[0], b_.CreateMul(from, int64(row))), row * count, row * count, 1);
  }

  void put() { // dx, from, result
    const Type *x = type(0);
    const Type *y = type(2);
    LValue from = index(1);
    b_.CreateMemSet(v_[2], b_.getInt8(0), static_cast<uint64_t>(y->cells() * bytes(y)), llvm::Align(8));
    if (op_.flag(Attr::rows)) {
      int64_t row = bytes(y);
      for (size_t d = 1; d < y->sizes.size(); ++d) row *= y->sizes[d];
      check_from(from, y->sizes[0], row ? x->cells() * bytes(x) / row : 0);
      copy_rows(offset(v_[2], b_.CreateMul(from, int64(row))), 0, v_[0], 0, x->cells() * bytes(x), 1);
      return;
    }
    check_from(from, y->columns(), x->columns());
    copy_rows(offset(v_[2], b_.CreateMul(from, int64(bytes(y)))), y->columns() * bytes(y), v_[0],
              x->columns() * bytes(x), x->columns() * bytes(x), x->rows());
  }

  void fill(const std::string &name) { // two scalars, the draw, the result
    LValue a = b_.CreateFPExt(widen_half(b_, v_[0], type(0)), b_.getDoubleTy());
    LValue c = b_.CreateFPExt(widen_half(b_, v_[1], type(1)), b_.getDoubleTy());
    call(name == "normal" ? "mica_fill_normal" : "mica_fill_uniform", b_.getVoidTy(),
         {int32(runtime_type(type(3))), v_[3], int64(type(3)->cells()), a, c, b_.CreateExtractValue(v_[2], 0),
          b_.CreateExtractValue(v_[2], 1)});
  }

  /// The call's record on the stack: q, k, v (or all three side by side), a probability and a draw where it
  /// drops, then the results; the gradient has dy, y and the rows' numbers in front.
  void attention(bool forward) {
    std::vector<size_t> pointers;
    LValue chance = llvm::ConstantFP::get(b_.getDoubleTy(), 0), key = int64(0), counter = int64(0);
    for (size_t i = 0; i < op_.operands.size(); ++i) {
      if (op_.operands[i]->type->kind == TypeKind::pointer) {
        pointers.push_back(i);
      } else if (op_.operands[i]->type->kind == TypeKind::draw) {
        key = b_.CreateExtractValue(v_[i], 0);
        counter = b_.CreateExtractValue(v_[i], 1);
      } else {
        chance = v_[i];
      }
    }
    size_t first = forward ? 0 : 3;
    bool packed = pointers.size() - first < 4;
    size_t inputs = packed ? 1 : 3, last = first + inputs;
    const Type *q = type(pointers[first]), *k = type(pointers[packed ? first : first + 1]);
    int64_t heads = op_.integer(Attr::heads), columns = q->columns() / (packed ? 3 : 1);
    auto rows = [](const Type *t) { return t->sizes[t->sizes.size() - 2]; };
    int64_t batch = 1;
    for (size_t d = 0; d + 2 < q->sizes.size(); ++d) batch *= q->sizes[d];
    LValue null = llvm::ConstantPointerNull::get(unit_.pointer());
    auto pointer = [&](size_t i) { return i < pointers.size() ? v_[pointers[i]] : null; };
    auto part = [&](size_t from, size_t i) -> LValue { // of q, k, v or their gradients
      if (!packed) return pointer(from + i);
      return offset(pointer(from), int64(static_cast<int64_t>(i) * columns * bytes(q)));
    };
    LValue row = int64(packed ? 3 * columns : columns);
    std::vector<LValue> words;
    for (size_t i = 0; i < 3; ++i) words.push_back(part(first, i));
    words.push_back(forward ? pointer(last) : pointer(1));     // y
    words.push_back(forward ? pointer(last + 1) : pointer(2)); // the rows' numbers
    words.push_back(forward ? null : pointer(0));              // dy
    for (size_t i = 0; i < 3; ++i) words.push_back(forward ? null : part(last, i));
    for (int64_t n : {batch, heads, rows(q), rows(k), columns / heads}) words.push_back(int64(n));
    for (LValue w : {row, row, row, int64(columns), row, row, row}) words.push_back(w);
    for (LValue w : {chance, key, counter}) words.push_back(w);
    words.push_back(int64(runtime_type(q) | static_cast<int64_t>(op_.flag(Attr::causal)) << 32));
    llvm::BasicBlock &entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
    Builder at_entry(&entry, entry.begin());
    LValue record = at_entry.CreateAlloca(b_.getInt64Ty(), at_entry.getInt64(words.size()), "attention");
    for (size_t i = 0; i < words.size(); ++i)
      b_.CreateStore(words[i], b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), record, i));
    call(forward ? "mica_attention" : "mica_attention_gradient", b_.getVoidTy(), {record});
  }

  void norm() { // whole values, then a pointer to the norm
    size_t count = op_.operands.size() - 1;
    llvm::BasicBlock &entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
    Builder at_entry(&entry, entry.begin());
    LValue table = at_entry.CreateAlloca(unit_.pointer(), at_entry.getInt64(count), "tensors");
    std::vector<int64_t> cells;
    for (size_t i = 0; i < count; ++i) {
      b_.CreateStore(v_[i], b_.CreateConstInBoundsGEP1_64(unit_.pointer(), table, i));
      cells.push_back(type(i)->cells());
    }
    LValue norm =
        call("mica_norm", b_.getDoubleTy(),
             {int32(runtime_type(type(0))), int64(static_cast<int64_t>(count)), table, unit_.int64s(cells)});
    const Type *target = type(count);
    if (target->scalar != Scalar::f64) norm = b_.CreateFPTrunc(norm, b_.getFloatTy()); // it is one already
    b_.CreateStore(narrow_half(unit_, b_, norm, target), v_[count]);
  }

  void check_targets() {
    call("mica_check_targets", b_.getVoidTy(),
         {int32(runtime_type(type(0))), v_[0], int64(type(0)->cells()), int64(op_.integer(Attr::classes))},
         true);
  }

  void adamw_scalars() { // step, alpha, beta1, beta2, decay as float64; a pointer to five scalars of the
                         // cell's type
    const Type *target = type(5);
    while (target->kind == TypeKind::array) target = target->element;
    LValue step = index(0);
    call(target->scalar == Scalar::f64 ? "mica_adamw_f64" : "mica_adamw_f32", b_.getVoidTy(),
         {step, v_[1], v_[2], v_[3], v_[4], v_[5]});
  }

  Unit &unit_;
  Builder &b_;
  const Op &op_;
  llvm::ArrayRef<LValue> v_;
};

} // namespace

void emit_check_from(Unit &unit, Builder &b, Place place, LValue from, int64_t size, int64_t count) {
  auto int64 = [&](int64_t x) { return b.getInt64(static_cast<uint64_t>(x)); };
  LValue outside = b.CreateOr(b.CreateICmpSLT(from, int64(0)), b.CreateICmpSGT(from, int64(size - count)));
  emit_failure(unit, b, outside, "outside", [&](Builder &fail) {
    auto [file, line] = place_arguments(unit, place);
    fail.CreateCall(unit.runtime("mica_fail_index", fail.getVoidTy(),
                                 {unit.pointer(), unit.i(32), unit.i(64), unit.i(64), unit.i(64)}),
                    {file, line, from, int64(0), int64(size - count)});
  });
}

void emit_run(Unit &unit, Builder &b, const Op &op, llvm::ArrayRef<LValue> operands) {
  Run(unit, b, op, operands).emit();
}

} // namespace mica::codegen
