// Conversions: what happens by itself (widening without loss, literals, subranges, nil) and what `as` does.
#include "checker.h"
#include "whole.h"

#include <cmath>

namespace mica::check {

using spectra::OpCode;
using spectra::Scalar;

namespace {

/// "8 bits hold -128..127": what a type can hold, for messages.
std::string range_text(const Type *t) {
  const Type *base = Types::base(t);
  if (t->is(Kind::subrange)) {
    Constant low{base, false, t->low, 0, {}}, high{base, false, t->high, 0, {}};
    return text_of(low) + ".." + text_of(high);
  }
  if (base->is_unicode()) return "0..0x10FFFF";
  if (base->is_integer()) return text_of(min_of(base->scalar)) + ".." + text_of(max_of(base->scalar));
  return "";
}

} // namespace

Operand Checker::settle(Operand o) {
  if (o.is_constant()) o.constant.adapts = false;
  o.adapts = false;
  return o;
}

/// A constant's value in another type where it fits exactly (floats: rounded); false where it does not fit.
bool Checker::fit_constant(const Constant &from, const Type *to, Constant &result) {
  const Type *target = Types::base(to);
  const Type *source = Types::base(from.type);
  result = from;
  result.type = to->is(Kind::subrange) ? target : types.with_tracked(to, false);
  result.adapts = false;
  if (to->is(Kind::subrange)) {
    if (source != target && !(source->is_integer() && target->is_integer())) return false;
    return from.integer >= to->low && from.integer <= to->high;
  }
  if (!source->is_scalar() || !target->is_scalar()) return source == target;
  if (!from.adapts && source == types.with_tracked(target, false)) return true;
  if (source->is_float()) {
    if (!target->is_float()) return false;
    if (!from.adapts && !widens(source->scalar, target->scalar)) return false;
    result.real = round_to(target->scalar, from.real);
    return std::isfinite(result.real) || !std::isfinite(from.real);
  }
  if (source->is_bool() || source->is_unicode() || target->is_bool() || target->is_unicode())
    return source->scalar == target->scalar;
  if (target->is_float()) {
    if (!from.adapts && !widens(source->scalar, target->scalar)) return false;
    result.real = integer_to_float(target->scalar, from.integer);
    result.integer = 0;
    return std::isfinite(result.real);
  }
  if (!from.adapts && !widens(source->scalar, target->scalar)) return false;
  return from.integer >= min_of(target->scalar) && from.integer <= max_of(target->scalar);
}

bool Checker::converts(const Operand &o, const Type *to) {
  if (o.is_poison() || to->is_poison()) return true;
  if (o.kind == Operand::Kind::procedure) return to->is(Kind::procedure) && o.symbol->proc->type == to;
  if (o.kind != Operand::Kind::constant && o.kind != Operand::Kind::value && o.kind != Operand::Kind::place)
    return false;
  if (to->is_device_or_whole() || o.type->is_device_or_whole()) return converts_whole(*this, o, to);
  if (o.type->is(Kind::nil)) return to->is(Kind::pointer) || to->is(Kind::slice) || to->is(Kind::procedure);
  if (o.is_constant()) {
    Constant fitted;
    return fit_constant(o.constant, to, fitted);
  }
  const Type *from = types.with_tracked(o.type, false);
  const Type *target = types.with_tracked(to, false);
  if (from == target) return true;
  const Type *from_base = Types::base(from), *target_base = Types::base(target);
  if (from_base == target_base) return true; // subranges of one base: checked where needed
  if (o.adapts) return target->is_float();
  if (!from_base->is_scalar() || !target_base->is_scalar()) return false;
  if (target->is(Kind::subrange)) return from_base->is_integer() && target_base->is_integer();
  return widens(from_base->scalar, target_base->scalar);
}

Operand Checker::not_a_value(const Operand &o) {
  std::string name = o.symbol ? std::string(o.symbol->name) : "this";
  switch (o.kind) {
  case Operand::Kind::nothing: return error(o.at, "`" + name + "` gives no value", "only functions give one");
  case Operand::Kind::builtin: return error(o.at, "`" + name + "` needs its arguments in parentheses");
  case Operand::Kind::type: return error(o.at, "`" + types.name(o.type) + "` is a type, not a value");
  default: return Operand{};
  }
}

Operand Checker::convert(Operand o, const Type *to, Purpose purpose) {
  if (o.is_poison() || to->is_poison()) return Operand{};
  if (o.kind == Operand::Kind::nothing || o.kind == Operand::Kind::builtin || o.kind == Operand::Kind::type)
    return not_a_value(o);
  if (o.kind == Operand::Kind::procedure && to->is(Kind::procedure)) {
    if (o.symbol->proc->type == to) {
      Operand result = value_operand(load(o), to, o.at);
      result.symbol = o.symbol;
      return result;
    }
    return mismatch(o, to, purpose);
  }
  if (o.kind == Operand::Kind::procedure) {
    std::string name(o.symbol->name);
    return error(
        o.at, "`" + name + "` is a " + (o.symbol->proc->answer ? "function" : "procedure") + ", not a value",
        "call it: " + name + "(...)");
  }
  if (to->is_device_or_whole() || o.type->is_device_or_whole())
    return convert_whole(*this, std::move(o), to, purpose);
  if (o.type->is(Kind::nil)) {
    if (!to->is(Kind::pointer) && !to->is(Kind::slice) && !to->is(Kind::procedure))
      return mismatch(o, to, purpose);
    o.constant.type = o.type = to;
    build.set_place(o.at);
    return value_operand(build.make_typed(OpCode::nil, {}, types.lower(to)), to, o.at);
  }
  if (!check_tracked(*this, o, to, purpose)) return Operand{};
  if (o.is_constant()) {
    Constant fitted;
    if (fit_constant(o.constant, to, fitted)) return constant_operand(std::move(fitted), o.at);
    return mismatch(o, to, purpose);
  }
  if (!converts(o, to)) return mismatch(o, to, purpose);
  const Type *from_base = types.with_tracked(Types::base(o.type), false);
  const Type *target = types.with_tracked(Types::base(to), false);
  bool narrows = to->is(Kind::subrange) && o.type != to &&
                 !(o.type->is(Kind::subrange) && o.type->low >= to->low && o.type->high <= to->high);
  if (from_base == target && !narrows) return o;
  spectra::Value *value = load(o);
  if (o.adapts && target != from_base) {
    value->type = types.lower_value(target); // RandomFloat draws in the type that is wanted
    return value_operand(value, target, o.at);
  }
  build.set_place(o.at);
  if (narrows) value = check_range(value, to);
  if (from_base != target) value = build.make_typed(OpCode::cast, {value}, types.lower_value(target));
  return value_operand(value, types.with_tracked(to->is(Kind::subrange) ? to : target, o.type->tracked),
                       o.at);
}

spectra::Value *Checker::check_range(spectra::Value *value, const Type *type) {
  spectra::Op *op = build.append(OpCode::check_range);
  op->operands.push_back(value);
  op->set(spectra::Attr::low, type->low);
  op->set(spectra::Attr::high, type->high);
  op->set(spectra::Attr::what, types.name(type));
  return build.add_result(op, value->type);
}

Operand Checker::mismatch(const Operand &o, const Type *to, Purpose purpose) {
  std::string wanted = types.name(to);
  const Type *base = Types::base(to);
  if (o.is_constant() && o.type && Types::base(o.type)->is_scalar() && base->is_scalar() &&
      (Types::base(o.type)->is_integer() || Types::base(o.type)->is_float()) &&
      (base->is_integer() || base->is_float())) {
    std::string value = text_of(o.constant);
    bool whole_number = Types::base(o.type)->is_integer();
    if (o.constant.adapts || whole_number) {
      if (whole_number && base->is_integer() && (o.constant.adapts || to->is(Kind::subrange)))
        return error(o.at,
                     value + " does not fit " + wanted +
                         (range_text(to) == wanted ? "" : " (" + range_text(to) + ")"),
                     to->is(Kind::subrange) ? "" : "`" + value + " as " + wanted + "` wraps");
      if (base->is_float() && o.constant.adapts)
        return error(o.at, value + " is too large for " + wanted,
                     "`" + value + " as " + wanted + "` gives infinity");
    }
  }
  std::string got =
      o.kind == Operand::Kind::procedure ? types.name(o.symbol->proc->type) : types.name(o.type);
  if (got == wanted) { // two declarations of one name
    got = "another type of that name";
  }
  std::string hint;
  const Type *from = o.type ? Types::base(o.type) : types.poison();
  bool number_from = from->is_scalar() && !from->is_bool() && !from->is_unicode();
  bool number_to = base->is_scalar() && !base->is_bool() && !base->is_unicode();
  if (number_from && number_to)
    hint = "write `as " + wanted + "` to convert, with its loss";
  else if (from->is_integer() && base->is_bool())
    hint = "compare it: `# 0`";
  else if (from->is_integer() && (base->is(Kind::enumeration) || base->is_unicode()))
    hint = "write `as " + wanted + "`";
  else if ((from->is(Kind::enumeration) || from->is_unicode() || from->is_bool()) && base->is_integer())
    hint = "write `as " + wanted + "`";
  else if (from->is_unicode() && base->is(Kind::string))
    hint = "a string is written in double quotes; Format(\"%lc\", c) makes one of a unicode";
  else if (to->is(Kind::pointer) && to->element == o.type && o.is_place())
    hint = "write `address` before it";
  else if (from->is(Kind::pointer) && from->element == to)
    hint = "write `value` before it";
  return error(o.at, std::string(purpose) + " needs " + wanted + ", not " + got, hint);
}

Operand Checker::convert_as(Operand o, const Type *to, spectra::Place at) {
  if (o.is_poison() || to->is_poison()) return Operand{};
  if (o.kind == Operand::Kind::nothing || o.kind == Operand::Kind::builtin || o.kind == Operand::Kind::type)
    return not_a_value(o);
  if (o.kind == Operand::Kind::procedure) return mismatch(o, to, "`as`");
  if (to->is_device_or_whole() || o.type->is_device_or_whole()) {
    if (to->has_cells() && !is_supported(to->scalar, at)) return Operand{};
    return convert_whole_as(*this, std::move(o), to, at);
  }
  const Type *from = types.with_tracked(Types::base(o.type), false);
  const Type *target = Types::base(to);
  auto refuse = [&] {
    return error(at, types.name(o.type) + " can't be converted to " + types.name(to),
                 target->is(Kind::string) ? "Format(\"%v\", x) makes a string of any value" : "");
  };
  auto ordinal_or_number = [](const Type *t) { return t->is_scalar() || t->is(Kind::enumeration); };
  if (!ordinal_or_number(from) || !ordinal_or_number(target)) return refuse();
  if (from->is_float() && (target->is_bool() || target->is_unicode() || target->is(Kind::enumeration)))
    return refuse();
  if (target->is_float() && (from->is_bool() || from->is_unicode() || from->is(Kind::enumeration)))
    return refuse();
  if (from->is(Kind::enumeration) && target->is(Kind::enumeration) && from != target) return refuse();
  const Type *result = o.type->tracked && target->is_float() ? types.with_tracked(to, true) : to;
  const bool ranged = to->is(Kind::subrange) || to->is(Kind::enumeration);
  const int64_t low = to->is(Kind::enumeration) ? 0 : to->low;
  const int64_t high =
      to->is(Kind::enumeration) ? static_cast<int64_t>(to->enumeration->names.size()) - 1 : to->high;

  // Bits beyond int128 are converted by the program.
  const bool beyond = o.is_constant() && from->scalar == Scalar::u128 && o.constant.integer < 0;
  if (o.is_constant() && !beyond) {
    Constant c = o.constant;
    c.adapts = false;
    c.type = to;
    bool lossy = false;
    if (target->is_float()) {
      c.real = from->is_float() ? round_to(target->scalar, o.constant.real)
                                : integer_to_float(target->scalar, o.constant.integer);
      lossy = from->is_float() && !o.constant.adapts && c.real != o.constant.real && !std::isnan(c.real);
    } else {
      __int128 exact = from->is_float() ? 0 : o.constant.integer;
      c.integer = from->is_float()                ? saturate_to(target->scalar, o.constant.real)
                  : target->is(Kind::enumeration) ? exact
                                                  : wrap_to(target->scalar, exact);
      lossy = from->is_float() ? static_cast<double>(c.integer) != std::trunc(o.constant.real)
                               : c.integer != exact;
      if (target->is_bool()) lossy = false;
      if (ranged && (c.integer < low || c.integer > high))
        return error(at, text_of(c.integer) + " is outside " + types.name(to) + " (" + std::to_string(low) +
                             ".." + std::to_string(high) + ")");
      if (target->is_unicode() && (c.integer > 0x10FFFF || (c.integer >= 0xD800 && c.integer <= 0xDFFF)))
        return error(at, text_of(c.integer) + " is no code point");
      c.real = 0;
    }
    // A checked program reports the loss where it happens.
    if (!(lossy && checked_tier() && !constants_only)) return constant_operand(std::move(c), at);
    o = settle(std::move(o));
  }
  const spectra::Type *lowered = types.lower_value(target);
  spectra::Value *value = load(o);
  build.set_place(at);
  if (ranged && from != target)
    value = check_range_as(value, to, low, high);
  else if (ranged && o.type != to)
    value = check_range_as(value, to, low, high);
  if (value->type != lowered) {
    if (target->is_bool())
      value = build.make(OpCode::ne, {value, build.constant(value->type, 0)});
    else
      value = build.make_typed(OpCode::cast, {value}, lowered);
  }
  return value_operand(value, result, at);
}

spectra::Value *Checker::check_range_as(spectra::Value *value, const Type *type, int64_t low, int64_t high) {
  if (value->type->is_float()) // truncated first, so that the message names an integer
    value = build.make_typed(OpCode::cast, {value}, module.types.scalar(Scalar::i64));
  if (!value->type->is_integer())
    value = build.make_typed(OpCode::cast, {value}, module.types.scalar(Scalar::i32));
  spectra::Op *op = build.append(OpCode::check_range);
  op->operands.push_back(value);
  op->set(spectra::Attr::low, low);
  op->set(spectra::Attr::high, high);
  op->set(spectra::Attr::what, types.name(type));
  return build.add_result(op, value->type);
}

} // namespace mica::check
