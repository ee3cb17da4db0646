// Statements: assignment, calls, if, blocks, and the jumps leave, break, continue.
#include "checker.h"
#include "whole.h"

namespace mica::check {

using spectra::NodeKind;
using spectra::OpCode;

bool Checker::enter_region() {
  // Spectra's texts hold regions nested up to 1000 deep (SPECTRA.md 6).
  constexpr int kDeepestRegion = 980;
  if (++depth != kDeepestRegion) return depth < kDeepestRegion;
  error(build.place(), "statements are nested more than " + std::to_string(kDeepestRegion) + " deep",
        "an `if` behind `else` counts as nested: a long row of them is better a `case`");
  return false;
}

void Checker::statements(const Node &list) {
  for (const Node *child = list.first; child; child = child->next) {
    if (!ended) {
      statement(*child);
      continue;
    }
    // What follows a jump is never run, but must be right.
    Scratch scratch(*this);
    for (; child; child = child->next) statement(*child);
    return;
  }
}

void Checker::statement(const Node &node) {
  switch (node.kind) {
  case NodeKind::block: statements(node); return;
  case NodeKind::assign: assign(node); return;
  case NodeKind::call_statement: {
    const Node &call = *node.first;
    if (call.is(NodeKind::call)) {
      check(call);
      return;
    }
    // A procedure's name, whose type is asked for so that a function's own name is not its answer.
    Symbol *named = call.is(NodeKind::name) ? lookup(call.text, call.place) : nullptr;
    if (call.is(NodeKind::name) && !named) return;
    Operand operand = named ? name_operand(*named, call.place) : check(call);
    if (operand.is_poison()) return;
    if (operand.kind == Operand::Kind::procedure || operand.kind == Operand::Kind::builtin) {
      std::string name(operand.symbol->name);
      error(call.place, "`" + name + "` is not called", "write " + name + "()");
    } else {
      error(call.place, "a statement is an assignment or a call, not a value");
    }
    return;
  }
  case NodeKind::if_: if_statement(node); return;
  case NodeKind::while_: while_statement(node); return;
  case NodeKind::repeat: repeat_statement(node); return;
  case NodeKind::for_:
  case NodeKind::for_down: for_statement(node); return;
  case NodeKind::case_: case_statement(node); return;
  case NodeKind::leave:
  case NodeKind::break_:
  case NodeKind::continue_: jump_statement(node); return;
  case NodeKind::tape: check_tape(*this, node); return;
  case NodeKind::empty: return;
  default: error(node.place, "a statement is wanted here"); return;
  }
}

// ---- assignment
// ------------------------------------------------------------------------------------------------------

Operand Checker::check_target(const Node &node) {
  if (node.is(NodeKind::name)) {
    Symbol *symbol = lookup(node.text, node.place);
    if (!symbol) return Operand{};
    if (symbol->kind == SymbolKind::procedure) {
      resolve(*symbol);
      for (Proc *p = proc; p; p = p->outer) {
        if (p->symbol != symbol) continue;
        if (!p->answer_variable)
          return error(node.place, "`" + std::string(node.text) + "` is a procedure and has no answer",
                       "declare it as a function");
        if (!p->answer || p->answer->is_poison()) return Operand{};
        resolve(*p->answer_variable);
        return place_operand(*p->answer_variable, node.place);
      }
      return error(node.place, "`" + std::string(node.text) + "` can't be assigned outside of itself");
    }
    return name_operand(*symbol, node.place);
  }
  // `F.x := ...` and `F[i] := ...` inside the function F reach into its answer.
  if (node.is(NodeKind::member) || node.is(NodeKind::index)) {
    const Node *root = &node;
    while (root->is(NodeKind::member) || root->is(NodeKind::index)) root = root->first;
    Symbol *symbol = root->is(NodeKind::name) ? scope->find(root->text) : nullptr;
    if (symbol && symbol->kind == SymbolKind::procedure) {
      Operand base = check_target(*node.first);
      if (base.is_poison()) return base;
      if (node.is(NodeKind::index)) return index_into(std::move(base), node.first->next, node.place);
      if (base.type->is(Kind::pointer)) base = dereference(std::move(base), node.place);
      complete_records();
      int field = base.type->is(Kind::record) ? base.type->record->field_index(node.text) : -1;
      if (field < 0)
        return error(node.place, types.name(base.type) + " has no field `" + std::string(node.text) + "`");
      return field_of(std::move(base), field, node.place);
    }
  }
  return check(node);
}

void Checker::assign(const Node &node) {
  Operand target = check_target(*node.first);
  const Node &value = *node.last;
  if (target.is_poison()) {
    check(value, types.poison());
    return;
  }
  if (!target.is_place() || !target.assignable) {
    std::string what;
    if (node.first->is(NodeKind::name))
      what = "`" + std::string(node.first->text) + "` ";
    else
      what = "this ";
    if (target.kind == Operand::Kind::constant)
      what += "is a constant and can't be assigned";
    else if (target.kind == Operand::Kind::type)
      what += "is a type and can't be assigned";
    else if (target.kind == Operand::Kind::builtin)
      what += "is a verb and can't be assigned";
    else if (target.why_not)
      what += std::string(target.why_not) + " and can't be assigned";
    else if (node.first->is(NodeKind::index) && target.kind == Operand::Kind::value &&
             target.type->is_unicode())
      what = "a string's characters can't be assigned";
    else
      what += "is no variable and can't be assigned";
    error(node.first->place, what);
    check(value, types.poison());
    return;
  }
  assign_to(std::move(target), value, node.place);
}

void Checker::assign_to(Operand target, const Node &value, spectra::Place at) {
  mark_changed(target);
  if ((target.type->is_device_or_whole() || target.type->is_aggregate()) &&
      assign_whole(*this, target, value, at))
    return;
  std::string purpose = "the assignment";
  if (target.symbol && target.path.steps.empty())
    purpose = "assigning to `" + std::string(target.symbol->name) + "`";
  if (target.type->is_aggregate()) {
    Operand source = check(value, target.type);
    if (source.is_poison()) return;
    source = convert(std::move(source), target.type, purpose);
    if (source.is_poison()) return;
    build.set_place(at);
    copy_aggregate(target, source);
    return;
  }
  Operand operand = check(value, target.type);
  if (target.type->is(Kind::procedure) && !note_storing(operand, value.place)) return;
  operand = convert(std::move(operand), target.type, purpose);
  if (operand.is_poison()) return;
  spectra::Value *loaded = load(operand);
  build.set_place(at);
  store(target, loaded);
}

// ---- if
// --------------------------------------------------------------------------------------------------------------

void Checker::if_statement(const Node &node) {
  const Node &condition = *node.first;
  Operand operand = check(condition);
  const bool device = operand.type && operand.type->is_scalar() && operand.type->gpu;
  if (device && operand.type->is_bool()) {
    check_device_if(*this, node);
  } else {
    operand = convert(std::move(operand), types.boolean(), "a condition");
  }
  const Node *then = condition.next;
  const Node *otherwise = then->next;
  spectra::Value *value = load(operand);
  spectra::Op *op = nullptr;
  if (value) {
    build.set_place(node.place);
    op = build.append(OpCode::if_);
    op->operands.push_back(value);
  }
  fill(op, [&](spectra::Region *) { statement(*then); });
  fill(op, [&](spectra::Region *) {
    if (otherwise) statement(*otherwise);
  });
}

// ---- jumps
// -----------------------------------------------------------------------------------------------------------

void Checker::jump_statement(const Node &node) {
  build.set_place(node.place);
  const char *word = node.is(NodeKind::leave) ? "leave" : node.is(NodeKind::break_) ? "break" : "continue";
  if (node.is(NodeKind::leave)) {
    if (window >= 0) {
      error(node.place, "`leave` would leave the window without closing it",
            "set a flag in the window and leave after its end");
      return;
    }
    emit_return();
    return;
  }
  if (loops == 0) {
    error(node.place, window >= 0 ? std::string("`") + word + "` would leave the window without closing it"
                                  : std::string("`") + word + "` stands in no loop");
    return;
  }
  build.append(node.is(NodeKind::break_) ? OpCode::break_ : OpCode::continue_);
  ended = true;
}

} // namespace mica::check
