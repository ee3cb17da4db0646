// Unary and binary operators of host scalars, strings and pointers: types, then folding or an operation.
#include "checker.h"
#include "whole.h"

namespace mica::check {

using spectra::OpCode;
using spectra::Scalar;

bool is_comparison(OpCode code) { return code >= OpCode::eq && code <= OpCode::ge; }

namespace {

bool is_bitwise(OpCode code) {
  return code == OpCode::and_ || code == OpCode::or_ || code == OpCode::xor_ || code == OpCode::mod ||
         code == OpCode::shl || code == OpCode::shr;
}

/// What an operator takes, for messages.
const char *needs(OpCode code) {
  switch (code) {
  case OpCode::add: return "numbers or strings";
  case OpCode::and_:
  case OpCode::or_:
  case OpCode::xor_: return "integers or bools";
  case OpCode::mod: return "integers";
  case OpCode::shl:
  case OpCode::shr: return "integers";
  default: return "numbers";
  }
}

bool accepts(OpCode code, const Type *t) {
  if (!t->is_scalar()) return false;
  switch (code) {
  case OpCode::and_:
  case OpCode::or_:
  case OpCode::xor_: return t->is_integer() || t->is_bool();
  case OpCode::mod:
  case OpCode::shl:
  case OpCode::shr: return t->is_integer();
  default: return t->is_integer() || t->is_float();
  }
}

} // namespace

bool Checker::unify(Operand &a, Operand &b, std::string_view sign, spectra::Place at) {
  // A constant without a type of its own takes the type beside it, where it fits.
  auto adapt = [&](Operand &constant, const Operand &beside) {
    if (!constant.gives_way() || (beside.gives_way() && !(constant.is_constant() && beside.adapts))) return;
    const Type *to = types.with_tracked(Types::base(beside.type), false);
    if (constant.is_constant()) {
      Constant fitted;
      if (fit_constant(constant.constant, to, fitted))
        constant = constant_operand(std::move(fitted), constant.at);
    } else if (to->is_float() && to->is_host_scalar()) {
      constant = convert(std::move(constant), to, sign);
    }
  };
  adapt(a, b);
  adapt(b, a);
  const Type *ta = types.with_tracked(Types::base(a.type), false);
  const Type *tb = types.with_tracked(Types::base(b.type), false);
  if (ta == tb) {
    if (a.is_constant() && b.is_constant()) // both or neither adapts: a typed one wins
      a.constant.adapts = b.constant.adapts = a.constant.adapts && b.constant.adapts;
    return true;
  }
  if (a.is_constant() && b.is_constant() && a.constant.adapts && b.constant.adapts && ta->is_scalar() &&
      tb->is_scalar()) {
    bool numbers = (ta->is_integer() || ta->is_float()) && (tb->is_integer() || tb->is_float());
    if (numbers) {
      if (ta->is_integer() && tb->is_integer()) return true; // exact
      for (Operand *o : {&a, &b})
        if (Types::base(o->type)->is_integer()) {
          o->constant.real = integer_to_float(Scalar::f64, o->constant.integer);
          o->constant.integer = 0;
          o->constant.type = o->type = types.f64();
        }
      return true;
    }
  }
  Scalar common;
  if (ta->is_scalar() && tb->is_scalar() && common_scalar(ta->scalar, tb->scalar, common)) {
    const Type *to = types.scalar(common);
    const bool tracked_a = a.type->tracked, tracked_b = b.type->tracked;
    a = convert(settle(std::move(a)), types.with_tracked(to, tracked_a && to->is_float()), sign);
    b = convert(settle(std::move(b)), types.with_tracked(to, tracked_b && to->is_float()), sign);
    if (a.is_poison() || b.is_poison()) return false;
    if (!a.is_constant()) a.type = types.with_tracked(to, tracked_a);
    if (!b.is_constant()) b.type = types.with_tracked(to, tracked_b);
    return true;
  }
  std::string hint;
  bool numbers = ta->is_scalar() && tb->is_scalar() && !ta->is_bool() && !tb->is_bool() &&
                 !ta->is_unicode() && !tb->is_unicode();
  // `a < b and c < d` reads as `a < (b and c) < d`.
  const bool logical = sign == "and" || sign == "or";
  const bool comparing =
      sign == "=" || sign == "#" || sign == "<" || sign == "<=" || sign == ">" || sign == ">=";
  if ((logical || comparing) && ta->is_bool() != tb->is_bool())
    hint = "`and` and `or` bind stronger than a comparison: write (a < b) and (c < d)";
  if (numbers) hint = "no type holds every value of both: convert one with `as`";
  error(at,
        "`" + std::string(sign) + "` has operands of different types: " + types.name(a.type) + " and " +
            types.name(b.type),
        hint);
  return false;
}

Operand Checker::binary(OpCode code, std::string_view sign, Operand a, Operand b, spectra::Place at) {
  if (a.is_poison() || b.is_poison()) return Operand{};
  for (Operand *o : {&a, &b}) {
    if (o->kind == Operand::Kind::nothing || o->kind == Operand::Kind::builtin ||
        o->kind == Operand::Kind::type)
      return not_a_value(*o);
    if (o->kind == Operand::Kind::procedure) {
      Operand &other = o == &a ? b : a;
      if (!(other.type && (other.type->is(Kind::nil) || other.type->is(Kind::procedure))))
        return error(o->at, "`" + std::string(o->symbol->name) + "` is not called",
                     "call it: " + std::string(o->symbol->name) + "(...)");
      o->type = o->symbol->proc->type;
    }
  }
  if (a.type->is_device_or_whole() || b.type->is_device_or_whole())
    return check_whole_binary(*this, code, sign, std::move(a), std::move(b), at);
  const Type *ta = Types::base(a.type), *tb = Types::base(b.type);
  build.set_place(at);

  if (ta->is(Kind::string) && tb->is(Kind::string) &&
      (code == OpCode::add || code == OpCode::eq || code == OpCode::ne)) {
    if (a.is_constant() && b.is_constant()) {
      Constant c;
      if (code == OpCode::add) {
        c.type = types.string();
        c.text = a.constant.text + b.constant.text;
      } else {
        c.type = types.boolean();
        c.integer = (a.constant.text == b.constant.text) == (code == OpCode::eq);
      }
      return constant_operand(std::move(c), at);
    }
    spectra::Value *left = load(a), *right = load(b);
    build.set_place(at);
    if (code == OpCode::add)
      return value_operand(build.make(OpCode::string_concat, {left, right}), types.string(), at);
    spectra::Value *same = build.make(OpCode::string_equal, {left, right});
    if (code == OpCode::ne) same = build.make(OpCode::not_, {same});
    return value_operand(same, types.boolean(), at);
  }

  if (code == OpCode::eq || code == OpCode::ne) {
    Operand answer;
    if (compare_pointers(code, a, b, at, answer)) return answer;
    if (ta->is(Kind::enumeration) && ta == tb) return compare(code, a, b, at);
  } else if (is_comparison(code) && ta->is(Kind::enumeration) && ta == tb) {
    return compare(code, a, b, at);
  }

  if (code == OpCode::shl || code == OpCode::shr) {
    if (!accepts(code, ta) || !accepts(code, tb))
      return error(at, "`" + std::string(sign) + "` needs integers, not " +
                           types.name(accepts(code, ta) ? b.type : a.type));
    if (b.is_constant() && b.constant.integer < 0)
      return error(b.at, "a shift by " + text_of(b.constant.integer));
    Operand folded;
    if (fold_binary(code, a, b, at, folded)) return folded;
    a = settle(std::move(a));
    spectra::Value *left = load(a), *right = load(settle(std::move(b)));
    build.set_place(at);
    return value_operand(build.make(code, {left, right}), types.with_tracked(ta, false), at);
  }

  bool comparison = is_comparison(code);
  bool fits = comparison ? ta->is_scalar() && tb->is_scalar() : accepts(code, ta) && accepts(code, tb);
  if (!fits) {
    const Type *wrong = (comparison ? ta->is_scalar() : accepts(code, ta)) ? b.type : a.type;
    std::string hint;
    if (code == OpCode::add && ta->is(Kind::string) != tb->is(Kind::string)) {
      const Type *other = ta->is(Kind::string) ? b.type : a.type;
      return error(at, "`+` can't add a string and " + types.name(other),
                   "Format(\"%v\", x) makes a string of any value");
    }
    if (code == OpCode::add && (ta->is(Kind::string) || tb->is(Kind::string)))
      hint = "Format(\"%v\", x) makes a string of any value";
    else if (is_bitwise(code) && Types::base(wrong)->is_float())
      hint = code == OpCode::mod ? "fmod of libm takes floats" : "";
    else if (comparison && ta == tb && ta->is(Kind::string))
      hint = "strings have `=` and `#`";
    if (comparison)
      return error(at,
                   "`" + std::string(sign) + "` can't compare " + types.name(a.type) + " and " +
                       types.name(b.type),
                   hint);
    return error(at, "`" + std::string(sign) + "` needs " + needs(code) + ", not " + types.name(wrong), hint);
  }
  if (!unify(a, b, sign, at)) return Operand{};
  if (comparison) return compare(code, a, b, at);

  const Type *result = types.with_tracked(Types::base(a.type), a.type->tracked || b.type->tracked);
  if ((code == OpCode::div || code == OpCode::mod) && Types::base(b.type)->is_integer() && b.is_constant() &&
      b.constant.integer == 0)
    return error(at, std::string("division by zero"));
  Operand folded;
  if (fold_binary(code, a, b, at, folded)) return folded;
  spectra::Value *left = load(settle(std::move(a))), *right = load(settle(std::move(b)));
  build.set_place(at);
  return value_operand(build.make(code, {left, right}), result, at);
}

Operand Checker::compare(OpCode code, const Operand &a, const Operand &b, spectra::Place at) {
  if (a.is_constant() && b.is_constant() && Types::base(a.type)->scalar != Scalar::u128) {
    Constant c;
    c.type = types.boolean();
    bool real = Types::base(a.type)->is_float();
    auto holds = [code](const auto &x, const auto &y) {
      switch (code) {
      case OpCode::eq: return x == y;
      case OpCode::ne: return x != y;
      case OpCode::lt: return x < y;
      case OpCode::le: return x <= y;
      case OpCode::gt: return x > y;
      default: return x >= y;
      }
    };
    c.integer =
        real ? holds(a.constant.real, b.constant.real) : holds(a.constant.integer, b.constant.integer);
    return constant_operand(std::move(c), at);
  }
  spectra::Value *left = load(a), *right = load(b);
  build.set_place(at);
  return value_operand(build.make(code, {left, right}), types.boolean(), at);
}

/// `=` and `#` of pointers, and of slices and procedures with nil. False where the operands are none of
/// these.
bool Checker::compare_pointers(OpCode code, const Operand &a, const Operand &b, spectra::Place at,
                               Operand &answer) {
  auto points = [](const Type *t) {
    return t->is(Kind::pointer) || t->is(Kind::slice) || t->is(Kind::procedure) || t->is(Kind::nil);
  };
  if (!points(a.type) && !points(b.type)) return false;
  if (!points(a.type) || !points(b.type)) return false;
  bool nil_a = a.type->is(Kind::nil), nil_b = b.type->is(Kind::nil);
  spectra::Value *same = nullptr;
  if (nil_a && nil_b) {
    Constant c;
    c.type = types.boolean();
    c.integer = code == OpCode::eq;
    answer = constant_operand(std::move(c), at);
    return true;
  }
  if (nil_a || nil_b) {
    spectra::Value *value = load(nil_a ? b : a);
    build.set_place(at);
    same = build.make(OpCode::is_nil, {value});
  } else if (a.type == b.type && a.type->is(Kind::pointer)) {
    spectra::Value *left = load(a), *right = load(b);
    build.set_place(at);
    same = build.make(OpCode::pointer_equal, {left, right});
  } else {
    answer = error(at, std::string("`") + (code == OpCode::eq ? "=" : "#") + "` can't compare " +
                           types.name(a.type) + " and " + types.name(b.type));
    return true;
  }
  if (code == OpCode::ne) same = build.make(OpCode::not_, {same});
  answer = value_operand(same, types.boolean(), at);
  return true;
}

Operand Checker::negate(Operand a, spectra::Place at) {
  if (a.is_poison()) return a;
  if (a.kind == Operand::Kind::procedure)
    return error(a.at, "`" + std::string(a.symbol->name) + "` is not called");
  if (a.kind != Operand::Kind::constant && a.kind != Operand::Kind::value && a.kind != Operand::Kind::place)
    return not_a_value(a);
  if (a.type->is_device_or_whole()) return check_whole_unary(*this, OpCode::neg, std::move(a), at);
  const Type *t = Types::base(a.type);
  if (!t->is_scalar() || !(t->is_integer() || t->is_float()))
    return error(at, "unary `-` needs a number, not " + types.name(a.type));
  if (a.is_constant()) {
    Constant c = a.constant;
    c.type = t;
    c.real = -c.real;
    if (t->is_integer()) {
      // The least int128 is written as minus a literal that is an uint128.
      if (t->scalar == spectra::Scalar::u128 && c.integer == min_of(spectra::Scalar::i128)) {
        c.type = types.scalar(spectra::Scalar::i128);
        return constant_operand(std::move(c), at);
      }
      c.integer = static_cast<__int128>(-static_cast<unsigned __int128>(c.integer));
      if (c.adapts)
        c.type = type_of_integer(types, c.integer);
      else {
        __int128 wrapped = wrap_to(t->scalar, c.integer);
        if (wrapped != c.integer && checked_tier() && !constants_only)
          return negate(value_operand(load(a), a.type, a.at), at);
        c.integer = wrapped;
      }
    }
    return constant_operand(std::move(c), at);
  }
  spectra::Value *value = load(a);
  build.set_place(at);
  return value_operand(build.make(OpCode::neg, {value}), types.with_tracked(t, a.type->tracked), at);
}

Operand Checker::invert(Operand a, spectra::Place at) {
  if (a.is_poison()) return a;
  if (a.kind == Operand::Kind::procedure)
    return error(a.at, "`" + std::string(a.symbol->name) + "` is not called");
  if (a.kind != Operand::Kind::constant && a.kind != Operand::Kind::value && a.kind != Operand::Kind::place)
    return not_a_value(a);
  if (a.type->is_device_or_whole()) return check_whole_unary(*this, OpCode::not_, std::move(a), at);
  const Type *t = Types::base(a.type);
  if (!t->is_scalar() || !(t->is_integer() || t->is_bool()))
    return error(at, "`not` needs a bool or an integer, not " + types.name(a.type));
  if (a.is_constant()) {
    Constant c = a.constant;
    c.type = t;
    c.integer = t->is_bool() ? !c.integer : c.adapts ? ~c.integer : wrap_to(t->scalar, ~c.integer);
    if (c.adapts && t->is_integer()) c.type = type_of_integer(types, c.integer);
    return constant_operand(std::move(c), at);
  }
  spectra::Value *value = load(a);
  build.set_place(at);
  return value_operand(build.make(OpCode::not_, {value}), t, at);
}

} // namespace mica::check
