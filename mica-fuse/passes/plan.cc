#include "plan.h"

#include <algorithm>

namespace mica::fuse {
namespace {

bool is_alias(const Op &op) {
  return op.results.size() == 1 && in_memory(op.result()) &&
         (op.code == OpCode::reshape || op.code == OpCode::detach || op.code == OpCode::check_targets ||
          ((op.code == OpCode::to_host || op.code == OpCode::to_gpu) &&
           op.operands[0]->type == op.result()->type));
}

class Planner {
public:
  Planner(spectra::Module &module, const spectra::Func &func, const WriteSummary &writes,
          const Options &options)
      : module_(module), func_(func), writes_(writes), options_(options) {}

  Plan run() {
    for (const Value *v : func_.body->args) born(v, 0);
    visit(*func_.body);
    plan_.end = time_ + 1;
    return std::move(plan_);
  }

private:
  void born(const Value *v, int depth) {
    depth_[v] = depth;
    plan_.born[v] = time_;
    plan_.last_use[v] = time_;
  }

  void use(const Value *v) {
    if (!in_memory(v)) return;
    const Value *root = plan_.root(v);
    auto it = depth_.find(root);
    if (it == depth_.end()) return;
    // Seen from the region where it was made, the use is as long as the node that holds it.
    size_t depth = static_cast<size_t>(it->second);
    if (depth + 1 < open_.size()) pending_.emplace_back(root, open_[depth]);
    plan_.last_use[root] = std::max(plan_.last_use[root], time_);
  }

  void visit(Region &region) {
    std::vector<Node> nodes = group_region(module_, func_, region, writes_, options_);
    int depth = static_cast<int>(open_.size());
    for (Node &node : nodes) {
      node.begin = ++time_;
      size_t mark = ++serial_;
      open_.push_back(mark);
      for (Op *op : node.ops) {
        for (const Value *v : op->operands) use(v);
        event(*op);
        for (Region *inner : op->regions) {
          for (const Value *v : inner->args) born(v, depth + 1);
          visit(*inner);
        }
        if (!op->regions.empty()) ++time_;
        if (is_alias(*op)) plan_.alias[op->result()] = op->operands[0];
        for (const Value *v : op->results) born(v, depth);
      }
      node.end = time_;
      open_.pop_back();
      for (auto &[root, holder] : pending_)
        if (holder == mark) plan_.last_use[root] = std::max(plan_.last_use[root], node.end);
      std::erase_if(pending_, [mark](const auto &entry) { return entry.second == mark; });
    }
    plan_.regions[&region] = std::move(nodes);
  }

  void event(const Op &op) {
    switch (op.code) {
    case OpCode::return_:
    case OpCode::break_:
    case OpCode::continue_: plan_.leaves.push_back(time_); return;
    case OpCode::write: plan_.events.push_back({time_, location_of(module_, op), false}); return;
    case OpCode::call: {
      auto it = writes_.find(op.symbol);
      if (it == writes_.end() || it->second.everything)
        plan_.events.push_back({time_, "", true});
      else
        for (std::string_view name : it->second.names)
          plan_.events.push_back({time_, "@" + std::string(name), true});
      for (const Value *v : op.operands)
        if (v->type->kind == spectra::TypeKind::pointer)
          plan_.events.push_back({time_, location_of_pointer(module_, v), true});
      plan_.calls.push_back(time_);
      return;
    }
    case OpCode::call_value:
      plan_.events.push_back({time_, "", true});
      plan_.calls.push_back(time_);
      return;
    default: break;
    }
    if (!(spectra::info(op.code).effects & spectra::kWrites)) return;
    for (const Value *v : op.operands)
      if (v->type->kind == spectra::TypeKind::pointer)
        plan_.events.push_back({time_, location_of_pointer(module_, v), true});
  }

  spectra::Module &module_;
  const spectra::Func &func_;
  const WriteSummary &writes_;
  const Options &options_;
  Plan plan_;
  std::vector<size_t> open_;
  std::vector<std::pair<const Value *, size_t>> pending_;
  std::unordered_map<const Value *, int> depth_;
  size_t serial_ = 0;
  int time_ = 0;
};

std::string steps_text(const spectra::Module &module, const Op &op, const Type *type) {
  std::string text;
  for (const spectra::Path::Step &step : op.path->steps) {
    if (step.kind == spectra::Path::Step::Kind::dynamic || !type) break;
    if (step.kind == spectra::Path::Step::Kind::field) {
      text += "." + std::to_string(step.index);
      type = type->record->fields[static_cast<size_t>(step.index)].type;
    } else {
      text += "[" + std::to_string(step.index) + "]";
      type = type->kind == spectra::TypeKind::array ? type->element
                                                    : nullptr; // a cell of a whole value counts as the whole
    }
  }
  (void)module;
  return text;
}

} // namespace

std::string location_of(const spectra::Module &module, const Op &op) {
  if (op.path->base == spectra::Path::Base::pointer) {
    std::string base = location_of_pointer(module, op.operands[0]);
    return base;
  }
  std::string text =
      (op.path->base == spectra::Path::Base::global ? "@" : "$") + std::string(op.path->symbol);
  const Type *type = nullptr;
  if (op.path->base == spectra::Path::Base::global) type = module.find_variable(op.path->symbol)->type;
  if (op.path->base == spectra::Path::Base::local) return text; // locals' records are rare: one location
  return text + steps_text(module, op, type);
}

std::string location_of_pointer(const spectra::Module &module, const Value *pointer) {
  if (pointer->def && pointer->def->code == OpCode::address) return location_of(module, *pointer->def);
  return "";
}

bool overlap(const std::string &a, const std::string &b) {
  if (a.empty() || b.empty()) return true;
  const std::string &shorter = a.size() < b.size() ? a : b;
  const std::string &longer = a.size() < b.size() ? b : a;
  if (longer.compare(0, shorter.size(), shorter) != 0) return false;
  return longer.size() == shorter.size() || longer[shorter.size()] == '.' || longer[shorter.size()] == '[';
}

bool Plan::changes(const std::string &location, int from, int to) const {
  for (const Event &e : events)
    if (e.time > from && e.time <= to && overlap(e.location, location)) return true;
  return false;
}

Plan make_plan(spectra::Module &module, const spectra::Func &func, const WriteSummary &writes,
               const Options &options) {
  return Planner(module, func, writes, options).run();
}

int64_t pack(std::vector<Interval> &intervals) {
  // Largest first, each at the lowest place where it meets none that lives at the same time.
  std::vector<size_t> order(intervals.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return intervals[a].bytes > intervals[b].bytes; });
  std::vector<size_t> placed;
  int64_t total = 0;
  for (size_t i : order) {
    Interval &x = intervals[i];
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t j : placed) {
      const Interval &y = intervals[j];
      if (x.from <= y.to && y.from <= x.to) taken.emplace_back(y.offset, y.offset + y.bytes);
    }
    std::sort(taken.begin(), taken.end());
    x.offset = 0;
    for (auto [low, high] : taken) {
      if (x.offset + x.bytes <= low) break;
      x.offset = std::max(x.offset, high);
    }
    total = std::max(total, x.offset + x.bytes);
    placed.push_back(i);
  }
  return total;
}

} // namespace mica::fuse
