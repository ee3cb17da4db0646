// Expressions: names, fields, subscripts, operators, address and value.
#include "checker.h"
#include "whole.h"

namespace mica::check {

using spectra::Node;
using spectra::NodeKind;
using spectra::OpCode;

spectra::Place Checker::place_of(const Node &node) const { return node.place; }

Operand Checker::error(spectra::Place at, std::string_view message, std::string_view hint) {
  diag.error(at, message, hint);
  return Operand{};
}

namespace {
/// What operands of an operator may know of the target: that it is a float of the host, so that RandomFloat
/// draws in its type. A target with a shape is no operand's.
const Type *float_only(const Type *expected) {
  return expected && expected->is_host_scalar() && expected->is_float() ? expected : nullptr;
}
} // namespace

Operand Checker::check(const Node &node, const Type *expected) {
  switch (node.kind) {
  case NodeKind::integer: return integer_literal(node);
  case NodeKind::real: return real_literal(node);
  case NodeKind::unicode: return unicode_literal(node);
  case NodeKind::string: {
    Constant constant;
    constant.type = types.string();
    constant.text = node.text;
    return constant_operand(std::move(constant), node.place);
  }
  case NodeKind::name: return check_name(node, expected);
  case NodeKind::member: return check_member(node);
  case NodeKind::index: return check_index(node);
  case NodeKind::call: return check_call(node, expected);
  case NodeKind::chain: return check_chain(node, expected);
  case NodeKind::negate: return negate(check(*node.first, float_only(expected)), node.place);
  case NodeKind::not_: return invert(check(*node.first), node.place);
  case NodeKind::address: return check_address(node);
  case NodeKind::value: {
    Operand pointer = check(*node.first);
    if (pointer.is_poison()) return pointer;
    if (!pointer.type || !pointer.type->is(Kind::pointer))
      return pointer.type ? error(node.place, "`value` needs a pointer, not " + types.name(pointer.type))
                          : not_a_value(pointer);
    return dereference(std::move(pointer), node.place);
  }
  case NodeKind::as: {
    const Type *to = type_of(*node.last);
    Operand operand = check(*node.first);
    return convert_as(std::move(operand), to, node.place);
  }
  case NodeKind::range: return error(node.place, "a range stands in square brackets or behind `case` only");
  default: return error(node.place, "an expression is wanted here");
  }
}

Operand Checker::check_as(const Node &node, const Type *to, Purpose purpose) {
  return convert(check(node, to), to, purpose);
}

Operand Checker::check_condition(const Node &node) { return check_as(node, types.boolean(), "a condition"); }

Operand Checker::check_name(const Node &node, const Type *expected) {
  Symbol *symbol = lookup(node.text, node.place);
  if (!symbol) return Operand{};
  if (symbol->kind == SymbolKind::procedure && !constants_only) {
    resolve(*symbol);
    // Inside a function its name is the answer so far, but where its type is what is wanted: `Walk(Visit)`.
    const bool wanted = expected && expected->is(Kind::procedure) && symbol->proc->type == expected;
    for (Proc *p = proc; p && !wanted; p = p->outer)
      if (p->symbol == symbol && p->answer_variable) return check_target(node);
  }
  return name_operand(*symbol, node.place);
}

Operand Checker::name_operand(Symbol &symbol, spectra::Place at) {
  Operand o;
  o.at = at;
  o.symbol = &symbol;
  switch (symbol.kind) {
  case SymbolKind::poison: return Operand{};
  case SymbolKind::constant:
    resolve(symbol);
    if (!symbol.value) return Operand{};
    if (symbol.type->is_poison()) return Operand{};
    return constant_operand(symbol.value, at);
  case SymbolKind::type:
    resolve(symbol);
    if (!symbol.type || symbol.type->is_poison()) return Operand{};
    o.kind = Operand::Kind::type;
    o.type = symbol.type;
    return o;
  case SymbolKind::variable:
    if (constants_only)
      return error(at, "a constant is wanted here, and `" + std::string(symbol.name) + "` is a variable");
    resolve(symbol);
    if (!symbol.type || symbol.type->is_poison()) return Operand{};
    return place_operand(symbol, at);
  case SymbolKind::procedure:
    resolve(symbol);
    if (symbol.proc->type && symbol.proc->type->is_poison()) return Operand{};
    o.kind = Operand::Kind::procedure;
    o.type = symbol.proc->type;
    return o;
  case SymbolKind::builtin: o.kind = Operand::Kind::builtin; return o;
  }
  return Operand{};
}

Operand Checker::check_member(const Node &node) {
  Operand base = check(*node.first);
  if (base.is_poison()) return base;
  if (!base.type || base.kind == Operand::Kind::procedure || base.kind == Operand::Kind::type) {
    if (base.kind == Operand::Kind::procedure)
      return error(base.at, "`" + std::string(base.symbol->name) + "` is not called",
                   "call it: " + std::string(base.symbol->name) + "(...)");
    return not_a_value(base);
  }
  if (base.type->is(Kind::pointer)) base = dereference(std::move(base), node.place);
  if (!base.type->is(Kind::record))
    return error(node.place,
                 "`." + std::string(node.text) + "` needs a record, not " + types.name(base.type));
  complete_records();
  int field = base.type->record->field_index(node.text);
  if (field < 0) {
    std::vector<std::string> names;
    for (const Field &f : base.type->record->fields) names.emplace_back(f.name);
    std::string near = spectra::nearest_name(std::string(node.text), names);
    return error(node.place, types.name(base.type) + " has no field `" + std::string(node.text) + "`",
                 near.empty() ? "" : "did you mean `" + near + "`?");
  }
  if (base.type->record->fields[static_cast<size_t>(field)].type->is_poison()) return Operand{};
  return field_of(std::move(base), field, node.place);
}

Operand Checker::check_index(const Node &node) {
  Operand base = check(*node.first);
  if (base.is_poison()) return base;
  if (base.kind == Operand::Kind::procedure)
    return error(base.at, "`" + std::string(base.symbol->name) + "` is not called",
                 "call it: " + std::string(base.symbol->name) + "(...)");
  if (!base.type || base.kind == Operand::Kind::type) return not_a_value(base);
  return index_into(std::move(base), node.first->next, node.place);
}

Operand Checker::index_into(Operand base, const Node *subscript, spectra::Place at) {
  for (; subscript && !base.is_poison(); subscript = subscript->next) {
    if (base.type->is(Kind::pointer) &&
        (base.type->element->is(Kind::array) || base.type->element->is(Kind::slice) ||
         base.type->element->is_whole() || base.type->element->is(Kind::string)))
      base = dereference(std::move(base), at);
    if (base.type->is_whole() || base.type->is(Kind::open))
      return check_index_whole(*this, std::move(base), subscript, at);
    const Type *t = base.type;
    if (!t->is(Kind::array) && !t->is(Kind::slice) && !t->is(Kind::string))
      return error(subscript->place, types.name(t) + " has no elements to index");
    if (subscript->is(NodeKind::range))
      return error(subscript->place,
                   "rows a..b are taken of vectors, matrices and tensors only, not of " + types.name(t));
    const Type *index_type = t->is(Kind::array) ? Types::base(t->index) : types.i64();
    // The base is a place that the subscript's calls may change, but its address stays: only the path is
    // kept.
    Operand index = check(*subscript);
    if (index.is_poison()) return index;
    if (index.kind != Operand::Kind::constant && index.kind != Operand::Kind::value &&
        index.kind != Operand::Kind::place)
      return convert(std::move(index), index_type, "an index");
    if (index_type->is_integer()) { // any integer counts
      const Type *given = Types::base(index.type);
      if (!given->is_host_scalar() || !given->is_integer()) {
        Operand wrong = mismatch(index, index_type, "an index");
        return wrong;
      }
      index = settle(std::move(index));
    } else {
      index = convert(std::move(index), index_type, "an index");
      if (index.is_poison()) return index;
    }
    if (t->is(Kind::string)) {
      spectra::Value *text = load(base);
      spectra::Value *number = load(convert(std::move(index), types.i64(), "an index"));
      if (!number) return Operand{};
      build.set_place(at);
      base = value_operand(build.make(OpCode::string_cell, {text, number}), types.unicode(), at);
      continue;
    }
    if (index.is_constant()) {
      bool outside = t->is(Kind::array) ? index.constant.integer < t->low || index.constant.integer > t->high
                                        : index.constant.integer < 0;
      if (outside) {
        Constant low{Types::base(index.type), false, t->low, 0, {}},
            high{Types::base(index.type), false, t->high, 0, {}};
        return error(subscript->place, "index " + text_of(index.constant) + " is outside " +
                                           (t->is(Kind::array) ? text_of(low) + ".." + text_of(high)
                                                               : std::string("the slice")));
      }
    } else if (index.is_place()) {
      index = value_operand(load(index), index.type, index.at);
    }
    base = element_of(std::move(base), std::move(index), at);
  }
  return base;
}

Operand Checker::check_address(const Node &node) {
  Operand place = check(*node.first);
  if (place.is_poison()) return place;
  if (!place.is_place()) {
    if (place.kind == Operand::Kind::procedure)
      return error(node.place, "a procedure is passed by its name alone",
                   "write " + std::string(place.symbol->name));
    return error(node.place, "`address` needs a variable");
  }
  if (!place.assignable)
    return error(node.place, std::string("`address` needs a variable that can be assigned: this ") +
                                 (place.why_not ? place.why_not : "is none"));
  if (place.symbol && place.symbol->by_reference)
    return error(node.place,
                 "`" + std::string(place.symbol->name) +
                     "` is a `var` parameter, whose address can't be kept",
                 "pass it on as a `var` parameter, or take a pointer as the parameter");
  mark_changed(place);
  const Type *type = types.pointer(place.type);
  return value_operand(address_of(place), type, node.place);
}

// ---- chains of operators
// ---------------------------------------------------------------------------------------------

namespace {

bool operator_code(std::string_view sign, OpCode &code) {
  static const std::pair<std::string_view, OpCode> kSigns[] = {
      {"+", OpCode::add},  {"-", OpCode::sub},    {"*", OpCode::mul},   {"/", OpCode::div},
      {".*", OpCode::mul}, {"./", OpCode::div},   {"mod", OpCode::mod}, {"and", OpCode::and_},
      {"or", OpCode::or_}, {"xor", OpCode::xor_}, {"shl", OpCode::shl}, {"shr", OpCode::shr},
      {"=", OpCode::eq},   {"#", OpCode::ne},     {"<", OpCode::lt},    {"<=", OpCode::le},
      {">", OpCode::gt},   {">=", OpCode::ge}};
  for (const auto &[text, op] : kSigns)
    if (text == sign) {
      code = op;
      return true;
    }
  return false;
}

} // namespace

Operand Checker::check_chain(const Node &node, const Type *expected) {
  const Type *wanted = float_only(expected);
  Operand left = check(*node.first, wanted);
  const Node *sign = node.first->next;
  while (sign && sign->next) {
    const Node &right_node = *sign->next;
    OpCode code;
    if (!operator_code(sign->text, code))
      return error(sign->place, "`" + std::string(sign->text) + "` is no operator");
    // Operands are computed from left to right, so a variable is read before the right operand's calls can
    // change it.
    if (left.is_place() && !left.type->is_aggregate()) {
      Symbol *symbol = left.symbol;
      left = value_operand(load(left), left.type, left.at);
      left.symbol = symbol;
    }
    bool logical = (code == OpCode::and_ || code == OpCode::or_) && left.type &&
                   left.type->is_host_scalar() && left.type->is_bool() &&
                   (left.kind == Operand::Kind::value || left.is_constant());
    if (logical) {
      left = check_short_circuit(code, std::move(left), right_node, sign->place);
    } else {
      Operand right = check(right_node, wanted);
      left = binary(code, sign->text, std::move(left), std::move(right), sign->place);
    }
    sign = right_node.next;
  }
  return left;
}

Operand Checker::check_short_circuit(OpCode code, Operand left, const Node &right_node, spectra::Place at) {
  const std::string_view sign = code == OpCode::and_ ? "and" : "or";
  const bool decides = code == OpCode::or_; // the left value that settles the answer
  if (left.is_constant()) {
    if ((left.constant.integer != 0) == decides) {
      Operand right;
      {
        Scratch scratch(*this); // the right operand is never computed, but must be right
        right = check(right_node);
      }
      if (right.is_poison()) return right;
      if (right.type && right.type->is_host_scalar() && right.type->is_bool()) return left;
      Scratch scratch(*this);
      return binary(code, sign, std::move(left), std::move(right), at);
    }
    Operand right = check(right_node);
    if (right.type && right.type->is_host_scalar() && right.type->is_bool()) return right;
    return binary(code, sign, std::move(left), std::move(right), at);
  }
  // The right operand is emitted apart: only its type says whether it may be skipped.
  spectra::Region *outside = build.region();
  spectra::Region *inside = module.new_region();
  build.set_region(inside);
  build.set_place(at);
  Operand right = enter_region() ? check(right_node) : Operand{};
  --depth;
  bool skippable = right.type && right.type->is_host_scalar() && right.type->is_bool() &&
                   (right.is_constant() || right.kind == Operand::Kind::value || right.is_place());
  if (!skippable) {
    for (spectra::Op *op : inside->ops) outside->ops.push_back(op);
    build.set_region(outside);
    return binary(code, sign, std::move(left), std::move(right), at);
  }
  spectra::Value *second = load(right);
  build.append(OpCode::yield)->operands.push_back(second);
  build.set_region(outside);
  build.set_place(at);
  spectra::Op *op = build.append(OpCode::if_);
  op->operands.push_back(left.value);
  spectra::Region *skipped = module.new_region();
  build.set_region(skipped);
  spectra::Value *settled = build.constant(types.lower(types.boolean()), decides);
  build.append(OpCode::yield)->operands.push_back(settled);
  build.set_region(outside);
  inside->parent = skipped->parent = op;
  op->regions.push_back(decides ? skipped : inside);
  op->regions.push_back(decides ? inside : skipped);
  return value_operand(build.add_result(op, types.lower(types.boolean())), types.boolean(), at);
}

} // namespace mica::check
