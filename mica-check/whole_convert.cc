// Conversions of whole values and of scalars on the card: by themselves where nothing is lost, else by `as`.
#include "whole_parts.h"

namespace mica::check {

using spectra::OpCode;

namespace {

/// Why the value doesn't fit, and the way out.
Operand refuse(Checker &c, const Operand &o, const Type *to, Purpose purpose) {
  const Type *from = Types::base(o.type);
  std::string got = c.types.name(o.type), wanted = c.types.name(to), hint;
  if (o.is_constant() && !to->is_whole()) return c.mismatch(o, to, purpose);
  const bool cells = from->has_cells() && to->has_cells();
  if (cells && to->is_whole() && from->is_whole() && from->sizes != to->sizes) {
    return c.error(
        o.at,
        std::string(purpose) + " needs shape " + shape(c, to) + ", not " + shape(c, from) + ": " + wanted +
            " and " + got,
        from->rank >= 2 && to->rank == from->rank && from->sizes[0] == to->sizes[1] &&
                from->sizes[1] == to->sizes[0]
            ? "Transpose(...) exchanges the two"
            : "whole values are assigned in their shape; Reshape(...) gives the same cells another one");
  }
  if (cells && from->scalar != to->scalar && from->is_whole() == to->is_whole() && !from->is_bool() &&
      !to->is_bool())
    hint = std::string("write `as ") + source_name(to->scalar) + "` to convert, with its loss";
  else if (cells && to->is_whole() && !from->is_whole())
    hint = "Filled(v) gives every cell the value";
  else if (cells && from->is_whole() && !to->is_whole())
    hint = "Sum(x) adds all cells, x[i] takes one";
  else if (cells && from->gpu && !to->gpu)
    hint = "ToHost(...) brings it down and waits";
  else if (cells && !from->gpu && to->gpu)
    hint = "ToGpu(...) copies it to the card";
  return c.error(o.at, std::string(purpose) + " needs " + wanted + ", not " + got, hint);
}

} // namespace

bool converts_whole(Checker &c, const Operand &o, const Type *to) {
  const Type *from = Types::base(o.type);
  if (!from->has_cells() || !to->has_cells() || from->is(Kind::open) || to->is(Kind::open)) return false;
  if (from->is_whole() != to->is_whole() || from->sizes != to->sizes) return false;
  if (to->is_scalar() && to->gpu && !from->gpu) return c.converts(o, c.types.with_gpu(to, false));
  if (from->gpu != to->gpu) return false;
  return from->scalar == to->scalar || widens(from->scalar, to->scalar);
}

Operand convert_whole(Checker &c, Operand o, const Type *to, Purpose purpose) {
  if (to->is(Kind::open)) return Operand{};
  const Type *from = Types::base(o.type);
  if (from->is(Kind::open)) return Operand{};
  if (!converts_whole(c, o, to)) return refuse(c, o, to, purpose);
  if (!check_tracked(c, o, to, purpose)) return Operand{};
  const bool tracked = o.type->tracked;
  const spectra::Place at = o.at;
  if (to->is_scalar() && !from->gpu) {
    const Type *host = c.types.with_tracked(c.types.with_gpu(to, false), tracked);
    return to_card(c, c.convert(std::move(o), host, purpose), at);
  }
  if (from->scalar != to->scalar) return cast_cells(c, as_value(c, std::move(o)), to->scalar, at);
  return o;
}

Operand convert_whole_as(Checker &c, Operand o, const Type *to, spectra::Place at) {
  const Type *from = Types::base(o.type);
  if (from->is(Kind::open) || to->is(Kind::open)) return Operand{};
  const bool number = to->has_cells() && !to->is_unicode();
  if (!number || !from->has_cells() || from->is_unicode())
    return c.error(at, c.types.name(o.type) + " can't be converted to " + c.types.name(to));
  if (to->is_whole() && from->sizes != to->sizes)
    return c.error(at, "`as` keeps the shape: " + shape(c, from) + " and " + shape(c, to),
                   "name the cells' type alone: x as " + std::string(source_name(to->scalar)));
  if (to->gpu && !from->gpu) { // a scalar, or a whole value with its full type
    const Type *host = c.types.with_gpu(to, false);
    Operand converted =
        host->is_whole() ? convert_whole_as(c, std::move(o), host, at) : c.convert_as(std::move(o), host, at);
    return to_card(c, std::move(converted), at);
  }
  if (to->is_whole() && from->gpu && !to->gpu)
    return c.error(at, "`as` keeps the place: " + c.types.name(o.type) + " lives on the card",
                   "ToHost(...) brings it down and waits");
  if (o.is_constant()) o = c.settle(std::move(o));
  return cast_cells(c, as_value(c, std::move(o)), to->scalar, at);
}

} // namespace mica::check
