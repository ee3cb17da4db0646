// Open shapes: a procedure whose parameters leave their sizes open is compiled once for each shape it is
// called with.
#include "whole_parts.h"

namespace mica::check {

Proc *instantiate(Checker &c, Proc &open, std::vector<Operand> &arguments, spectra::Place at) {
  const std::string name(open.symbol->name);
  std::vector<const Type *> closed;
  std::string key;
  for (size_t i = 0; i < open.parameter_types.size(); ++i) {
    const Type *wanted = open.parameter_types[i].type;
    if (wanted->is_poison()) return nullptr;
    if (wanted->is(Kind::open)) {
      Operand &o = arguments[i];
      const bool by_reference = open.parameter_types[i].by_reference;
      if (!o.type || o.kind == Operand::Kind::procedure || o.kind == Operand::Kind::type ||
          !o.type->is_whole() || (wanted->rank > 0 && o.type->rank != wanted->rank) ||
          o.type->scalar != wanted->scalar || o.type->gpu != wanted->gpu ||
          (by_reference && o.type->tracked != wanted->tracked)) {
        std::string hint;
        if (o.type && o.type->is_whole() && o.type->gpu != wanted->gpu)
          hint = wanted->gpu ? "ToGpu(...) copies to the card" : "ToHost(...) brings it down and waits";
        else if (o.type && o.type->is_whole() && o.type->scalar != wanted->scalar)
          hint = std::string("write `as ") + source_name(wanted->scalar) + "` to convert";
        c.error(o.at,
                "argument " + std::to_string(i + 1) + " of `" + name + "` needs " + c.types.name(wanted) +
                    ", not " + (o.type ? c.types.name(o.type) : std::string("a name")),
                hint);
        return nullptr;
      }
      wanted = c.types.whole(wanted->scalar, o.type->sizes, wanted->gpu, wanted->tracked);
    }
    closed.push_back(wanted);
    key += spectra::to_text(c.types.lower(wanted)) + ";";
  }
  std::pair found = open.instances.try_emplace(key, nullptr);
  if (!found.second) return found.first->second;
  constexpr int kMostInstances = 1000;
  if (++state(c).instances > kMostInstances) {
    if (state(c).instances == kMostInstances + 1)
      c.error(at,
              "procedures with open shapes are called with more than " + std::to_string(kMostInstances) +
                  " shapes",
              "a procedure that calls itself with a growing shape never ends");
    return nullptr;
  }

  // The declaration once more, with symbols of its own; its name is found from inside only.
  c.scopes.emplace_back();
  Scope &aside = c.scopes.back();
  aside.outer = open.scope->outer;
  aside.proc = open.outer;
  Scope *outside = c.scope;
  const size_t first_inner = open.outer ? open.outer->inner.size() : 0;
  c.collect_procedure(*open.node, aside, false);
  if (open.outer) open.outer->inner.resize(first_inner);
  Symbol *symbol = aside.order.back();
  Proc &proc = *symbol->proc;
  found.first->second = &proc;
  proc.open_template = &open;
  proc.link_name = open.link_name + "." + std::to_string(open.instances.size());
  std::vector<Proc *> nested{&proc};
  for (size_t i = 0; i < nested.size(); ++i)
    for (Proc *inner : nested[i]->inner) {
      inner->link_name = nested[i]->link_name + "." + std::string(inner->symbol->name);
      nested.push_back(inner);
    }
  symbol->state = Symbol::State::resolved;
  proc.header_resolved = true;
  for (size_t i = 0; i < closed.size(); ++i) {
    Symbol *parameter = proc.parameters[i];
    parameter->type = closed[i];
    parameter->state = Symbol::State::resolved;
    proc.parameter_types.push_back({closed[i], parameter->by_reference});
  }
  c.scope = proc.scope;
  for (const Node *child : proc.node->children())
    if (child->is(spectra::NodeKind::result)) proc.answer = c.type_of(*child->first);
  if (!proc.answer || !proc.answer->is_poison()) {
    proc.type = c.types.procedure(proc.parameter_types, proc.answer);
    symbol->type = proc.type;
  } else {
    symbol->type = c.types.poison();
  }
  c.resolve_all(*proc.scope);
  c.complete_records();
  c.scope = outside;
  if (symbol->type->is_poison()) return nullptr;

  std::vector<Proc *> all{&proc};
  for (size_t i = 0; i < all.size(); ++i)
    for (Proc *inner : all[i]->inner)
      if (!inner->has_open) all.push_back(inner);
  c.analyze_frames(all);
  for (Proc *p : all) c.define_frame(*p);
  for (Proc *p : all) c.ensure_func(*p);
  for (size_t i = all.size(); i-- > 0;) c.work.push_back(all[i]);
  return &proc;
}

} // namespace mica::check
