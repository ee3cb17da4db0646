// Names of a program: what it declares, in any order, and what a name means where it is used.
#include "checker.h"

#include <algorithm>

namespace mica::check {

using spectra::NodeKind;

Symbol *Scope::find_here(std::string_view name) const {
  auto it = names.find(name);
  return it == names.end() ? nullptr : it->second;
}

Symbol *Scope::find(std::string_view name) const {
  for (const Scope *s = this; s; s = s->outer)
    if (Symbol *symbol = s->find_here(name)) return symbol;
  return nullptr;
}

Symbol *Checker::new_symbol(SymbolKind kind, std::string_view name, spectra::Place at) {
  symbols.emplace_back();
  Symbol *symbol = &symbols.back();
  symbol->kind = kind;
  symbol->name = name;
  symbol->place = at;
  return symbol;
}

bool Checker::declare(Scope &target, Symbol *symbol) {
  symbol->scope = &target;
  symbol->owner = target.proc;
  std::pair entered = target.names.try_emplace(symbol->name, symbol);
  target.order.push_back(symbol);
  if (entered.second) return true;
  diag.error(symbol->place, "`" + std::string(symbol->name) + "` is declared twice");
  diag.note(entered.first->second->place, "the first is here");
  return false;
}

Symbol *Checker::lookup(std::string_view name, spectra::Place at) {
  if (Symbol *symbol = scope->find(name)) {
    symbol->used = true;
    return symbol;
  }
  std::string text(name);
  for (const BuiltinName &known : builtin_names())
    if (name == known.name && known.builtin.library != Library::predeclared) {
      std::string library = library_name(known.builtin.library);
      error(at, "`" + text + "` is not imported", "`imp " + text + " : " + library + ";` imports it");
      forget(name);
      return nullptr;
    }
  std::vector<std::string> candidates;
  for (const Scope *s = scope; s; s = s->outer)
    for (const Symbol *symbol : s->order) candidates.emplace_back(symbol->name);
  std::string near = spectra::nearest_name(text, candidates);
  if (near.empty()) {
    for (const BuiltinName &known : builtin_names()) candidates.emplace_back(known.name);
    near = spectra::nearest_name(text, candidates);
  }
  if (text.size() < 3) near.clear(); // every short name is near to every other
  error(at, "`" + text + "` is not declared", near.empty() ? "" : "did you mean `" + near + "`?");
  forget(name);
  return nullptr;
}

void Checker::forget(std::string_view name) {
  // One message a name and procedure: later uses find a symbol that says nothing.
  Symbol *silent = new_symbol(SymbolKind::poison, name, {});
  silent->type = types.poison();
  silent->state = Symbol::State::resolved;
  scope->names.emplace(name, silent);
}

// ---- collecting
// ------------------------------------------------------------------------------------------------------

void Checker::collect(const Node &declaration, Scope &target) {
  auto enter = [&](SymbolKind kind, std::string_view name, const Node &at, const Node &node) {
    Symbol *symbol = new_symbol(kind, name, at.place);
    symbol->node = &node;
    declare(target, symbol);
    return symbol;
  };
  switch (declaration.kind) {
  case NodeKind::import: break; // imports.cc
  case NodeKind::const_decl: enter(SymbolKind::constant, declaration.text, declaration, declaration); break;
  case NodeKind::type_decl: {
    enter(SymbolKind::type, declaration.text, declaration, declaration);
    collect_enumerators(*declaration.first, target, declaration.text);
    break;
  }
  case NodeKind::var_decl: {
    for (const Node *child : declaration.children())
      if (child->is(NodeKind::name))
        enter(SymbolKind::variable, child->text, *child, declaration);
      else if (!child->is(NodeKind::init))
        collect_enumerators(*child, target, {});
    break;
  }
  case NodeKind::procedure:
  case NodeKind::function: collect_procedure(declaration, target, false); break;
  case NodeKind::external: collect_procedure(*declaration.first, target, true); break;
  default: break;
  }
}

/// Enumerations declare their names where the type is written, also deep inside another type.
void Checker::collect_enumerators(const Node &type, Scope &target, std::string_view name) {
  if (type.is(NodeKind::enumeration)) {
    EnumType *declared = types.new_enum(name.empty() ? "an enumeration" : std::string(name));
    enumerations[&type] = declared;
    for (const Node *child : type.children()) {
      Symbol *symbol = new_symbol(SymbolKind::constant, child->text, child->place);
      symbol->state = Symbol::State::resolved;
      symbol->type = declared->type;
      symbol->value.type = declared->type;
      symbol->value.integer = static_cast<__int128>(declared->names.size());
      declare(target, symbol);
      declared->names.push_back(child->text);
    }
    if (name.empty() && !declared->names.empty()) {
      declared->name = "(" + std::string(declared->names[0]) + (declared->names.size() > 1 ? ", ...)" : ")");
    }
    return;
  }
  switch (type.kind) {
  case NodeKind::array:
  case NodeKind::record:
  case NodeKind::field_decl:
  case NodeKind::pointer:
  case NodeKind::pointer_array:
  case NodeKind::tracked:
  case NodeKind::on_gpu:
    for (const Node *child : type.children()) collect_enumerators(*child, target, {});
    break;
  default: break;
  }
}

void Checker::collect_procedure(const Node &node, Scope &target, bool external) {
  // Every level makes names longer and static links longer; no program is written that deep.
  constexpr int kDeepestProcedure = 100;
  if (target.proc && target.proc->depth >= kDeepestProcedure) {
    error(node.place, "procedures are nested more than " + std::to_string(kDeepestProcedure) + " deep");
    declare(target, new_symbol(SymbolKind::poison, node.text, node.place));
    return;
  }
  Symbol *symbol = new_symbol(SymbolKind::procedure, node.text, node.place);
  symbol->node = &node;
  procs.emplace_back();
  Proc &proc = procs.back();
  symbol->proc = &proc;
  proc.symbol = symbol;
  proc.node = &node;
  proc.outer = target.proc;
  proc.depth = target.proc ? target.proc->depth + 1 : 1;
  proc.external = external;
  bool fresh = declare(target, symbol);
  proc.link_name = (target.proc ? target.proc->link_name + "." : "") + std::string(node.text);
  if (!fresh)
    proc.link_name += "." + std::to_string(procs.size()); // an error has been said; keep names apart
  if (target.proc) target.proc->inner.push_back(&proc);
  scopes.emplace_back();
  Scope &own = scopes.back();
  own.outer = &target;
  own.proc = &proc;
  proc.scope = &own;
  for (const Node *child : node.children()) {
    if (child->is(NodeKind::parameter) || child->is(NodeKind::var_parameter)) {
      for (const Node *name : child->children()) {
        if (!name->is(NodeKind::name)) continue;
        Symbol *parameter = new_symbol(SymbolKind::variable, name->text, name->place);
        parameter->node = child;
        parameter->is_parameter = true;
        parameter->by_reference = child->is(NodeKind::var_parameter);
        declare(own, parameter);
        proc.parameters.push_back(parameter);
      }
    } else if (!child->is(NodeKind::result) && !child->is(NodeKind::block)) {
      collect(*child, own);
    }
  }
  if (node.is(NodeKind::function)) {
    // The answer is a variable that only an assignment to the function's name reaches.
    Symbol *answer = new_symbol(SymbolKind::variable, node.text, node.place);
    answer->node = &node;
    answer->owner = &proc;
    answer->scope = &own;
    answer->proc = &proc;
    proc.answer_variable = answer;
  }
}

// ---- resolving
// -------------------------------------------------------------------------------------------------------

void Checker::resolve(Symbol &symbol) {
  if (symbol.state == Symbol::State::resolved) return;
  if (symbol.state == Symbol::State::resolving) {
    if (symbol.kind == SymbolKind::procedure) return;
    if (!symbol.type) {
      error(symbol.place, "`" + std::string(symbol.name) + "` is defined by itself");
      symbol.type = types.poison();
      symbol.value.type = types.poison();
    }
    return;
  }
  symbol.state = Symbol::State::resolving;
  // A declaration that needs a declaration that needs ... is resolved by recursion.
  constexpr int kLongestChain = 10000;
  if (resolving > kLongestChain) {
    error(symbol.place,
          "declarations need each other in a row of more than " + std::to_string(kLongestChain));
    symbol.type = symbol.value.type = types.poison();
    symbol.kind = SymbolKind::poison;
    symbol.state = Symbol::State::resolved;
    return;
  }
  Scope *outside = scope;
  scope = symbol.scope;
  ++resolving;
  switch (symbol.kind) {
  case SymbolKind::constant: {
    Constant value = check_constant(*symbol.node->first);
    if (!symbol.type) {
      symbol.value = value;
      symbol.type = value ? value.type : types.poison();
    }
    break;
  }
  case SymbolKind::type: {
    const Type *type = type_of(*symbol.node->first, false, &symbol);
    if (!symbol.type) symbol.type = type;
    break;
  }
  case SymbolKind::variable: resolve_variable(symbol); break;
  case SymbolKind::procedure: resolve_header(*symbol.proc); break;
  default: break;
  }
  --resolving;
  symbol.state = Symbol::State::resolved;
  if (resolving == 0) complete_records();
  scope = outside;
}

void Checker::resolve_variable(Symbol &symbol) {
  if (symbol.proc) { // a function's answer
    resolve_header(*symbol.proc);
    symbol.type = symbol.proc->answer ? symbol.proc->answer : types.poison();
    return;
  }
  // One type for all names of the declaration: an enumeration in it is one type, and an error is said once.
  const Type *&shared = symbol.scope->declared_types[symbol.node];
  if (!shared) {
    const Node *type_node = nullptr;
    for (const Node *child : symbol.node->children())
      if (!child->is(NodeKind::name) && !child->is(NodeKind::init)) type_node = child;
    const Type *type = type_of(*type_node, symbol.is_parameter);
    if (type->is(Kind::open) && !symbol.is_parameter && !(symbol.owner && symbol.owner->has_open)) {
      error(type_node->place, "a variable needs constant sizes, such as matrix[2, 3]");
      type = types.poison();
    }
    symbol.scope->declared_types[symbol.node] = type;
    symbol.type = type;
    return;
  }
  symbol.type = shared;
}

} // namespace mica::check
