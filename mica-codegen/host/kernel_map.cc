// map kernels, the epilogue of products and the cells of reductions: scalar bodies over a collapsed space.
#include "kernel.h"

namespace mica::codegen {
namespace {

/// Cells that a thread takes at least: below it the hand-over costs more than the work.
constexpr int64_t kGrain = 8192;

class MapEmitter : public KernelEmitter {
public:
  using KernelEmitter::KernelEmitter;

  /// `results`: full types of what the yield writes; `acc`: the body's last argument is read from the first
  /// result.
  Share emit(const std::vector<int64_t> &space, const std::vector<const Type *> &results, bool acc) {
    size_t params = kernel_.params.size();
    begin(params + results.size());
    std::vector<std::vector<int64_t>> shapes;
    for (size_t i = 0; i < params; ++i)
      shapes.push_back(kernel_.body->args[i]->type->is_scalar() ? kernel_.params[i]->sizes
                                                                : std::vector<int64_t>());
    for (size_t i = 0; i < results.size(); ++i) shapes.push_back(space);
    Collapsed flat = collapse(space, shapes, std::vector<int64_t>(shapes.size(), 1));
    for (size_t i = 0; i < params; ++i) // stretched over everything: loaded once
      if (is_by_value(kernel_, i)) define(kernel_.body->args[i], arguments_[i]);

    auto cells = [&](const std::vector<LValue> &offsets, LValue from, LValue to) {
      loop(from, to, "cell", true, [&](LValue i) {
        auto index = [&](size_t v) {
          int64_t stride = flat.accesses[v].strides.back();
          LValue step = stride == 0 ? int64(0) : stride == 1 ? i : b_.CreateNSWMul(i, int64(stride));
          return b_.CreateNSWAdd(offsets[v], step);
        };
        for (size_t p = 0; p < params; ++p) {
          const Value *argument = kernel_.body->args[p];
          if (is_by_value(kernel_, p) || !argument->type->is_scalar())
            continue; // a product's operands are no cells
          define(argument, load_cell(argument->type, arguments_[p], index(p)));
        }
        if (acc) {
          const Value *argument = kernel_.body->args[params];
          define(argument, load_cell(argument->type, arguments_[params], index(params)));
        }
        position_ = results.empty() ? i : index(params); // results are dense over the space
        const Op *yield = emit_cells();
        for (size_t r = 0; r < results.size(); ++r)
          store_cell(results[r], value(yield->operands[r]), arguments_[params + r], index(params + r));
      });
    };
    Share share{flat.inner(), kGrain};
    if (flat.sizes.size() == 1) {
      cells(std::vector<LValue>(shapes.size(), int64(0)), begin_, end_);
    } else {
      loop(begin_, end_, "outer", false,
           [&](LValue o) { cells(outer_offsets(flat, o), int64(0), int64(flat.inner())); });
      share = {flat.outer(), std::max<int64_t>(1, kGrain / std::max<int64_t>(1, flat.inner()))};
    }
    finish();
    return share;
  }
  llvm::Function *function() const { return function_; }
};

std::vector<const Type *> list(const spectra::List<const Type *> &types) {
  return {types.begin(), types.end()};
}

/// A multi kernel's body over the cells of one group; what it yields goes back to the members in `writes`.
class MultiEmitter : public KernelEmitter {
public:
  using KernelEmitter::KernelEmitter;

  llvm::Function *emit() {
    size_t params = kernel_.params.size();
    begin(params);
    std::vector<int64_t> writes;
    for (const spectra::Attribute &a : kernel_.attributes)
      if (a.key == spectra::Attr::writes) writes = std::get<std::vector<int64_t>>(a.value);
    size_t scalars = 0;
    while (scalars < params && is_by_value(kernel_, scalars)) {
      define(kernel_.body->args[scalars], arguments_[scalars]);
      ++scalars;
    }
    loop(begin_, end_, "cell", true, [&](LValue i) {
      for (size_t p = scalars; p < params; ++p)
        define(kernel_.body->args[p], load_cell(kernel_.body->args[p]->type, arguments_[p], i));
      const Op *yield = emit_cells();
      for (size_t w = 0; w < writes.size(); ++w) {
        size_t member = scalars + static_cast<size_t>(writes[w]);
        store_cell(kernel_.body->args[member]->type, value(yield->operands[w]), arguments_[member], i);
      }
    });
    finish();
    return function_;
  }
};

} // namespace

Share emit_map_kernel(Unit &unit, const spectra::Kernel &kernel, llvm::Function *&function) {
  MapEmitter emitter(unit, kernel, std::string(kernel.name));
  Share share = emitter.emit(kernel.space, list(kernel.results), false);
  function = emitter.function();
  return share;
}

Share emit_epilogue(Unit &unit, const spectra::Kernel &kernel, llvm::Function *&function) {
  MapEmitter emitter(unit, kernel, std::string(kernel.name) + ".epilogue");
  Share share = emitter.emit(kernel.results[0]->sizes, list(kernel.results), true);
  function = emitter.function();
  return share;
}

Share emit_scratch(Unit &unit, const spectra::Kernel &kernel, llvm::Function *&function) {
  MapEmitter emitter(unit, kernel, std::string(kernel.name) + ".cells");
  std::vector<const Type *> cells;
  for (const Value *v : kernel.body->ops.back()->operands) cells.push_back(v->type);
  Share share = emitter.emit(kernel.space, cells, false);
  function = emitter.function();
  return share;
}

llvm::Function *emit_multi_kernel(Unit &unit, const spectra::Kernel &kernel) {
  return MultiEmitter(unit, kernel, std::string(kernel.name)).emit();
}

} // namespace mica::codegen
