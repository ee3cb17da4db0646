// One kernel on the processor: a function body(context, begin, end) over a range of its items, and how it is
// launched.
#pragma once
#include "unit.h"

namespace mica::codegen {

/// Where a value of the space's cells lies in memory: cells from one step in a (collapsed) dimension to the
/// next.
struct Access {
  std::vector<int64_t> strides; ///< one a dimension; 0 where the value is stretched
};

/// The space with neighbouring dimensions merged wherever every value allows it: most kernels end with one.
struct Collapsed {
  std::vector<int64_t> sizes; ///< at least one
  std::vector<Access> accesses;
  int64_t inner() const { return sizes.back(); }
  int64_t outer() const;
};

/// `shapes`: the leading sizes of each value, to be broadcast to `space`; `cell`: cells of one item of each
/// value.
Collapsed collapse(const std::vector<int64_t> &space, const std::vector<std::vector<int64_t>> &shapes,
                   const std::vector<int64_t> &cell);

/// Whether a launch passes parameter `i` by value (a host scalar) and not by a pointer.
bool is_by_value(const spectra::Kernel &kernel, size_t i);

class KernelEmitter {
public:
  KernelEmitter(Unit &unit, const spectra::Kernel &kernel, const std::string &name);

protected:
  using LValue = llvm::Value *;
  /// Begins the function; the context's words are loaded into `arguments_`.
  void begin(size_t words);
  void finish() { b_.CreateRetVoid(); }

  /// for (i = from; i < to; ++i) body(i); `parallel`: turns don't depend on each other, so LLVM may
  /// vectorize. `width`: so many turns are to be one vector; 0: as LLVM likes.
  void loop(LValue from, LValue to, const char *name, bool parallel, const std::function<void(LValue)> &body,
            uint32_t width = 0);
  bool mark_calls(llvm::BasicBlock *first, llvm::MDNode *group);
  LValue load_cell(const Type *type, LValue base, LValue index);
  void store_cell(const Type *type, LValue v, LValue base, LValue index);
  LValue cell_address(const Type *type, LValue base, LValue index);
  /// Offsets in cells of every access for outer index `o`.
  std::vector<LValue> outer_offsets(const Collapsed &space, LValue o);
  LValue int64(int64_t v) { return b_.getInt64(static_cast<uint64_t>(v)); }
  LValue value(const Value *v) const { return values_[v->number]; }
  void define(const Value *v, LValue l) { values_[v->number] = l; }
  /// The body's operations on scalars, in order; gives the yield.
  const Op *emit_cells();
  void emit_cell_op(const Op &op);

  Unit &unit_;
  const spectra::Kernel &kernel_;
  llvm::Function *function_;
  Builder b_;
  LValue begin_ = nullptr, end_ = nullptr;
  std::vector<LValue> arguments_; ///< parameters (pointers, or scalars by value), then the results' pointers
  std::vector<LValue> &values_;
  LValue position_ = nullptr; ///< which cell of all is at hand, row by row; for what depends on the place
  llvm::MDNode *access_group_ = nullptr; ///< of the parallel loop being emitted
};

/// The same for kernels that are the same function (kernel_key.cc).
std::string kernel_key(const Unit &unit, const spectra::Kernel &kernel);

/// How the items of a kernel are shared out: count of units, and the units that stay together.
struct Share {
  int64_t count, grain;
};
Share emit_map_kernel(Unit &unit, const spectra::Kernel &kernel, llvm::Function *&function);
/// softmax and log_softmax in a rows kernel's body become their lines (numerics.md 3).
void expand_softmax(spectra::Module &module, const spectra::Kernel &kernel);
Share emit_rows_kernel(Unit &unit, const spectra::Kernel &kernel, llvm::Function *&function);
/// The epilogue of a product: a map in place over its answer.
Share emit_epilogue(Unit &unit, const spectra::Kernel &kernel, llvm::Function *&function);
/// The cells of a reduction, written to scratch memory.
Share emit_scratch(Unit &unit, const spectra::Kernel &kernel, llvm::Function *&function);
llvm::Function *emit_multi_kernel(Unit &unit, const spectra::Kernel &kernel);

} // namespace mica::codegen
