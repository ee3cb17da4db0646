// Assignment to whole values, to scalars on the card, and to records and arrays that hold such.
#include "whole_parts.h"

namespace mica::check {

bool assign_whole(Checker &c, const Operand &target, const Node &value, spectra::Place at) {
  if (target.type->is(Kind::open)) return true;
  if (target.type->is_aggregate()) {
    if (!has_whole_leaf(target.type)) return false;
    assign_aggregate(c, target, value, at);
    return true;
  }
  std::string purpose = "the assignment";
  if (target.symbol && target.path.steps.empty())
    purpose = "assigning to `" + std::string(target.symbol->name) + "`";
  Operand source = as_value(c, c.check(value, target.type));
  if (source.is_poison()) return true;
  if (source.type->is_aggregate()) {
    source.at = value.place;
    c.error(value.place,
            purpose + " needs " + c.types.name(target.type) + ", not " + c.types.name(source.type));
    return true;
  }
  // A host value goes up to the card by being assigned.
  if (source.type->is_whole() && !source.type->gpu && target.type->is_whole() && target.type->gpu &&
      source.type->sizes == target.type->sizes) {
    source = convert_whole(c, std::move(source), c.types.with_gpu(target.type, false), purpose);
    source = to_card(c, std::move(source), at);
  }
  source = c.convert(std::move(source), target.type, purpose);
  spectra::Value *loaded = c.load(source);
  if (!loaded) return true;
  c.build.set_place(at);
  c.store(target, loaded);
  return true;
}

} // namespace mica::check
