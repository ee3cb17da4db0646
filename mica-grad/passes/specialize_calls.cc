// Calls inside a window: inlined where the callee may compute with tracked values; its locals become the
// caller's.
#include "passes/exits.h"
#include "passes/specializer.h"

#include <algorithm>

namespace mica::grad {
using namespace spectra;

namespace {

constexpr size_t kRecursionDepth = 256;

} // namespace

void Specializer::add_local(Variable v) {
  std::string base = std::string(v.name);
  std::string text = base;
  for (int i = 1; local_names_.count(text) || has_local(text); ++i) text = base + "'" + std::to_string(i);
  local_names_.insert(text);
  std::string_view name = module_.keep(text);
  frames_.back()[v.name] = name;
  v.name = name;
  func_.locals.push_back(v);
  made_.push_back(name);
  zero_local(name, v.type);
}

bool Specializer::has_local(const std::string &name) const {
  return std::any_of(func_.locals.begin(), func_.locals.end(),
                     [&](const Variable &v) { return v.name == name; });
}

void Specializer::zero_local(std::string_view name, const Type *type) {
  Location location = variable_location(Path::Base::local, name);
  if (leaf_count(type) > 64) {
    emit_zeros(builder_, location, type);
    return;
  }
  for_each_leaf(location, type, [&](const Location &leaf, const Type *leaf_type) {
    if (Value *zero = zero_value(builder_, leaf_type)) write(leaf, zero);
  });
}

void Specializer::expose(Region &region) {
  each_op(region, [&](Op &op) {
    if (op.code == OpCode::address && op.path->base == Path::Base::local) exposed_.insert(op.path->symbol);
  });
}

void Specializer::call(const Op &op, const Func *callee, const std::vector<Value *> &operands) {
  if (callee->external || (!takes_tracked(operands) && !relevant(*callee))) {
    shallow(op);
    state_.kill_reachable(exposed_);
    return;
  }
  for (const auto &r : recursions_)
    if (r->source == callee) { // its depth is the run's
      Op *copy = shallow(op);
      copy->operands.assign(operands.begin(), operands.end());
      for (Value *&v : copy->operands) v = mapped(v);
      copy->code = OpCode::call;
      copy->symbol = r->forward->name;
      for (Value *v : copy->results)
        if (v->type->is_float()) tracked_.insert(v);
      state_.kill_reachable(exposed_);
      return;
    }
  // A recursion whose depth the constants decide is walked like a loop; any other runs out of its budget.
  size_t depth = static_cast<size_t>(std::count(inlining_.begin(), inlining_.end(), callee));
  const Op *outermost = recursing_;
  if (depth > 0 && !recursing_) {
    recursing_ = &op;
    recursing_into_ = callee;
    recursing_from_ = emitted_;
  }
  ++emitted_;
  if (callee == &func_ || depth > kRecursionDepth ||
      (recursing_ && emitted_ - recursing_from_ > kUnrollBudget))
    throw Deep{callee};
  Prepared &prepared = prepare(*callee, depth);
  std::vector<Value *> arguments;
  for (Value *v : operands) arguments.push_back(mapped(v));
  for (size_t i = 0; i < arguments.size(); ++i) set(callee_args(prepared)[i], arguments[i]);
  inlining_.push_back(callee);
  frames_.emplace_back();
  std::string suffix = "'" + std::string(callee->name);
  std::replace(suffix.begin(), suffix.end(), '.', '\'');
  for (Variable v : prepared.locals) {
    std::string_view old = v.name;
    v.name = module_.keep(std::string(old) + suffix);
    add_local(v);
    frames_.back()[old] = frames_.back()[v.name];
  }
  each_op(*prepared.body, [&](Op &inner) {
    if (inner.code == OpCode::address && inner.path->base == Path::Base::local)
      exposed_.insert(frames_.back().at(inner.path->symbol));
  });
  const Op *end = body(*prepared.body);
  Value *answer = nullptr;
  if (callee->result)
    answer = prepared.answer.empty()
                 ? mapped(end->operands[0])
                 : read(variable_location(Path::Base::local, frames_.back().at(prepared.answer)),
                        callee->result, callee->name);
  frames_.pop_back();
  inlining_.pop_back();
  recursing_ = outermost;
  inlined_.insert(callee);
  if (!op.results.empty()) set(op.results[0], answer);
}

void Specializer::call_value(const Op &op) {
  Value *callee = mapped(op.arg(0));
  if (callee->def && callee->def->code == OpCode::closure) {
    std::vector<Value *> operands(callee->def->operands.begin(), callee->def->operands.end());
    for (int i = 1; i < op.arg_count(); ++i) operands.push_back(mapped(op.arg(i)));
    const Func *func = module_.find_func(callee->def->symbol);
    if (!func->external && (takes_tracked(operands) || relevant(*func))) {
      // The operands are the window's own values already, and map to themselves.
      call(op, func, operands);
      return;
    }
  }
  shallow(op);
  state_.kill_reachable(exposed_);
}

Prepared &Specializer::prepare(const Func &callee, size_t depth) {
  auto [it, fresh] = prepared_.emplace(std::make_pair(&callee, depth), Prepared{});
  Prepared &p = it->second;
  if (!fresh) return p;
  p.body = module_.new_region();
  std::vector<Value *> copies;
  for (Value *v : callee.body->args) {
    Value *copy = module_.new_value(v->type, v->name);
    copy->region = p.body;
    p.body->args.push_back(copy);
    if (copies.size() <= v->number) copies.resize(module_.value_count, nullptr);
    copies[v->number] = copy;
  }
  for (const Op *op : callee.body->ops) p.body->ops.push_back(clone(module_, *op, copies));
  p.locals.assign(callee.locals.begin(), callee.locals.end());
  lower_exits(module_, *p.body, callee.result, p.locals, p.answer);
  return p;
}

bool Specializer::takes_tracked(const std::vector<Value *> &operands) const {
  return std::any_of(operands.begin(), operands.end(),
                     [&](Value *v) { return tracked_.count(mapped(v)) > 0; });
}

bool Specializer::relevant(const Func &func) {
  auto [it, fresh] = relevant_.emplace(&func, false);
  if (!fresh) return it->second;
  bool yes = false;
  for (Value *v : func.body->args) yes |= holds_tracked(v->type);
  if (!func.external)
    each_op(*func.body, [&](Op &op) {
      if (op.path) {
        const Type *type = path_type(module_, &func, op);
        yes |= type && holds_tracked(type);
      }
      if (op.code == OpCode::call || op.code == OpCode::closure)
        yes |= relevant(*module_.find_func(op.symbol));
    });
  relevant_[&func] = yes;
  return yes;
}

bool Specializer::holds_tracked(const Type *type) {
  switch (type->kind) {
  case TypeKind::scalar:
  case TypeKind::whole: return type->tracked;
  case TypeKind::pointer:
  case TypeKind::slice:
  case TypeKind::array:
    return type->element->kind == TypeKind::pointer ? false : holds_tracked(type->element);
  case TypeKind::record:
    return std::any_of(type->record->fields.begin(), type->record->fields.end(), [&](const Record::Field &f) {
      return f.type->kind != TypeKind::pointer && holds_tracked(f.type);
    });
  case TypeKind::function: return true; // it may be called
  case TypeKind::string:
  case TypeKind::random:
  case TypeKind::draw:
  case TypeKind::frame: return false;
  }
  return false;
}

bool Specializer::holds_whole(const Region &region) {
  std::set<const Func *> seen;
  return holds_whole(region, seen);
}

bool Specializer::holds_whole(const Region &region, std::set<const Func *> &seen) {
  for (const Op *op : region.ops) {
    for (const Value *v : op->operands)
      if (v->type->is_device_or_whole()) return true;
    for (const Value *v : op->results)
      if (v->type->is_device_or_whole()) return true;
    for (const Region *inner : op->regions)
      if (holds_whole(*inner, seen)) return true;
    if (op->code != OpCode::call) continue;
    const Func *callee = module_.find_func(op->symbol);
    if (seen.insert(callee).second && !callee->external && holds_whole(*callee->body, seen)) return true;
  }
  return false;
}

} // namespace mica::grad
