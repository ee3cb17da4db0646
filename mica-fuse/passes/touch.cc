#include "touch.h"

#include <algorithm>
#include <set>

namespace mica::fuse {
namespace {

void touch_region(const Region &region, const WriteSummary &summary, Touch &touch) {
  for (const Op *op : region.ops) touch_op(*op, summary, touch);
}

} // namespace

void touch_op(const Op &op, const WriteSummary &summary, Touch &touch) {
  const spectra::OpInfo &row = spectra::info(op.code);
  bool divides_floats =
      (op.code == OpCode::div || op.code == OpCode::mod) && op.operands[0]->type->is_float();
  if (row.effects & (spectra::kOutput | spectra::kFails) && !divides_floats) touch.outputs = true;
  switch (op.code) {
  case OpCode::read: {
    std::string base = base_of(op);
    if (base.empty())
      touch.all_reads = true;
    else
      touch.reads.push_back(base);
    return;
  }
  case OpCode::write: {
    std::string base = base_of(op);
    if (base.empty())
      touch.all_writes = true;
    else
      touch.writes.push_back(base);
    return;
  }
  case OpCode::call: {
    auto it = summary.find(op.symbol);
    touch.outputs = true;
    touch.all_reads = true;
    if (it == summary.end() || it->second.everything)
      touch.all_writes = true;
    else
      for (std::string_view name : it->second.names) touch.writes.push_back("@" + std::string(name));
    for (const Value *v : op.operands) // what it gets a pointer to, it may write
      if (v->type->kind == spectra::TypeKind::pointer) {
        std::string base = base_of_pointer(v);
        if (base.empty())
          touch.all_writes = true;
        else
          touch.writes.push_back(base);
      }
    return;
  }
  case OpCode::call_value: touch.outputs = touch.all_reads = touch.all_writes = true; return;
  default: break;
  }
  if (row.effects & (spectra::kReads | spectra::kWrites)) {
    for (int i = 0; i < op.arg_count(); ++i) {
      const Value *v = op.arg(i);
      if (v->type->kind != spectra::TypeKind::pointer && v->type->kind != spectra::TypeKind::slice) continue;
      std::string base = base_of_pointer(v);
      bool writes = row.effects & spectra::kWrites;
      if (base.empty())
        (writes ? touch.all_writes : touch.all_reads) = true;
      else
        (writes ? touch.writes : touch.reads).push_back(base);
    }
  }
  for (const Region *region : op.regions) touch_region(*region, summary, touch);
}

bool Writes::touches(std::string_view name) const {
  return everything || std::find(names.begin(), names.end(), name) != names.end();
}

std::string base_of(const Op &op) {
  switch (op.path->base) {
  case spectra::Path::Base::global: return "@" + std::string(op.path->symbol);
  case spectra::Path::Base::local: return "$" + std::string(op.path->symbol);
  default: return base_of_pointer(op.operands[0]);
  }
}

std::string base_of_pointer(const Value *pointer) {
  if (pointer->def && pointer->def->code == OpCode::address) return base_of(*pointer->def);
  return "";
}

WriteSummary summarize_writes(const spectra::Module &module) {
  WriteSummary summary;
  std::map<std::string_view, std::set<std::string_view>> names;
  auto add = [&](Writes &writes, std::string_view function, const std::string &base) {
    if (base.empty())
      writes.everything = true;
    else if (base[0] == '@')
      names[function].insert(module.find_variable(std::string_view(base).substr(1))->name);
  };
  std::map<std::string_view, std::set<std::string_view>> calls;
  for (const spectra::Func *func : module.funcs) {
    Writes &writes = summary[func->name];
    if (func->external) continue; // C code does not know the program's variables
    std::vector<const Region *> open{func->body};
    while (!open.empty()) {
      const Region *region = open.back();
      open.pop_back();
      for (const Op *op : region->ops) {
        for (const Region *inner : op->regions) open.push_back(inner);
        if (op->code == OpCode::write)
          add(writes, func->name, base_of(*op));
        else if (op->code == OpCode::call)
          calls[func->name].insert(op->symbol);
        else if (op->code == OpCode::call_value)
          writes.everything = true;
        if (op->code == OpCode::write || !(spectra::info(op->code).effects & spectra::kWrites) ||
            op->code == OpCode::call) {
          if (op->code != OpCode::call) continue;
        }
        for (const Value *v : op->operands)
          if (v->type->kind == spectra::TypeKind::pointer) add(writes, func->name, base_of_pointer(v));
      }
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto &[caller, callees] : calls)
      for (std::string_view callee : callees) {
        if (summary[callee].everything && !summary[caller].everything)
          changed = summary[caller].everything = true;
        size_t before = names[caller].size();
        std::set<std::string_view> copy = names[callee];
        names[caller].insert(copy.begin(), copy.end());
        changed |= names[caller].size() != before;
      }
  }
  for (auto &[function, set] : names) summary[function].names.assign(set.begin(), set.end());
  return summary;
}

} // namespace mica::fuse
