// Predeclared procedures and functions that are not about whole values: memory, strings, files, random
// numbers, time.
#include "checker.h"
#include "whole.h"

namespace mica::check {

using spectra::NodeKind;
using spectra::OpCode;
using spectra::Value;

namespace {
/// The i-th argument of a call, from 1.
const Node &argument(const Node &call, uint32_t i) { return *call.child(i); }
} // namespace

/// The operand of a verb that takes a pointer: `address x` of any variable (verbs keep no pointer, so `var`
/// parameters may be passed on), or a pointer's value.
Value *Checker::pointer_argument(const Node &node, const Type *element, const std::string &purpose) {
  const Type *wanted = types.pointer(element);
  if (node.is(NodeKind::address)) {
    Operand place = check(*node.first);
    if (place.is_poison()) return nullptr;
    if (!place.is_place() || !place.assignable) {
      error(node.place, "`address` needs a variable");
      return nullptr;
    }
    if (place.type != element) {
      error(node.place, purpose + " needs the address of a " + types.name(element) + ", not of a " +
                            types.name(place.type));
      return nullptr;
    }
    mark_changed(place);
    return address_of(place);
  }
  Operand pointer = check(node, wanted);
  if (pointer.is_poison()) return nullptr;
  Value *value = load(convert(std::move(pointer), wanted, purpose));
  if (value && checked_tier()) value = build.make(OpCode::check_nil, {value});
  return value;
}

/// The place of an argument that a verb writes to: a variable, or `address` of one.
Operand Checker::target_argument(const Node &node, const std::string &purpose) {
  Operand place = check(node.is(NodeKind::address) ? *node.first : node);
  if (place.is_poison()) return place;
  if (place.kind == Operand::Kind::value && place.type->is(Kind::pointer))
    return dereference(std::move(place), node.place);
  if (!place.is_place() || !place.assignable) return error(node.place, purpose + " needs a variable");
  mark_changed(place);
  return place;
}

Operand Checker::nothing(spectra::Place at) {
  Operand o;
  o.kind = Operand::Kind::nothing;
  o.at = at;
  return o;
}

Operand Checker::check_builtin(const Builtin &builtin, const Node &call, const Type *expected) {
  const Verb verb = builtin.verb;
  if (is_whole_verb(verb)) return check_verb_call(*this, verb, call, expected);
  if (builtin.library == Library::libm) return check_math(builtin, call);
  const std::string name = verb_name(verb);
  const spectra::Place at = call.place;
  auto count = [&](size_t least, size_t most) {
    if (count_arguments(call, name, least, most)) return true;
    check_arguments_only(call);
    return false;
  };
  auto purpose = [&](int i) { return "argument " + std::to_string(i) + " of `" + name + "`"; };
  auto value = [&](uint32_t i, const Type *type) {
    return load(check_as(argument(call, i), type, purpose(static_cast<int>(i))));
  };
  auto answer = [&](OpCode code, std::initializer_list<Value *> operands, const Type *type) {
    for (Value *v : operands)
      if (!v) return Operand{};
    build.set_place(at);
    return value_operand(build.make(code, operands), type, at);
  };
  auto act = [&](OpCode code, std::initializer_list<Value *> operands) {
    for (Value *v : operands)
      if (!v) return Operand{};
    build.set_place(at);
    build.make(code, operands);
    return nothing(at);
  };
  switch (verb) {
  case Verb::New: return check_new(call);
  case Verb::Dispose: {
    if (!count(1, 1)) return Operand{};
    Operand pointer = check(argument(call, 1));
    if (pointer.is_poison()) return pointer;
    if (!pointer.type || (!pointer.type->is(Kind::pointer) && !pointer.type->is(Kind::slice)))
      return error(argument(call, 1).place,
                   "`dispose` needs a pointer" + (pointer.type ? ", not " + types.name(pointer.type) : ""));
    return act(OpCode::dispose, {load(pointer)});
  }
  case Verb::Odd: {
    if (!count(1, 1)) return Operand{};
    Operand number = settle(check(argument(call, 1)));
    if (number.is_poison()) return number;
    if (!number.type || !number.type->is_ordinal() || !Types::base(number.type)->is_integer())
      return error(argument(call, 1).place,
                   "`odd` needs an integer" + (number.type ? ", not " + types.name(number.type) : ""));
    if (number.is_constant()) {
      Constant c;
      c.type = types.boolean();
      c.integer = number.constant.integer & 1;
      return constant_operand(std::move(c), at);
    }
    Value *loaded = load(number);
    build.set_place(at);
    Value *bit = build.make(OpCode::and_, {loaded, build.constant(loaded->type, 1)});
    return value_operand(build.make(OpCode::ne, {bit, build.constant(loaded->type, 0)}), types.boolean(), at);
  }
  case Verb::Assert: {
    if (!count(1, 2)) return Operand{};
    Value *condition = load(check_condition(argument(call, 1)));
    Value *why = nullptr;
    if (call.count > 2) {
      why = value(2, types.string());
    } else {
      Constant text;
      text.type = types.string();
      text.text = "assertion failed";
      why = emit_constant(text);
    }
    return act(OpCode::assert, {condition, why});
  }
  case Verb::Panic: {
    if (!count(1, 1)) return Operand{};
    return act(OpCode::panic, {value(1, types.string())});
  }
  case Verb::Length: return check_length(call);
  case Verb::Format: return check_print(verb, call);
  case Verb::Write:
  case Verb::Writeln: return check_print(verb, call);
  case Verb::Readln: {
    // The last value's operation drops the rest of the line.
    auto end_line = [&](spectra::Op *op) { op->set(spectra::Attr::newline, true); };
    build.set_place(at);
    if (call.count == 1) end_line(build.append(OpCode::read_input));
    for (uint32_t i = 1; i < call.count; ++i) {
      Operand target = target_argument(argument(call, i), purpose(static_cast<int>(i)));
      if (target.is_poison()) continue;
      if (!target.type->is(Kind::string) && !target.type->is_host_scalar()) {
        error(argument(call, i).place,
              "`readln` reads numbers, bools, characters and strings, not " + types.name(target.type));
        continue;
      }
      Value *place = address_of(target);
      build.set_place(at);
      spectra::Op *op = build.append(OpCode::read_input);
      op->operands.push_back(place);
      if (i + 1 == call.count) end_line(op);
    }
    return nothing(at);
  }
  case Verb::ParseInt:
  case Verb::ParseFloat: {
    if (!count(2, 2)) return Operand{};
    Value *text = value(1, types.string());
    Operand target = target_argument(argument(call, 2), purpose(2));
    if (target.is_poison()) return target;
    const bool fits = target.type->is_host_scalar() &&
                      (verb == Verb::ParseInt ? target.type->is_integer() : target.type->is_float());
    if (!fits)
      return error(argument(call, 2).place, "`" + name + "` needs a variable of " +
                                                (verb == Verb::ParseInt ? "an integer" : "a float") +
                                                " type, not " + types.name(target.type));
    return answer(verb == Verb::ParseInt ? OpCode::parse_int : OpCode::parse_float,
                  {text, address_of(target)}, types.boolean());
  }
  case Verb::ArgCount: return count(0, 0) ? answer(OpCode::arg_count, {}, types.i32()) : Operand{};
  case Verb::Argument:
    return count(1, 1) ? answer(OpCode::argument, {value(1, types.i64())}, types.string()) : Operand{};
  case Verb::ReadFile:
    return count(1, 1) ? answer(OpCode::read_file, {value(1, types.string())}, types.string()) : Operand{};
  case Verb::WriteFile: {
    if (!count(2, 2)) return Operand{};
    Value *file = value(1, types.string());
    return act(OpCode::write_file, {file, value(2, types.string())});
  }
  case Verb::FileExists:
    return count(1, 1) ? answer(OpCode::file_exists, {value(1, types.string())}, types.boolean()) : Operand{};
  case Verb::Clock: return count(0, 0) ? answer(OpCode::clock, {}, types.f64()) : Operand{};
  case Verb::RandomInt: {
    if (!count(2, 2)) return Operand{};
    Value *state = pointer_argument(argument(call, 1), types.random(), purpose(1));
    Operand bound = settle(check(argument(call, 2)));
    if (bound.is_poison()) return bound;
    if (!bound.type || !bound.type->is_ordinal() || !Types::base(bound.type)->is_integer())
      return error(argument(call, 2).place,
                   purpose(2) + " needs an integer" + (bound.type ? ", not " + types.name(bound.type) : ""));
    if (bound.is_constant() && bound.constant.integer < 1)
      return error(argument(call, 2).place, "`RandomInt` draws from 0..n-1, so n is at least 1");
    const Type *type = Types::base(bound.type);
    return answer(OpCode::random_int, {state, load(bound)}, type);
  }
  case Verb::RandomFloat: {
    if (!count(1, 1)) return Operand{};
    Value *state = pointer_argument(argument(call, 1), types.random(), purpose(1));
    if (!state) return Operand{};
    build.set_place(at);
    const bool wanted = expected && expected->is_host_scalar() && expected->is_float();
    const Type *type = wanted ? types.with_tracked(expected, false) : types.f64();
    Operand drawn =
        value_operand(build.make_typed(OpCode::random_float, {state}, types.lower(type)), type, at);
    drawn.adapts = true;
    return drawn;
  }
  case Verb::Seed: {
    if (!count(2, 2)) return Operand{};
    Value *state = pointer_argument(argument(call, 1), types.random(), purpose(1));
    return act(OpCode::seed, {state, value(2, types.i64())});
  }
  case Verb::LoadBytes:
    return count(1, 1) ? answer(OpCode::load_bytes, {value(1, types.string())},
                                types.slice(types.scalar(spectra::Scalar::u8)))
                       : Operand{};
  case Verb::LoadTokens:
    return count(1, 1) ? answer(OpCode::load_tokens, {value(1, types.string())},
                                types.slice(types.scalar(spectra::Scalar::u16)))
                       : Operand{};
  default: return error(at, "`" + name + "` is not known here");
  }
}

/// `new(p)` makes what p points to, `new(p, n)` a slice of n.
Operand Checker::check_new(const Node &call) {
  if (!count_arguments(call, "new", 1, 2)) return check_arguments_only(call);
  Operand target = target_argument(argument(call, 1), "argument 1 of `new`");
  if (target.is_poison()) return target;
  const spectra::Place at = call.place;
  if (target.type->is(Kind::slice)) {
    if (has_card_leaf(target.type->element))
      return error(argument(call, 1).place, "`new` makes values on the host, and " +
                                                types.name(target.type->element) + " lives on the card");
    if (call.count < 3)
      return error(at, "`new` of a " + types.name(target.type) + " needs its length", "new(p, n)");
    Value *length = load(check_as(argument(call, 2), types.i64(), "argument 2 of `new`"));
    if (!length) return Operand{};
    build.set_place(at);
    store(target, build.make_typed(OpCode::new_slice, {length}, types.lower(target.type)));
    return nothing(at);
  }
  if (!target.type->is(Kind::pointer))
    return error(argument(call, 1).place, "`new` needs a pointer, not " + types.name(target.type));
  if (call.count > 2)
    return error(argument(call, 2).place, "`new` of a " + types.name(target.type) + " takes no length",
                 "only a `pointer array of` has one");
  if (has_card_leaf(target.type->element))
    return error(argument(call, 1).place, "`new` makes values on the host, and " +
                                              types.name(target.type->element) + " lives on the card");
  build.set_place(at);
  store(target, build.make_typed(OpCode::new_, {}, types.lower(target.type)));
  return nothing(at);
}

Operand Checker::check_length(const Node &call) {
  if (!count_arguments(call, "Length", 1, 1)) return check_arguments_only(call);
  const spectra::Place at = call.place;
  Operand of;
  if (constants_only) { // an array's length is a constant whatever the array holds
    const Type *type = type_of_expression(argument(call, 1));
    if (type->is_poison()) return Operand{};
    if (!type->is(Kind::array) && !(type->is_whole() && type->rank == 1))
      return error(at, "the length of a " + types.name(type) + " is no constant");
    of.type = type;
    of.kind = Operand::Kind::value;
  } else {
    of = check(argument(call, 1));
  }
  if (of.is_poison()) return of;
  if (!of.type || of.kind == Operand::Kind::procedure || of.kind == Operand::Kind::type) {
    if (of.kind != Operand::Kind::type)
      return of.type ? mismatch(of, types.string(), "`Length`") : not_a_value(of);
  }
  const Type *t = of.type;
  if (t->is(Kind::array) || (t->is_whole() && t->rank == 1)) {
    Constant c;
    c.adapts = true;
    c.integer = t->is(Kind::array) ? static_cast<__int128>(t->high) - t->low + 1 : t->sizes[0];
    c.type = type_of_integer(types, c.integer);
    return constant_operand(std::move(c), at);
  }
  if (of.is_constant() && t->is(Kind::string)) {
    Constant c;
    c.type = types.i64();
    for (char byte : of.constant.text) c.integer += (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
    return constant_operand(std::move(c), at);
  }
  if (!t->is(Kind::string) && !t->is(Kind::slice))
    return error(argument(call, 1).place,
                 "`Length` needs a string, an array or a vector, not " + types.name(t),
                 t->is_whole() ? "Rows(x), Columns(x) and Size(x, d) are a matrix's sizes" : "");
  Value *value = load(of);
  build.set_place(at);
  return value_operand(
      build.make(t->is(Kind::string) ? OpCode::string_length : OpCode::slice_length, {value}), types.i64(),
      at);
}

} // namespace mica::check
