// Whole values: small things that their files share.
#include "whole_parts.h"

#include <algorithm>

namespace mica::check {

using spectra::OpCode;
using spectra::Scalar;

Checker::~Checker() = default;

const char *const kDetachHint =
    "declare the variable `tracked`, or write Detach(...) to stop the gradient here";

WholeState &state(Checker &c) {
  if (!c.whole) c.whole = std::make_shared<WholeState>();
  return *c.whole;
}

std::string shape(Checker &c, const Type *type) {
  return spectra::shape_text(c.types.lower(Types::base(type)));
}

std::string describe(Checker &c, const Operand &o) {
  std::string name =
      o.symbol && o.path.steps.empty() ? "`" + std::string(o.symbol->name) + "`" : "the other operand";
  return name + " is " + shape(c, o.type);
}

Operand as_value(Checker &c, Operand o) {
  switch (o.kind) {
  case Operand::Kind::poison:
  case Operand::Kind::value:
  case Operand::Kind::constant: return o;
  case Operand::Kind::nothing:
  case Operand::Kind::builtin:
  case Operand::Kind::type: return c.not_a_value(o);
  case Operand::Kind::procedure:
    return c.error(o.at, "`" + std::string(o.symbol->name) + "` is not called",
                   "call it: " + std::string(o.symbol->name) + "(...)");
  case Operand::Kind::place: break;
  }
  if (o.type->is_aggregate()) return o;
  Operand value = c.value_operand(c.load(o), o.type, o.at);
  if (o.path.steps.empty()) value.symbol = o.symbol;
  return value;
}

Operand value_of(Checker &c, const Node &node, const Type *expected) {
  Operand o = as_value(c, c.check(node, expected));
  if (!o.is_poison() && node.is(spectra::NodeKind::call)) o.at = node.first->place;
  return o;
}

Operand make(Checker &c, Making making, spectra::Place at) {
  for (spectra::Value *v : making.operands)
    if (!v) return Operand{};
  c.build.set_place(at);
  spectra::Op *op = c.build.append(making.code);
  op->operands.assign(making.operands.begin(), making.operands.end());
  for (spectra::Attribute &a : making.attributes) op->set(a.key, std::move(a.value));
  std::vector<const spectra::Type *> types;
  if (making.stated) types.push_back(c.types.lower_value(making.stated));
  std::string why;
  if (!spectra::infer_types(c.module, c.func, *op, types, why)) {
    c.build.region()->ops.pop_back();
    return c.error(at, why, making.hint);
  }
  if (types.empty()) return Checker::nothing(at);
  const Type *type = c.types.raise(types[0]);
  spectra::Value *value = c.build.add_result(op, types[0]);
  return c.value_operand(value, c.types.with_tracked(type, making.tracked && type->is_float()), at);
}

Operand cast_cells(Checker &c, Operand o, Scalar cell, spectra::Place at) {
  if (o.is_poison() || Types::base(o.type)->scalar == cell) return o;
  const Type *from = Types::base(o.type);
  const bool tracked = from->tracked;
  Symbol *symbol = o.symbol;
  spectra::Value *value = c.load(o);
  if (cell == Scalar::boolean) {
    Operand zero = from->is_float()
                       ? c.value_operand(c.build.constant_float(c.module.types.scalar(from->scalar), 0),
                                         c.types.scalar(from->scalar), at)
                       : c.value_operand(c.build.constant(c.module.types.scalar(from->scalar), 0),
                                         c.types.scalar(from->scalar), at);
    return make(c, {OpCode::ne, {value, zero.value}, {}, nullptr, false, {}}, at);
  }
  if (from->is_bool() && is_float(cell)) { // true counts 1
    o = make(c, {OpCode::cast, {value}, {}, c.types.with_cell(from, Scalar::i32), false, {}}, at);
    value = o.value;
  }
  const Type *to = c.types.with_tracked(c.types.with_cell(c.types.with_tracked(from, false), cell), false);
  Operand result = make(c, {OpCode::cast, {value}, {}, to, tracked, {}}, at);
  result.symbol = symbol;
  return result;
}

Operand to_card(Checker &c, Operand o, spectra::Place at) {
  if (o.is_poison() || c.on_cpu()) return o;
  o = c.settle(std::move(o));
  const bool tracked = o.type->tracked;
  if (o.type->gpu) return o;
  return make(c, {OpCode::to_gpu, {c.load(o)}, {}, nullptr, tracked, {}}, at);
}

Operand to_host(Checker &c, Operand o, spectra::Place at) {
  if (o.is_poison()) return o;
  if (!o.type->gpu) { // the program may be the one of the card, compiled for the processor
    o.type = c.types.with_tracked(o.type, false);
    return o;
  }
  return make(c, {OpCode::to_host, {c.load(o)}, {}, nullptr, false, {}}, at);
}

bool one_place(Checker &c, const std::vector<const Operand *> &operands, std::string_view what,
               spectra::Place at) {
  const Operand *host = nullptr, *card = nullptr;
  for (const Operand *o : operands) {
    if (o->type->gpu && !card) card = o;
    if (o->type->is_whole() && !o->type->gpu && !host) host = o;
  }
  if (!host || !card) return true;
  auto name = [](const Operand *o, const char *otherwise) {
    return o->symbol ? std::string(o->symbol->name) : std::string(otherwise);
  };
  const bool host_first =
      std::find(operands.begin(), operands.end(), host) < std::find(operands.begin(), operands.end(), card);
  c.error(at,
          "`" + std::string(what) +
              "` mixes the host and the card: " + c.types.name((host_first ? host : card)->type) + " and " +
              c.types.name((host_first ? card : host)->type),
          "ToGpu(" + name(host, "...") + ") copies to the card; ToHost(" + name(card, "...") +
              ") brings down and waits");
  return false;
}

bool shapes_fit(Checker &c, const std::vector<const Operand *> &operands, std::string_view what,
                spectra::Place at) {
  std::vector<int64_t> sizes;
  const Operand *largest = nullptr;
  for (const Operand *o : operands) {
    std::vector<int64_t> joined;
    if (!spectra::broadcast_sizes(sizes, o->type->sizes, joined)) {
      std::string hint = "one shape must end the other's, and a size of 1 stretches: ";
      hint += describe(c, *largest) + ", " + describe(c, *o);
      if (o->type->rank == 1 && largest->type->rank == 2 && o->type->sizes[0] == largest->type->sizes[0])
        hint += "; as a column it would be [" + std::to_string(o->type->sizes[0]) + ", 1]";
      c.error(at,
              "`" + std::string(what) + "` needs shapes that fit: " + shape(c, largest->type) + " and " +
                  shape(c, o->type),
              hint);
      return false;
    }
    if (joined == o->type->sizes || !largest) largest = o;
    sizes = joined;
  }
  return true;
}

bool unify_cells(Checker &c, const std::vector<Operand *> &operands, std::string_view what,
                 spectra::Place at) {
  // The type that all others widen to; literals come last, since they adapt.
  std::optional<Scalar> common;
  const Operand *first = nullptr;
  auto join = [&](const Operand &o) {
    const Type *t = Types::base(o.type);
    Scalar both;
    if (!common) {
      common = t->scalar;
      first = &o;
      return true;
    }
    const bool numbers = (is_float(*common) || is_integer(*common)) && (t->is_float() || t->is_integer());
    if (*common == t->scalar) return true;
    if (numbers && common_scalar(*common, t->scalar, both)) {
      common = both;
      return true;
    }
    c.error(at,
            "`" + std::string(what) + "` has operands of different types: " + c.types.name(first->type) +
                " and " + c.types.name(o.type),
            numbers ? "neither holds every value of the other: convert one with `as`" : "");
    return false;
  };
  for (Operand *o : operands)
    if (!o->gives_way() && !join(*o)) return false;
  for (Operand *o : operands) {
    if (!o->gives_way()) continue;
    if (common && o->is_constant()) {
      Constant fitted;
      if (c.fit_constant(o->constant, c.types.scalar(*common), fitted)) continue;
    } else if (common && is_float(*common)) {
      continue;
    }
    if (!join(*o)) return false;
  }
  for (Operand *o : operands) {
    if (o->is_constant()) {
      *o = c.convert(std::move(*o), c.types.scalar(*common), what);
    } else if (o->type->scalar != *common || o->type->is(Kind::subrange)) {
      if (o->type->is_device_or_whole())
        *o = cast_cells(c, std::move(*o), *common, at);
      else
        *o = c.convert(c.settle(std::move(*o)),
                       c.types.with_tracked(c.types.scalar(*common), o->type->tracked), what);
    }
    if (o->is_poison()) return false;
  }
  return true;
}

bool check_tracked(Checker &c, const Operand &from, const Type *to, Purpose purpose) {
  if (!from.type || !from.type->tracked || !to->has_cells() || to->tracked || from.is_constant()) return true;
  std::string message =
      std::string(purpose) + " would lose the gradient: the value is tracked, the variable is not";
  if (c.window >= 0) {
    c.error(from.at, message, kDetachHint);
    return false;
  }
  if (c.func) state(c).stores.push_back({c.func, from.at, message});
  return true;
}

} // namespace mica::check
