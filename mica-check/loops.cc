// while, repeat and for.
#include "checker.h"

namespace mica::check {

using spectra::NodeKind;
using spectra::OpCode;

namespace {

/// Whether a `continue` of this loop itself stands in the statement.
bool has_continue(const Node &node) {
  switch (node.kind) {
  case NodeKind::continue_: return true;
  case NodeKind::while_:
  case NodeKind::repeat:
  case NodeKind::for_:
  case NodeKind::for_down: return false; // an inner loop's own
  case NodeKind::block:
  case NodeKind::if_:
  case NodeKind::case_:
  case NodeKind::arm:
  case NodeKind::otherwise:
    for (const Node *child : node.children())
      if (has_continue(*child)) return true;
    return false;
  default: return false;
  }
}

} // namespace

void Checker::while_statement(const Node &node) {
  build.set_place(node.place);
  spectra::Op *op = build.append(OpCode::while_);
  bool right = true;
  fill(op, [&](spectra::Region *) {
    Operand condition = check(*node.first);
    if (condition.type && condition.type->is_scalar() && condition.type->gpu) {
      error(node.first->place,
            "a `while` needs its condition on the host, and " + types.name(condition.type) +
                " lives on the card",
            "ToHost(...) brings it down and waits");
      condition = Operand{};
    }
    spectra::Value *value = load(convert(std::move(condition), types.boolean(), "a condition"));
    right = value != nullptr;
    build.set_place(node.place);
    build.append(OpCode::yield)->operands.push_back(value);
    ended = true;
  });
  ++loops;
  fill(op, [&](spectra::Region *) { statement(*node.last); });
  --loops;
  if (!right) build.region()->ops.pop_back();
}

void Checker::repeat_statement(const Node &node) {
  const Node &body_node = *node.first;
  auto until = [&] { // yields whether to go on
    Operand condition = check(*node.last);
    if (condition.type && condition.type->is_scalar() && condition.type->gpu) {
      error(node.last->place,
            "`until` needs its condition on the host, and " + types.name(condition.type) +
                " lives on the card",
            "ToHost(...) brings it down and waits");
      condition = Operand{};
    }
    spectra::Value *value = load(convert(std::move(condition), types.boolean(), "a condition"));
    build.set_place(node.place);
    return value ? build.make(OpCode::not_, {value}) : nullptr;
  };
  build.set_place(node.place);
  spectra::Op *op = module.new_op(OpCode::while_, node.place);
  ++loops;
  if (!has_continue(body_node)) {
    fill(op, [&](spectra::Region *) {
      statement(body_node);
      if (ended) { // never reached, but must be right
        Scratch scratch(*this);
        until();
        return;
      }
      spectra::Value *again = until();
      build.append(OpCode::yield)->operands.push_back(again);
      ended = true;
    });
    fill(op, [](spectra::Region *) {});
  } else {
    // `continue` goes to the condition, so the condition must be what a turn begins with: true on the first
    // one.
    Operand first = temporary(types.boolean(), "first", node.place);
    store(first, build.constant(types.lower(types.boolean()), 1));
    fill(op, [&](spectra::Region *) {
      spectra::Value *is_first = load(first);
      spectra::Op *choice = build.append(OpCode::if_);
      choice->operands.push_back(is_first);
      fill(choice, [&](spectra::Region *) {
        spectra::Value *yes = build.constant(types.lower(types.boolean()), 1);
        build.append(OpCode::yield)->operands.push_back(yes);
        ended = true;
      });
      fill(choice, [&](spectra::Region *) {
        spectra::Value *again = until();
        build.append(OpCode::yield)->operands.push_back(again);
        ended = true;
      });
      spectra::Value *go_on = build.add_result(choice, types.lower(types.boolean()));
      build.append(OpCode::yield)->operands.push_back(go_on);
      ended = true;
    });
    fill(op, [&](spectra::Region *) {
      store(first, build.constant(types.lower(types.boolean()), 0));
      statement(body_node);
    });
  }
  --loops;
  build.region()->ops.push_back(op);
}

void Checker::for_statement(const Node &node) {
  const Node &variable_node = *node.first;
  const Node &from_node = *variable_node.next;
  const Node &to_node = *from_node.next;
  const Node *by_node = to_node.next->is(NodeKind::by) ? to_node.next : nullptr;
  const Node &body_node = *node.last;
  Operand variable = check(variable_node);
  if (!variable.is_poison()) {
    if (!variable.is_place() || !variable.assignable)
      variable = error(variable_node.place, "a `for` counts in a variable");
    else if (!variable.type->is_ordinal())
      variable = error(variable_node.place,
                       "a `for` counts in an integer, character, bool or enumeration, not " +
                           types.name(variable.type),
                       variable.type->is_float() ? "count in an int32 and compute the float from it" : "");
  }
  const Type *type = variable.is_poison() ? types.poison() : variable.type;
  const Type *base = Types::base(type);
  std::string purpose = "the start of `for`";
  auto bound = [&](const Node &bound_node, const char *what) {
    Operand operand = check(bound_node, base);
    if (type->is_poison() || operand.is_poison()) return Operand{};
    operand = convert(std::move(operand), base, what);
    if (operand.is_place()) operand = value_operand(load(operand), operand.type, operand.at);
    return operand;
  };
  Operand from = bound(from_node, "the start of `for`");
  Operand to = bound(to_node, "the end of `for`");
  __int128 by = 1;
  if (by_node && constant_integer(*by_node->first, "`by`", by) &&
      (by < 1 || by > max_of(spectra::Scalar::i64))) {
    error(by_node->first->place, "`by` needs a positive constant, not " + text_of(by),
          "`downto` counts down");
    by = 1;
  }
  if (variable.is_poison() || from.is_poison() || to.is_poison()) {
    ++loops;
    Scratch scratch(*this);
    statement(body_node);
    --loops;
    return;
  }
  // Only a subrange can be left by the bounds; constant ones are known to stay inside.
  bool inside = !type->is(Kind::subrange);
  if (type->is(Kind::subrange) && from.is_constant() && to.is_constant()) {
    __int128 low = from.constant.integer, high = to.constant.integer;
    if (node.is(NodeKind::for_down)) std::swap(low, high);
    inside = low > high || (low >= type->low && high <= type->high);
    if (!inside) {
      const Operand &wrong =
          from.constant.integer < type->low || from.constant.integer > type->high ? from : to;
      error(wrong.at, text_of(wrong.constant) + " is outside " + types.name(type));
      inside = true;
    }
  }
  spectra::Value *first = index_value(from), *last = index_value(to);
  build.set_place(node.place);
  spectra::Op *op = build.append(OpCode::for_);
  op->operands.push_back(first);
  op->operands.push_back(last);
  op->set(spectra::Attr::by, static_cast<int64_t>(by));
  if (node.is(NodeKind::for_down)) op->set(spectra::Attr::down, true);
  ++loops;
  fill(op, [&](spectra::Region *region) {
    spectra::Value *counter =
        module.new_value(first->type, variable.symbol ? variable.symbol->name : std::string_view("i"));
    counter->region = region;
    region->args.push_back(counter);
    build.set_place(variable_node.place);
    spectra::Value *value = counter;
    const spectra::Type *wanted = types.lower_value(type);
    if (!inside) value = check_range(value, type);
    if (value->type != wanted)
      value = base->is_bool() ? build.make(OpCode::ne, {value, build.constant(value->type, 0)})
                              : build.make_typed(OpCode::cast, {value}, wanted);
    store(variable, value);
    statement(body_node);
  });
  --loops;
}

} // namespace mica::check
