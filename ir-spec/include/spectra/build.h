// A builder: appends operations to a region with their result types inferred. Every stage makes operations
// through it.
#pragma once
#include "spectra/ops.h"
#include <initializer_list>

namespace spectra {

class Builder {
public:
  Builder(Module &module, Region *region) : module_(module), region_(region) {}

  Module &module() const { return module_; }
  Region *region() const { return region_; }
  void set_region(Region *region) { region_ = region; }
  /// Operations made from now on carry this place.
  void set_place(Place place) { places_ = {place}; }
  void set_places(const List<Place> &places) { places_.assign(places.begin(), places.end()); }
  Place place() const { return places_.empty() ? Place{} : places_[0]; }

  /// Appends `code` with one inferred result (or none); throws std::logic_error with the reason where types
  /// don't fit: that is a fault of the stage, which checks the user's types before it builds.
  Value *make(OpCode code, std::initializer_list<Value *> operands, std::string_view name = {});
  /// The same with the result's type stated (rules that can't infer it), `nullptr` for none.
  Value *make_typed(OpCode code, std::initializer_list<Value *> operands, const Type *result,
                    std::string_view name = {});
  /// Appends without inference; the caller fills in the rest.
  Op *append(OpCode code);
  /// Adds a result to `op`.
  Value *add_result(Op *op, const Type *type, std::string_view name = {});
  /// Infers and adds the results of an op whose operands, attributes and path are complete.
  Value *finish(Op *op, std::string_view name = {});

  Value *constant(const Type *type, int64_t value, std::string_view name = {});
  Value *constant_float(const Type *type, double value, std::string_view name = {});

private:
  Module &module_;
  Region *region_;
  std::vector<Place> places_;
};

/// Calls `visit(op)` for every operation of the region and of the regions inside, in text order.
template <class Visit> void walk(Region &region, const Visit &visit) {
  for (Op *op : region.ops) {
    visit(op);
    for (Region *inner : op->regions) walk(*inner, visit);
  }
}

/// A copy of `op` with its regions, operands replaced through `map` (indexed by Value::number, null: itself).
Op *clone(Module &module, const Op &op, std::vector<Value *> &map);

} // namespace spectra
