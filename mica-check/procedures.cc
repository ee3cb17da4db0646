// Procedures: headers, what stands at a body's entry and exit, and the body.
#include "checker.h"
#include "whole.h"

namespace mica::check {

using spectra::NodeKind;
using spectra::OpCode;

void Checker::resolve_header(Proc &proc) {
  if (proc.header_resolved) return;
  proc.header_resolved = true;
  Scope *outside = scope;
  scope = proc.scope;
  ++resolving;
  bool wrong = false;
  for (Symbol *parameter : proc.parameters) {
    resolve(*parameter);
    proc.parameter_types.push_back({parameter->type, parameter->by_reference});
    wrong = wrong || parameter->type->is_poison();
    if (parameter->type->is(Kind::open)) proc.has_open = true;
  }
  // The answer of a procedure with open shapes depends on its arguments.
  if (proc.node->is(NodeKind::function) && !proc.has_open) {
    for (const Node *child : proc.node->children())
      if (child->is(NodeKind::result)) proc.answer = type_of(*child->first);
    wrong = wrong || proc.answer->is_poison();
  }
  proc.type = wrong || proc.has_open ? types.poison() : types.procedure(proc.parameter_types, proc.answer);
  if (proc.has_open && !wrong) proc.type = nullptr; // is no value
  proc.symbol->type = proc.type;
  if (--resolving == 0) complete_records();
  scope = outside;
}

void Checker::resolve_all(Scope &target) {
  for (Symbol *symbol : target.order) {
    resolve(*symbol);
    if (symbol->kind == SymbolKind::procedure && !symbol->proc->has_open) resolve_all(*symbol->proc->scope);
  }
}

/// Spectra's function with its parameters, before any body is emitted: calls look it up.
void Checker::ensure_func(Proc &proc) {
  if (proc.func || proc.has_open) return;
  proc.func = module.new_func(proc.link_name);
  spectra::Func &f = *proc.func;
  f.place = proc.symbol->place;
  f.external = proc.external;
  f.exported = proc.exported;
  auto add = [&](const spectra::Type *type, std::string_view name) {
    spectra::Value *v = module.new_value(type, name);
    v->region = f.body;
    f.body->args.push_back(v);
    return v;
  };
  if (proc.takes_frame()) add(types.table().frame(), "frame");
  for (size_t i = 0; i < proc.parameters.size(); ++i)
    add(types.lower_parameter(proc.parameter_types[i]), proc.parameters[i]->name);
  if (proc.answer && proc.answer->is_aggregate())
    add(types.table().pointer(types.lower(proc.answer)), "answer");
  else if (proc.answer)
    f.result = types.lower_value(proc.answer);
}

std::string_view Checker::add_local(std::string_view name, const Type *type, spectra::Place at) {
  std::string_view unique = name;
  while (!local_names.insert(unique).second) unique = module.keep(std::string(unique) + "'1");
  spectra::Variable v;
  v.name = unique;
  v.type = types.lower(type);
  v.place = at;
  func->locals.push_back(v);
  return unique;
}

void Checker::emit_procedure(Proc &emitted) {
  ensure_func(emitted);
  if (emitted.external || emitted.emitted) return;
  emitted.emitted = true;
  proc = &emitted;
  scope = emitted.scope;
  func = emitted.func;
  build.set_region(func->body);
  build.set_place(emitted.symbol->place);
  loops = 0;
  window = -1;
  temporaries = 0;
  ended = false;
  local_names.clear();
  frame = emitted.takes_frame() ? func->body->args[0] : nullptr;
  open_outer_frames(emitted);
  size_t first = frame ? 1 : 0;
  if (emitted.has_frame) {
    spectra::Variable v;
    v.name = "'frame";
    v.type = types.table().record(emitted.link_name + ".frame");
    v.place = emitted.symbol->place;
    func->locals.push_back(v);
    if (frame) store(frame_field(emitted, 0, nullptr), frame);
  }

  // Parameters: values go into a variable of their own, records and arrays stay where they are.
  for (size_t i = 0; i < emitted.parameters.size(); ++i) {
    Symbol &parameter = *emitted.parameters[i];
    if (parameter.type->is_poison()) continue;
    spectra::Value *value = func->body->args[first + i];
    const bool pointer = parameter.by_reference || parameter.type->is_aggregate();
    if (parameter.captured) {
      store(frame_field(emitted, parameter.frame_field, &parameter), value);
    } else if (!pointer) {
      parameter.link_name = add_local(parameter.name, parameter.type, parameter.place);
      store(place_operand(parameter, parameter.place), value);
    }
    parameter.parameter = value;
  }
  Symbol *answer = emitted.answer_variable;
  if (answer && emitted.answer && !emitted.answer->is_poison()) {
    answer->type = emitted.answer;
    if (!answer->captured) answer->link_name = add_local(answer->name, emitted.answer, answer->place);
  }
  for (Symbol *symbol : emitted.scope->order) {
    if (symbol->kind != SymbolKind::variable || symbol->is_parameter || symbol->captured) continue;
    if (symbol->type && !symbol->type->is_poison())
      symbol->link_name = add_local(symbol->name, symbol->type, symbol->place);
  }
  emit_first_values(*emitted.node);
  for (const Node *child : emitted.node->children())
    if (child->is(NodeKind::block)) statement(*child);
  if (!ended) {
    build.set_place({});
    emit_return();
  }
  copy_changed_parameters(emitted);
  proc = nullptr;
  func = nullptr;
}

void Checker::emit_return() {
  std::vector<spectra::Value *> answer;
  if (proc && proc->answer && !proc->answer->is_poison()) {
    // A record or an array is copied to where the caller wants it: the last parameter.
    Operand variable = place_operand(*proc->answer_variable, build.place());
    if (proc->answer->is_aggregate())
      copy_aggregate(through_pointer(func->body->args.back(), proc->answer, build.place()), variable);
    else
      answer.push_back(load(variable));
  }
  build.append(OpCode::return_)->operands.assign(answer.begin(), answer.end());
  ended = true;
}

/// `var n : int32 := 5`: what can't be a constant of the unit's is assigned at entry.
void Checker::emit_first_values(const Node &declarations) {
  for (const Node *child : declarations.children()) {
    if (!child->is(NodeKind::var_decl) || !child->last->is(NodeKind::init)) continue;
    for (const Node *name : child->children()) {
      if (!name->is(NodeKind::name)) break;
      Symbol *symbol = scope->find_here(name->text);
      if (!symbol || symbol->kind != SymbolKind::variable || symbol->node != child || symbol->has_first)
        continue;
      if (!symbol->type || symbol->type->is_poison()) {
        check(*child->last->first);
        continue;
      }
      assign_to(place_operand(*symbol, name->place), *child->last->first, child->last->place);
    }
  }
}

/// A record or array that its procedure changes is copied at entry; reading it needs no copy.
void Checker::copy_changed_parameters(Proc &emitted) {
  std::vector<spectra::Op *> entry;
  for (Symbol *parameter : emitted.parameters) {
    if (!parameter->assigned || parameter->by_reference || !parameter->parameter) continue;
    spectra::Value *original = parameter->parameter;
    std::string_view name = add_local(parameter->name, parameter->type, parameter->place);
    spectra::Region *scratch = module.new_region();
    build.set_region(scratch);
    build.set_place(parameter->place);
    PathRef path;
    path.base = spectra::Path::Base::local;
    path.symbol = name;
    spectra::Op *address = path_op(OpCode::address, path, {});
    spectra::Value *copy = build.add_result(address, original->type, parameter->name);
    spectra::walk(*func->body, [&](spectra::Op *op) {
      for (spectra::Value *&operand : op->operands)
        if (operand == original) operand = copy;
    });
    Operand local;
    local.kind = Operand::Kind::place;
    local.type = parameter->type;
    local.path = path;
    local.at = parameter->place;
    copy_aggregate(local, through_pointer(original, parameter->type, parameter->place));
    entry.insert(entry.end(), scratch->ops.begin(), scratch->ops.end());
  }
  func->body->ops.insert(func->body->ops.begin(), entry.begin(), entry.end());
}

void Checker::mark_changed(const Operand &place) {
  Symbol *symbol = place.symbol;
  if (symbol && symbol->is_parameter && !symbol->by_reference && symbol->type && symbol->type->is_aggregate())
    symbol->assigned = true;
}

} // namespace mica::check
