// A whole program or unit: declarations, then headers, then bodies.
#include "checker.h"
#include "whole.h"

#include <cstring>
#include <functional>

namespace mica::check {

using spectra::NodeKind;
using spectra::OpCode;

Checker::Checker(spectra::Module &m, spectra::Diag &d)
    : module(m), diag(d), types(m.types), build(m, nullptr) {
  unit.outer = &predeclared;
  scope = &unit;
}

namespace {

/// Whether a record holds itself by value through fields and arrays.
bool holds_itself(const RecordType &record, std::unordered_map<const RecordType *, int> &state) {
  int &mark = state[&record];
  if (mark == 2) return false;
  if (mark == 1) return true;
  mark = 1;
  bool found = false;
  for (const Field &field : record.fields) {
    const Type *t = field.type;
    while (t->is(Kind::array)) t = t->element;
    if (t->is(Kind::record) && holds_itself(*t->record, state)) found = true;
  }
  state[&record] = 2;
  return found;
}

} // namespace

bool Checker::check_program(const Node &root) {
  is_unit = root.is(NodeKind::object);
  module.name = root.text;
  declare_predeclared();
  for (const Node *child : root.children()) collect(*child, unit);
  collect_imports(root);
  check_exports(root);
  resolve_all(unit);
  complete_records();
  // Sizes of such records don't exist, so nothing more can be said of the program.
  if (has_cycle()) return false;

  std::vector<Proc *> all;
  std::function<void(Scope &)> gather = [&](Scope &s) {
    for (Symbol *symbol : s.order) {
      if (symbol->kind != SymbolKind::procedure || symbol->proc->has_open) continue;
      all.push_back(symbol->proc);
      gather(*symbol->proc->scope);
      // Inner procedures are emitted first: whether they change a record parameter of an outer one decides
      // whether it is copied.
      work.push_back(symbol->proc);
    }
  };
  gather(unit);
  analyze_frames(all);
  for (Proc *p : all) define_frame(*p);
  define_variables(root);
  for (Proc *p : all) ensure_func(*p);
  // Inner procedures first: whether they change a record parameter of an outer one decides whether it is
  // copied.
  work.assign(all.rbegin(), all.rend());
  // Instances of open shapes join at the end. Where one was wrong, the others would say the same again.
  auto emit = [&](Proc &next) {
    Proc *open = next.open_template;
    if (open && open->wrong) return;
    const int before = diag.errors();
    emit_procedure(next);
    if (open && diag.errors() != before) open->wrong = true;
  };
  for (size_t i = 0; i < work.size(); ++i) emit(*work[i]);
  emit_program(root);
  for (size_t i = all.size(); i < work.size(); ++i) emit(*work[i]);
  check_escapes();
  if (diag.errors()) return false;
  finish_whole(*this);
  types.define_records();
  check_static_size();
  return diag.errors() == 0;
}

bool Checker::has_cycle() {
  std::unordered_map<const RecordType *, int> state;
  bool found = false;
  for (const PendingRecord &pending : pending_records) {
    if (!holds_itself(*pending.record, state)) continue;
    error(pending.node->place, "record " + pending.record->name + " holds itself", "hold a pointer to it");
    found = true;
  }
  return found;
}

/// The unit's variables, with first values that are constants.
void Checker::define_variables(const Node &root) {
  if (!is_unit) {
    spectra::Variable code;
    code.name = "program'exit";
    code.type = types.lower(types.i32());
    module.variables.push_back(code);
  }
  for (const Node *child : root.children()) {
    if (!child->is(NodeKind::var_decl)) continue;
    for (const Node *name : child->children()) {
      if (!name->is(NodeKind::name)) break;
      Symbol *symbol = unit.find_here(name->text);
      if (!symbol || symbol->kind != SymbolKind::variable || symbol->node != child ||
          symbol->place != name->place)
        continue;
      spectra::Variable v;
      v.name = symbol->link_name = symbol->name;
      v.type = types.lower(symbol->type);
      v.place = symbol->place;
      const Type *base = Types::base(symbol->type);
      const bool simple =
          (base->is_host_scalar() && !base->tracked) || base->is(Kind::enumeration) || base->is(Kind::string);
      if (child->last->is(NodeKind::init) && simple) {
        const Node &value = *child->last->first;
        if (is_constant_expression(value)) {
          Scratch scratch(*this);
          ++constants_only;
          Operand operand = check(value);
          --constants_only;
          operand = convert(std::move(operand), symbol->type,
                            "the first value of `" + std::string(symbol->name) + "`");
          // What no word holds, or is not a number, is computed at the program's start.
          const bool one_word = bits_of(base->scalar) < 128 ||
                                operand.constant.integer == static_cast<int64_t>(operand.constant.integer);
          symbol->has_first = operand.is_poison() || (operand.is_constant() && one_word);
          if (operand.is_constant() && one_word) {
            const Constant &c = operand.constant;
            if (base->is(Kind::string)) {
              v.first = c.text;
            } else if (base->is_float()) {
              spectra::FloatBits bits;
              std::memcpy(&bits.bits, &c.real, sizeof c.real);
              v.first = bits;
            } else {
              v.first = static_cast<int64_t>(c.integer);
            }
          }
        }
      }
      module.variables.push_back(v);
    }
  }
}

/// Whether only literals, constants and operators stand in it; all else is computed when the program starts.
bool Checker::is_constant_expression(const Node &node) {
  switch (node.kind) {
  case NodeKind::integer:
  case NodeKind::real:
  case NodeKind::unicode:
  case NodeKind::string: return true;
  case NodeKind::name: {
    Symbol *symbol = unit.find(node.text);
    return symbol && symbol->kind == SymbolKind::constant;
  }
  case NodeKind::chain:
  case NodeKind::negate:
  case NodeKind::not_:
    for (const Node *child : node.children())
      if (!child->is(NodeKind::operator_) && !is_constant_expression(*child)) return false;
    return true;
  case NodeKind::as: return is_constant_expression(*node.first);
  default: return false;
  }
}

void Checker::emit_program(const Node &root) {
  const Node *body = root.last && root.last->is(NodeKind::block) ? root.last : nullptr;
  if (is_unit) {
    if (body && body->count && !(body->count == 1 && body->first->is(NodeKind::empty)))
      error(body->first->place, "a unit's body must be empty",
            "export a procedure that the program calls first");
    for (const Node *child : root.children())
      if (child->is(NodeKind::var_decl) && child->last->is(NodeKind::init)) {
        Symbol *symbol = unit.find_here(child->first->text);
        if (symbol && symbol->kind == SymbolKind::variable && !symbol->has_first &&
            !symbol->type->is_poison())
          error(child->last->place, "a unit's variable needs a constant as its first value");
      }
    return;
  }
  if (!body) return;
  proc = nullptr;
  scope = &unit;
  func = module.new_func("program.main");
  func->place = body->place;
  build.set_region(func->body);
  build.set_place(body->place);
  frame = nullptr;
  outer_frames.clear();
  loops = 0;
  window = -1;
  temporaries = 0;
  ended = false;
  local_names.clear();
  emit_first_values(root);
  statement(*body);
  if (!ended) {
    build.set_place({});
    build.append(OpCode::return_);
  }
  func = nullptr;
}

/// Generated code reaches 2 GiB of static storage (language.md 10).
void Checker::check_static_size() {
  __int128 total = 0;
  const spectra::Variable *largest = nullptr;
  int64_t largest_size = -1;
  for (const spectra::Variable &v : module.variables) {
    int64_t size = spectra::size_of(v.type);
    total += size;
    if (size > largest_size) {
      largest_size = size;
      largest = &v;
    }
  }
  if (total <= 0x7FF00000 || !largest) return;
  error(largest->place,
        "the program's variables take " + text_of(total) +
            " bytes, more than the 2 GiB that its code can reach; `" + std::string(largest->name) +
            "` alone takes " + std::to_string(largest_size),
        "allocate the largest arrays with `new`, or place them `on gpu`");
}

} // namespace mica::check
