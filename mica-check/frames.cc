// Static links (SPECTRA.md 4): the variables of a procedure that inner ones touch live in its frame record;
// an inner procedure gets a pointer to the frame of the procedure that it stands in, and each frame's field
// `up` leads further out.
#include "checker.h"

namespace mica::check {

using spectra::NodeKind;
using spectra::OpCode;
using spectra::Path;

namespace {

/// Finds what a body touches: variables of outer procedures, and nested procedures that it names.
struct Toucher {
  Checker &checker;
  Proc &proc;

  void capture(Symbol &variable) {
    Proc *owner = variable.owner;
    if (!owner || owner == &proc) return;
    if (!variable.captured) {
      variable.captured = true;
      owner->captured.push_back(&variable);
    }
    proc.reach = std::min(proc.reach, owner->depth);
  }

  /// How a name stands: before the parentheses of a call, left of `:=`, or anywhere else.
  enum class Use { callee, target, value };

  void name(const Node &node, Use use) {
    Symbol *symbol = proc.scope->find(node.text);
    if (!symbol) return;
    if (symbol->kind == SymbolKind::variable) capture(*symbol);
    if (symbol->kind != SymbolKind::procedure) return;
    // `Outer` in an inner procedure is Outer's answer where it is not called.
    if (use != Use::callee && symbol->proc->answer_variable)
      for (Proc *outer = proc.outer; outer; outer = outer->outer)
        if (outer == symbol->proc) capture(*symbol->proc->answer_variable);
    if (use != Use::target && symbol->proc->outer) proc.mentions.push_back(symbol->proc);
  }

  void visit(const Node &node) {
    switch (node.kind) {
    case NodeKind::name: name(node, Use::value); return;
    case NodeKind::call:
      for (const Node *child : node.children())
        if (child == node.first && child->is(NodeKind::name))
          name(*child, Use::callee);
        else
          visit(*child);
      return;
    case NodeKind::procedure:
    case NodeKind::function:
    case NodeKind::external: return; // a body of its own
    case NodeKind::assign: {
      const Node *target = node.first;
      if (target->is(NodeKind::name))
        name(*target, Use::target);
      else
        visit_target(*target);
      visit(*node.last);
      return;
    }
    default:
      for (const Node *child : node.children()) visit(*child);
    }
  }

  /// The variable at the root of `F.field := x` or `F[i] := x` may be the answer too.
  void visit_target(const Node &node) {
    if (node.is(NodeKind::member) || node.is(NodeKind::index)) {
      if (node.first->is(NodeKind::name))
        name(*node.first, Use::target);
      else
        visit_target(*node.first);
      for (const Node *child = node.first->next; child; child = child->next) visit(*child);
      return;
    }
    visit(node);
  }
};

} // namespace

void Checker::analyze_frames(std::vector<Proc *> list) {
  for (Proc *p : list) {
    Toucher toucher{*this, *p};
    for (const Node *child : p->node->children()) {
      if (child->is(NodeKind::block)) toucher.visit(*child);
      if (child->is(NodeKind::var_decl) && child->last->is(NodeKind::init)) toucher.visit(*child->last);
    }
  }
  // Who calls a procedure must be able to hand it its frame; to a fixed point, since calls may be mutual.
  for (bool changed = true; changed;) {
    changed = false;
    for (Proc *p : list) {
      int reach = p->reach;
      for (Proc *mentioned : p->mentions) reach = std::min(reach, mentioned->reach);
      for (Proc *inner : p->inner) reach = std::min(reach, inner->reach);
      if (reach < p->reach) {
        p->reach = reach;
        changed = true;
      }
    }
  }
  for (Proc *p : list)
    for (Proc *inner : p->inner) p->has_frame = p->has_frame || inner->takes_frame();
}

/// The frame record: `up` where there is an outer frame, then what inner procedures touch.
void Checker::define_frame(Proc &owner) {
  if (!owner.has_frame) return;
  spectra::Record *record = types.table().define(owner.link_name + ".frame");
  if (owner.takes_frame()) record->fields.push_back({"up", types.table().frame()});
  for (Symbol *variable : owner.captured) {
    variable->frame_field = static_cast<int>(record->fields.size());
    const bool answer = variable == owner.answer_variable;
    const Type *type = answer ? owner.answer : variable->type;
    if (!type) type = types.poison();
    const bool pointer = variable->by_reference || (variable->is_parameter && type->is_aggregate());
    std::string name(variable->name);
    while (record_has(*record, name)) name += "'1";
    record->fields.push_back({name, pointer ? types.table().pointer(types.lower(type)) : types.lower(type)});
  }
  record->defined = true;
}

bool Checker::record_has(const spectra::Record &record, std::string_view name) {
  return record.field_index(name) >= 0;
}

/// A field of the frame: of the current procedure's own `$frame`, or of an outer one's through the static
/// links.
Operand Checker::frame_field(Proc &owner, int field, Symbol *variable) {
  Operand o;
  o.kind = Operand::Kind::place;
  o.type = variable ? variable->type : types.nil();
  o.at = build.place();
  if (&owner == proc) {
    o.path.base = Path::Base::local;
    o.path.symbol = "'frame";
  } else {
    o.path.base = Path::Base::pointer;
    const OuterFrame *outer = outer_frame(owner);
    if (outer) o.path.pointer = outer->typed;
  }
  o.path.steps.push_back({Path::Step::Kind::field, field, nullptr});
  return o;
}

/// At a body's start: the frames of the outer procedures that it touches, along the static links.
void Checker::open_outer_frames(Proc &inner) {
  outer_frames.clear();
  spectra::Value *untyped = frame;
  for (Proc *outer = inner.outer; untyped && outer; outer = outer->outer) {
    const spectra::Type *record = types.table().record(outer->link_name + ".frame");
    spectra::Value *typed =
        build.make_typed(OpCode::frame_as, {untyped}, types.table().pointer(record), outer->symbol->name);
    outer_frames.push_back({outer, untyped, typed});
    if (outer->depth <= inner.reach) return;
    PathRef up;
    up.base = Path::Base::pointer;
    up.pointer = typed;
    up.steps.push_back({Path::Step::Kind::field, 0, nullptr});
    untyped = build.add_result(path_op(OpCode::read, up, {}), types.table().frame(), "up");
  }
}

const Checker::OuterFrame *Checker::outer_frame(const Proc &owner) const {
  for (const OuterFrame &outer : outer_frames)
    if (outer.owner == &owner) return &outer;
  return nullptr;
}

spectra::Value *Checker::frame_for(const Proc &callee) {
  if (!callee.takes_frame()) return nullptr;
  if (callee.outer != proc) {
    const OuterFrame *outer = outer_frame(*callee.outer);
    return outer ? outer->untyped : nullptr;
  }
  PathRef own;
  own.base = Path::Base::local;
  own.symbol = "'frame";
  spectra::Op *op = path_op(OpCode::address, own, {});
  spectra::Value *pointer =
      build.add_result(op, types.table().pointer(types.table().record(proc->link_name + ".frame")));
  return build.make(OpCode::frame_of, {pointer});
}

Operand Checker::place_operand(Symbol &variable, spectra::Place at) {
  Operand o;
  o.kind = Operand::Kind::place;
  o.type = variable.type;
  o.symbol = &variable;
  o.at = at;
  const bool pointer = variable.by_reference || (variable.is_parameter && variable.type->is_aggregate());
  build.set_place(at);
  if (!variable.owner) {
    o.path.base = Path::Base::global;
    o.path.symbol = variable.link_name;
    return o;
  }
  if (variable.captured) {
    if (func && !proc) return o; // only the type is asked for
    if (variable.owner != proc && !outer_frame(*variable.owner)) return o;
    Operand field = frame_field(*variable.owner, variable.frame_field, &variable);
    if (!pointer) {
      o.path = field.path;
      return o;
    }
    o.path.base = Path::Base::pointer;
    o.path.pointer = build.add_result(path_op(OpCode::read, field.path, {}),
                                      types.table().pointer(types.lower(variable.type)), variable.name);
    return o;
  }
  if (pointer) {
    o.path.base = Path::Base::pointer;
    o.path.pointer = variable.parameter;
    if (!o.path.pointer) { // only the type is asked for
      o.path.base = Path::Base::local;
      o.path.symbol = variable.name;
    }
    return o;
  }
  o.path.base = Path::Base::local;
  o.path.symbol = variable.link_name;
  return o;
}

} // namespace mica::check
