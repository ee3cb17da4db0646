// `run` on the card: routines of libmicart/device, kernels of their own whose sizes are arguments. The
// operands are those of the operation of that name, with pointers for whole values, then pointers to the
// results.
#include "card.h"
#include "device.h"

namespace mica::codegen {
namespace {

using LValue = llvm::Value *;
using spectra::Attr;

constexpr int64_t kVectorBytes = 16;
constexpr int64_t kTile = 32;         ///< a transposition's (libmicart/device/layout.cc)
constexpr size_t kMostDimensions = 8; ///< of a permutation

class CardRun {
public:
  CardRun(Unit &unit, Builder &b, const Op &op, llvm::ArrayRef<LValue> v)
      : unit_(unit), b_(b), op_(op), v_(v) {}

  void emit() {
    std::string name = op_.text(Attr::name);
    if (name == "normal" || name == "uniform") return fill(name);
    if (name == "transpose" || name == "permute") return permute(name);
    if (name == "concat") return concat();
    if (name == "slice" || name == "slice_rows" || name == "row") return slice(name);
    if (name == "put") return put();
    if (name == "gather") return gather();
    if (name == "scatter_rows") return scatter_rows();
    if (name == "norm" || name == "joint_norm") return norm();
    if (name == "check_targets") return check_targets();
    if (name == "adamw_scalars") return adamw_scalars();
    if (name == "attention" || name == "attention_gradient") return attention(name == "attention");
    throw std::logic_error("a routine that lower_card_kernels should have refused: " + name);
  }

private:
  LValue int64(int64_t x) { return b_.getInt64(static_cast<uint64_t>(x)); }
  const Type *type(size_t i) const {
    const Type *t = op_.operands[i]->type;
    return t->kind == TypeKind::pointer ? t->element : t;
  }
  static int64_t bytes(const Type *t) { return spectra::scalar_bytes(t->scalar); }
  static std::string cell(const Type *t) { return spectra::scalar_name(t->scalar); }

  void launch(const std::string &symbol, int64_t threads, std::vector<LValue> arguments, bool fails = false) {
    if (threads <= 0) return;
    CardEntry entry = card_routine(unit_, symbol, op_, fails);
    entry.threads = kBlockThreads;
    entry.blocks = (threads + kBlockThreads - 1) / kBlockThreads;
    emit_card_launch(unit_, b_, op_.place(), entry, arguments, fails);
  }

  void fill(const std::string &name) { // two scalars, the draw, the result
    const Type *target = type(3);
    LValue first = b_.CreateFPExt(v_[0], b_.getDoubleTy()), second = b_.CreateFPExt(v_[1], b_.getDoubleTy());
    int64_t together = kVectorBytes / bytes(target);
    launch("mica_" + name + "_" + cell(target), (target->cells() + together - 1) / together,
           {v_[3], int64(target->cells()), first, second, b_.CreateExtractValue(v_[2], 0),
            b_.CreateExtractValue(v_[2], 1)});
  }

  LValue index(size_t i) {
    return b_.CreateIntCast(v_[i], b_.getInt64Ty(), op_.operands[i]->type->is_signed());
  }
  LValue offset(LValue base, LValue by) { return b_.CreateInBoundsGEP(b_.getInt8Ty(), base, by); }
  LValue call(const char *name, std::vector<LValue> arguments, llvm::Type *result = nullptr) {
    auto [file, line] = place_arguments(unit_, op_.place());
    arguments.insert(arguments.begin(), {file, line});
    std::vector<llvm::Type *> types;
    for (LValue v : arguments) types.push_back(v->getType());
    return b_.CreateCall(unit_.runtime(name, result ? result : b_.getVoidTy(), types), arguments);
  }

  /// rows of `width` bytes from (source + i * source_step) to (target + i * target_step); `at`: the largest
  /// power of two that divides where they begin.
  void copy_rows(LValue target, int64_t target_step, LValue source, int64_t source_step, int64_t width,
                 int64_t rows, int64_t at) {
    int64_t all = width | target_step | source_step | at;
    if (unit_.card->aligned)
      all |= kVectorBytes;
    else
      all |= bytes(type(0));
    int64_t unit = std::min(kVectorBytes, all & -all);
    if (!width || !rows) return;
    launch("mica_copy_rows_" + std::to_string(unit), width / unit * rows,
           {target, int64(target_step / unit), source, int64(source_step / unit), int64(width / unit),
            int64(width / unit * rows)});
  }

  void concat() {
    size_t last = op_.operands.size() - 1;
    int64_t step = type(last)->columns() * bytes(type(last)), at = 0;
    for (size_t i = 0; i < last; ++i) {
      int64_t width = type(i)->columns() * bytes(type(i));
      copy_rows(offset(v_[last], int64(at)), step, v_[i], width, width, type(last)->rows(), at);
      at += width;
    }
  }

  static int64_t row_bytes(const Type *t) { return t->sizes[0] ? t->cells() / t->sizes[0] * bytes(t) : 0; }

  void slice(const std::string &name) { // x, from, result
    const Type *x = type(0), *y = type(2);
    LValue from = index(1);
    if (name == "slice") {
      emit_check_from(unit_, b_, op_.place(), from, x->columns(), y->columns());
      copy_rows(v_[2], y->columns() * bytes(y), offset(v_[0], b_.CreateMul(from, int64(bytes(x)))),
                x->columns() * bytes(x), y->columns() * bytes(y), y->rows(), bytes(x));
      return;
    }
    emit_check_from(unit_, b_, op_.place(), from, x->sizes[0], name == "row" ? 1 : y->sizes[0]);
    call("mica_card_copy",
         {v_[2], offset(v_[0], b_.CreateMul(from, int64(row_bytes(x)))), int64(y->cells() * bytes(y))});
  }

  void put() { // dx, from, result
    const Type *x = type(0), *y = type(2);
    LValue from = index(1);
    call("mica_card_zero", {v_[2], int64(y->cells() * bytes(y))});
    int64_t size = x->cells() * bytes(x);
    if (op_.flag(Attr::rows)) {
      int64_t row = row_bytes(y);
      emit_check_from(unit_, b_, op_.place(), from, y->sizes[0], row ? size / row : 0);
      call("mica_card_copy", {offset(v_[2], b_.CreateMul(from, int64(row))), v_[0], int64(size)});
      return;
    }
    emit_check_from(unit_, b_, op_.place(), from, y->columns(), x->columns());
    copy_rows(offset(v_[2], b_.CreateMul(from, int64(bytes(y)))), y->columns() * bytes(y), v_[0],
              x->columns() * bytes(x), x->columns() * bytes(x), x->rows(), bytes(y));
  }

  LValue line() { return int64(op_.place().line); }

  void gather() { // table, ids, result
    const Type *table = type(0), *ids = type(1);
    int64_t width = table->columns() * bytes(table);
    int64_t all = width | (unit_.card->aligned ? kVectorBytes : bytes(table));
    int64_t unit = std::min(kVectorBytes, all & -all);
    int64_t count = ids->cells() * (width / unit);
    launch("mica_gather_" + std::to_string(unit), count,
           {v_[2], v_[0], v_[1], int64(bytes(ids)), int64(table->sizes[0]), int64(width / unit), int64(count),
            line()},
           true);
  }

  void scatter_rows() { // dy, ids, result
    const Type *dy = type(0), *ids = type(1), *target = type(2);
    call("mica_card_zero", {v_[2], int64(target->cells() * bytes(target))});
    if (!target->cells()) return;
    launch("mica_scatter_rows_" + cell(dy), ids->cells() * kBlockThreads,
           {v_[2], v_[0], v_[1], int64(bytes(ids)), int64(ids->cells()), int64(target->columns()),
            int64(target->sizes[0])});
  }

  /// q, k, v (or all three side by side), a probability and a draw where it drops, then the results; the
  /// gradient has dy, y and the rows' numbers in front.
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
    const size_t first = forward ? 0 : 3;
    const bool packed = pointers.size() - first < 4;
    const size_t last = first + (packed ? 1 : 3);
    const Type *q = type(pointers[first]), *k = type(pointers[packed ? first : first + 1]);
    const int64_t heads = op_.integer(Attr::heads), columns = q->columns() / (packed ? 3 : 1);
    auto rows = [](const Type *t) { return t->sizes[t->sizes.size() - 2]; };
    int64_t batch = 1;
    for (size_t d = 0; d + 2 < q->sizes.size(); ++d) batch *= q->sizes[d];
    auto part = [&](size_t from, int64_t i) -> LValue { // of q, k, v or their gradients
      if (!packed) return v_[pointers[from + static_cast<size_t>(i)]];
      return offset(v_[pointers[from]], int64(i * columns * bytes(q)));
    };
    std::vector<LValue> sizes;
    for (int64_t n : {batch, heads, rows(q), rows(k), columns / heads, packed ? 3 * columns : columns,
                      columns, static_cast<int64_t>(op_.flag(Attr::causal))})
      sizes.push_back(int64(n));
    sizes.insert(sizes.end(), {chance, key, counter});
    auto run = [&](const std::string &name, int64_t count, std::vector<LValue> arguments) {
      arguments.insert(arguments.begin(), {part(first, 0), part(first, 1), part(first, 2)});
      arguments.insert(arguments.end(), sizes.begin(), sizes.end());
      launch("mica_attention" + name + "_" + cell(q), batch * heads * count * 32, arguments); // a warp a row
    };
    // Outside a tape nobody asks for the rows' numbers.
    LValue null = llvm::ConstantPointerNull::get(unit_.pointer());
    if (forward)
      return run("", rows(q),
                 {v_[pointers[last]], pointers.size() > last + 1 ? v_[pointers[last + 1]] : null});
    std::vector<LValue> seen{v_[pointers[1]], v_[pointers[2]], v_[pointers[0]]};
    std::vector<LValue> to_q = seen, to_k = seen;
    to_q.push_back(part(last, 0));
    to_k.insert(to_k.end(), {part(last, 1), part(last, 2)});
    run("_queries", rows(q), to_q);
    run("_keys", rows(k), to_k);
  }

  void norm() { // whole values, then a pointer to the norm
    size_t last = op_.operands.size() - 1;
    std::vector<LValue> table{int64(static_cast<int64_t>(last))};
    int64_t pieces = 0;
    for (size_t i = 0; i < last; ++i) {
      table.insert(table.end(), {int64(pieces), int64(type(i)->cells()), v_[i]});
      pieces += multi_pieces(type(i)->cells());
    }
    LValue words = emit_card_table(unit_, b_, op_.place(), table);
    bool wide = type(last)->scalar == Scalar::f64;
    LValue parts = call("mica_card_scratch", {int64((wide ? 2 : 1) * std::max<int64_t>(pieces, 1) * 8)},
                        unit_.pointer());
    int64_t threads = pieces * kBlockThreads;
    if (wide) {
      launch("mica_norm_greatest_f64", threads, {words, parts});
      launch("mica_norm_parts_f64", threads, {words, parts, int64(pieces)});
      launch("mica_norm_last_f64", 1, {parts, int64(pieces), v_[last]});
    } else {
      launch("mica_norm_parts_f32", threads, {words, parts});
      launch("mica_norm_last_f32", 1, {parts, int64(pieces), v_[last]});
    }
  }

  void check_targets() {
    launch("mica_check_targets_on_card", type(0)->cells(),
           {v_[0], int64(bytes(type(0))), int64(type(0)->cells()), int64(op_.integer(Attr::classes)), line()},
           true);
  }

  /// struct Number of libmicart/device/optimizer.cc, as its four words.
  void number(size_t i, LValue &words, unsigned &at) {
    const Type *t = type(i);
    bool there = op_.operands[i]->type->kind == TypeKind::pointer;
    int64_t kind = !there                     ? 0
                   : t->scalar == Scalar::f32 ? 1
                   : t->scalar == Scalar::f64 ? 2
                   : t->scalar == Scalar::i32 ? 3
                                              : 4;
    LValue zero = int64(0), real = zero, whole = zero;
    if (!there && t->is_float())
      real = b_.CreateBitCast(b_.CreateFPCast(v_[i], b_.getDoubleTy()), b_.getInt64Ty());
    else if (!there)
      whole = index(i);
    for (LValue word : {there ? b_.CreatePtrToInt(v_[i], b_.getInt64Ty()) : zero,
                        static_cast<LValue>(int64(kind)), real, whole})
      words = b_.CreateInsertValue(words, word, at++);
  }

  void adamw_scalars() { // step, alpha, beta1, beta2, decay; a pointer to five scalars of the cell's type
    LValue words = llvm::PoisonValue::get(llvm::ArrayType::get(b_.getInt64Ty(), 20));
    unsigned at = 0;
    for (size_t i = 0; i < 5; ++i) number(i, words, at);
    launch("mica_adamw_scalars_" + cell(type(5)), 1, {v_[5], words});
  }

  void permute(const std::string &name) {
    const Type *from = type(0), *to = type(1);
    std::string size = std::to_string(bytes(from));
    if (!from->cells()) return;
    size_t rank = from->sizes.size();
    std::vector<int64_t> order;
    if (name == "permute") order = *op_.integers(Attr::order);
    bool last_two = name == "transpose";
    if (!last_two && rank >= 2) {
      last_two = order[rank - 1] == static_cast<int64_t>(rank) - 2 &&
                 order[rank - 2] == static_cast<int64_t>(rank) - 1;
      for (size_t d = 0; d + 2 < rank; ++d) last_two &= order[d] == static_cast<int64_t>(d);
    }
    if (last_two) {
      int64_t rows = from->sizes[rank - 2], columns = from->sizes[rank - 1];
      int64_t tiles = (rows + kTile - 1) / kTile * ((columns + kTile - 1) / kTile);
      launch("mica_transpose_" + size, tiles * (from->cells() / (rows * columns)) * kBlockThreads,
             {v_[1], v_[0], int64(rows), int64(columns)});
      return;
    }
    std::vector<int64_t> strides(rank, 1);
    for (size_t d = rank - 1; d-- > 0;) strides[d] = strides[d + 1] * from->sizes[d + 1];
    std::vector<int64_t> words(2 * kMostDimensions, 1);
    for (size_t d = 0; d < rank; ++d) {
      words[kMostDimensions - rank + d] = to->sizes[d];
      words[2 * kMostDimensions - rank + d] = strides[static_cast<size_t>(order[d])];
    }
    std::vector<uint64_t> bits(words.begin(), words.end());
    launch("mica_permute_" + size, from->cells(),
           {v_[1], v_[0], int64(from->cells()), llvm::ConstantDataArray::get(unit_.context, bits)});
  }

  Unit &unit_;
  Builder &b_;
  const Op &op_;
  llvm::ArrayRef<LValue> v_;
};

} // namespace

void emit_card_run(Unit &unit, Builder &b, const Op &op, llvm::ArrayRef<LValue> operands) {
  CardRun(unit, b, op, operands).emit();
}

} // namespace mica::codegen
