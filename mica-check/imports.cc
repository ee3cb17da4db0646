// What is there without a declaration: predeclared names, and what `imp` brings in.
#include "checker.h"

namespace mica::check {

using spectra::NodeKind;
using spectra::Scalar;

void Checker::declare_predeclared() {
  auto enter = [&](SymbolKind kind, std::string_view name) {
    Symbol *symbol = new_symbol(kind, name, {});
    symbol->state = Symbol::State::resolved;
    symbol->scope = &predeclared;
    predeclared.names.emplace(name, symbol);
    predeclared.order.push_back(symbol);
    return symbol;
  };
  for (int i = 0; i < spectra::kScalarCount; ++i) {
    Scalar s = static_cast<Scalar>(i);
    enter(SymbolKind::type, source_name(s))->type = types.scalar(s);
  }
  enter(SymbolKind::type, "string")->type = types.string();
  enter(SymbolKind::type, "random")->type = types.random();
  auto constant = [&](std::string_view name, const Type *type, __int128 value, bool adapts) {
    Symbol *symbol = enter(SymbolKind::constant, name);
    symbol->type = type;
    symbol->value.type = type;
    symbol->value.integer = value;
    symbol->value.adapts = adapts;
  };
  constant("true", types.boolean(), 1, false);
  constant("True", types.boolean(), 1, false);
  constant("false", types.boolean(), 0, false);
  constant("False", types.boolean(), 0, false);
  constant("nil", types.nil(), 0, false);
  struct Limit {
    const char *least, *greatest;
    Scalar scalar;
  };
  static const Limit kLimits[] = {
      {"MinInt8", "MaxInt8", Scalar::i8},    {"MinInt16", "MaxInt16", Scalar::i16},
      {"MinInt32", "MaxInt32", Scalar::i32}, {"MinInt64", "MaxInt64", Scalar::i64},
      {nullptr, "MaxUInt8", Scalar::u8},     {nullptr, "MaxUInt16", Scalar::u16},
      {nullptr, "MaxUInt32", Scalar::u32},   {nullptr, "MaxUInt64", Scalar::u64}};
  // They adapt like the literals that they stand for.
  for (const Limit &limit : kLimits) {
    if (limit.least)
      constant(limit.least, type_of_integer(types, min_of(limit.scalar)), min_of(limit.scalar), true);
    constant(limit.greatest, type_of_integer(types, max_of(limit.scalar)), max_of(limit.scalar), true);
  }
  for (const BuiltinName &known : builtin_names())
    if (known.builtin.library == Library::predeclared)
      enter(SymbolKind::builtin, known.name)->builtin = known.builtin;
  if (!is_unit) {
    Symbol *code = enter(SymbolKind::variable, "exit");
    code->type = types.i32();
    code->link_name = "program'exit";
  }
}

void Checker::collect_imports(const Node &root) {
  for (const Node *list : root.children()) {
    if (!list->is(NodeKind::import)) continue;
    const bool from_std = list->text == "std", from_libm = list->text == "libm";
    for (const Node *name : list->children()) {
      if (!from_std && !from_libm) {
        // A C library or another unit: an `external` declaration says what it is.
        Symbol *symbol = unit.find_here(name->text);
        if (symbol && symbol->kind == SymbolKind::procedure && symbol->proc->external) {
          symbol->imported = true;
          continue;
        }
        std::string text(name->text);
        if (symbol) {
          error(name->place,
                "`" + text + "` is imported from " + std::string(list->text) + " and declared here too");
          continue;
        }
        error(name->place,
              "`" + text + "` is imported from " + std::string(list->text) + ", but nothing says what it is",
              "declare it: `external function " + text + "(...) : ...;`");
        unit.names.emplace(name->text, new_symbol(SymbolKind::poison, name->text, name->place));
        continue;
      }
      const Library library = from_std ? Library::std : Library::libm;
      const BuiltinName *found = nullptr;
      std::vector<std::string> candidates;
      for (const BuiltinName &known : builtin_names()) {
        // What is predeclared may be named in a list of std's as well.
        const bool here =
            known.builtin.library == library || (from_std && known.builtin.library == Library::predeclared);
        if (here && name->text == known.name) found = &known;
        if (here) candidates.emplace_back(known.name);
      }
      if (!found) {
        std::string text(name->text), hint;
        for (const BuiltinName &known : builtin_names())
          if (name->text == known.name) hint = "it is in " + std::string(library_name(known.builtin.library));
        std::string near = spectra::nearest_name(text, candidates);
        if (hint.empty() && !near.empty()) hint = "did you mean `" + near + "`?";
        error(name->place, std::string(list->text) + " has no `" + text + "`", hint);
        unit.names.emplace(name->text, new_symbol(SymbolKind::poison, name->text, name->place));
        continue;
      }
      Symbol *symbol = new_symbol(SymbolKind::builtin, name->text, name->place);
      symbol->state = Symbol::State::resolved;
      symbol->builtin = found->builtin;
      // The same import twice is harmless.
      Symbol *there = unit.find_here(name->text);
      if (there && there->kind == SymbolKind::builtin && there->builtin.verb == found->builtin.verb &&
          there->builtin.real == found->builtin.real)
        continue;
      declare(unit, symbol);
    }
  }
  for (const Symbol *symbol : unit.order) {
    if (symbol->kind != SymbolKind::procedure || !symbol->proc->external || symbol->imported) continue;
    const std::string text(symbol->name);
    error(symbol->place, "`" + text + "` is external, and no `imp` says where it comes from",
          "`imp " + text + " : libc;` for a C function, or the unit's name");
  }
}

void Checker::check_exports(const Node &root) {
  for (const Node *list : root.children()) {
    if (!list->is(NodeKind::export_)) continue;
    for (const Node *name : list->children()) {
      Symbol *symbol = unit.find_here(name->text);
      std::string text(name->text);
      if (!symbol) {
        std::vector<std::string> candidates;
        for (const Symbol *known : unit.order)
          if (known->kind == SymbolKind::procedure) candidates.emplace_back(known->name);
        std::string near = spectra::nearest_name(text, candidates);
        error(name->place, "`" + text + "` is exported but not declared",
              near.empty() ? "" : "did you mean `" + near + "`?");
      } else if (symbol->kind != SymbolKind::procedure || symbol->proc->external) {
        error(name->place,
              "only procedures and functions of the unit can be exported, and `" + text + "` is none");
      } else if (resolve(*symbol); symbol->proc->has_open) {
        error(name->place,
              "`" + text + "` leaves sizes open and can't be exported: it is compiled for each call");
      } else {
        symbol->proc->exported = true;
      }
    }
  }
}

} // namespace mica::check
