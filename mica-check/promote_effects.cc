#include "promote_effects.h"

#include "spectra/ops.h"

namespace mica::check {

using spectra::Func;
using spectra::Op;
using spectra::OpCode;
using spectra::Path;
using spectra::Region;
using spectra::TypeKind;
using spectra::Value;

bool Location::exact() const {
  for (int64_t step : steps)
    if (step == kAnyIndex) return false;
  return known();
}

bool Location::overlaps(const Location &other) const {
  if (root != other.root) return false;
  for (size_t i = 0; i < steps.size() && i < other.steps.size(); ++i)
    if (steps[i] != other.steps[i] && steps[i] != kAnyIndex && other.steps[i] != kAnyIndex) return false;
  return true;
}

void Effects::add(const Effects &other) {
  list.insert(list.end(), other.list.begin(), other.list.end());
  reads_through |= other.reads_through;
  writes_through |= other.writes_through;
  anything |= other.anything;
}

bool EffectTable::is_promoted_type(const spectra::Type *type) {
  return type->is_device_or_whole() || type->tracked;
}

const spectra::Type *EffectTable::type_of(const Func &func, const Op &op) const {
  return spectra::path_type(module_, &func, op);
}

std::string EffectTable::root_key(const Func &func, const std::string &root) {
  return root[0] == '$' ? std::string(func.name) + root : root;
}

namespace {

/// Whether a path behind a pointer may reach what promote works on: its end, or a whole value that it takes a
/// cell of.
bool reaches_promoted(const Op &op) {
  const spectra::Type *type = op.operands[0]->type;
  if (type->kind != TypeKind::pointer) return false; // a slice's memory is no variable
  type = type->element;
  for (const Path::Step &step : op.path->steps) {
    if (type->is_whole()) return true;
    if (step.kind == Path::Step::Kind::field)
      type = type->record->fields[static_cast<size_t>(step.index)].type;
    else
      type = type->element;
    if (!type || type->kind == TypeKind::slice) return false;
  }
  return EffectTable::is_promoted_type(type) || type->kind == TypeKind::record ||
         type->kind == TypeKind::array;
}

/// Operations that use a pointer only while they run.
bool only_uses(OpCode code) {
  switch (code) {
  case OpCode::sgd_steps:
  case OpCode::adamw_steps:
  case OpCode::clip_grad_norms:
  case OpCode::scale_tensors:
  case OpCode::add_tensors:
  case OpCode::save_tensors:
  case OpCode::load_tensors:
  case OpCode::seed:
  case OpCode::draw:
  case OpCode::random_int:
  case OpCode::random_float:
  case OpCode::read_input:
  case OpCode::parse_int:
  case OpCode::parse_float:
  case OpCode::copy_value: return true;
  default: return false;
  }
}

} // namespace

Location EffectTable::location(const Func &func, const Op &op) const {
  Location at;
  if (!op.path) return at;
  switch (op.path->base) {
  case Path::Base::none: return at;
  case Path::Base::global: at.root = "@" + std::string(op.path->symbol); break;
  case Path::Base::local: at.root = "$" + std::string(op.path->symbol); break;
  case Path::Base::pointer:
    at = pointee(func, op.operands[0]);
    if (!at.known()) return at;
    break;
  }
  for (const Path::Step &step : op.path->steps)
    at.steps.push_back(step.kind == Path::Step::Kind::dynamic ? Location::kAnyIndex : step.index);
  return at;
}

Location EffectTable::pointee(const Func &func, const Value *pointer) const {
  const Op *def = pointer->def;
  while (def && def->code == OpCode::check_nil) def = def->operands[0]->def;
  if (def && def->code == OpCode::address) return location(func, *def);
  return {};
}

Effects EffectTable::of(const Func &func, const Op &op) const {
  Effects e;
  switch (op.code) {
  case OpCode::read:
  case OpCode::write:
  case OpCode::gradient:
  case OpCode::backward: {
    const bool writes = op.code == OpCode::write;
    Location at = location(func, op);
    if (at.known()) {
      e.list.push_back({at, writes, op.code == OpCode::read || writes});
    } else if (op.path->base == Path::Base::pointer && reaches_promoted(op)) {
      e.reads_through = !writes;
      e.writes_through = writes;
    }
    return e;
  }
  case OpCode::address: return e; // its users have the effects
  case OpCode::call: {
    auto callee = functions_.find(op.symbol);
    if (callee == functions_.end() || callee->second->external) {
      e.anything = true;
      return e;
    }
    auto summary = summaries_.find(callee->second);
    if (summary != summaries_.end()) e = summary->second;
    return e;
  }
  case OpCode::call_value: e.anything = true; return e;
  default: break;
  }
  const spectra::OpInfo &row = spectra::info(op.code);
  if (!only_uses(op.code)) return e;
  for (const Value *v : op.operands) {
    if (v->type->kind != TypeKind::pointer) continue;
    const bool writes = (row.effects & spectra::kWrites) != 0;
    Location at = pointee(func, v);
    if (at.known()) {
      e.list.push_back({at, writes, false});
    } else {
      e.reads_through = true;
      e.writes_through |= writes;
    }
  }
  return e;
}

Effects EffectTable::inside(const Func &func, const Region &region) const {
  Effects e;
  for (const Op *op : region.ops) e.add(inside(func, *op));
  return e;
}

Effects EffectTable::inside(const Func &func, const Op &op) const {
  Effects e = of(func, op);
  for (const Region *region : op.regions) e.add(inside(func, *region));
  if (e.list.size() > 64) { // one of each
    std::set<std::pair<Location, int>> seen;
    std::vector<Access> once;
    for (Access &a : e.list)
      if (seen.insert({a.at, a.writes * 2 + a.plain}).second) once.push_back(std::move(a));
    e.list = std::move(once);
  }
  return e;
}

void EffectTable::find_escapes(const Func &func) {
  spectra::walk(*func.body, [&](Op *op) {
    for (size_t i = 0; i < op->operands.size(); ++i) {
      const Value *v = op->operands[i];
      if (v->type->kind != TypeKind::pointer) continue;
      if (op->path && op->path->base == Path::Base::pointer && i == 0 && op->code != OpCode::address)
        continue;
      if (only_uses(op->code) || op->code == OpCode::check_nil || op->code == OpCode::is_nil ||
          op->code == OpCode::pointer_equal)
        continue;
      Location at = pointee(func, v);
      if (at.known()) escaped_.insert(root_key(func, at.root));
    }
  });
}

EffectTable::EffectTable(spectra::Module &module) : module_(module) {
  for (const Func *f : module.funcs) functions_[f->name] = f;
  for (const Func *f : module.funcs)
    if (!f->external) find_escapes(*f);
  // Each function's own effects on unit variables, then what it calls, to a fixed point over the call graph.
  std::unordered_map<const Func *, std::set<const Func *>> calls;
  std::unordered_map<const Func *, std::set<std::pair<Location, bool>>> own;
  for (const Func *f : module.funcs) {
    if (f->external) continue;
    Effects &sum = summaries_[f];
    std::set<std::pair<Location, bool>> &list = own[f];
    spectra::walk(*f->body, [&](Op *op) {
      if (op->code == OpCode::call || op->code == OpCode::closure) {
        auto callee = functions_.find(op->symbol);
        if (callee != functions_.end() && !callee->second->external) calls[f].insert(callee->second);
        if (callee == functions_.end() || callee->second->external) sum.anything = true;
        return;
      }
      Effects e = of(*f, *op);
      for (const Access &a : e.list)
        if (a.at.root[0] == '@') list.insert({a.at, a.writes});
      sum.reads_through |= e.reads_through;
      sum.writes_through |= e.writes_through;
      sum.anything |= e.anything;
    });
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[f, callees] : calls) {
      Effects &sum = summaries_[f];
      std::set<std::pair<Location, bool>> &list = own[f];
      const size_t before = list.size();
      const Effects flags = {{}, sum.reads_through, sum.writes_through, sum.anything};
      for (const Func *callee : callees) {
        const Effects &other = summaries_[callee];
        list.insert(own[callee].begin(), own[callee].end());
        sum.reads_through |= other.reads_through;
        sum.writes_through |= other.writes_through;
        sum.anything |= other.anything;
      }
      changed = changed || list.size() != before || flags.reads_through != sum.reads_through ||
                flags.writes_through != sum.writes_through || flags.anything != sum.anything;
    }
  }
  for (auto &[f, list] : own)
    for (const auto &[at, writes] : list) summaries_[f].list.push_back({at, writes, false});
}

bool EffectTable::escaped(const Func &func, const Location &at) const {
  return escaped_.count(root_key(func, at.root)) != 0;
}

} // namespace mica::check
