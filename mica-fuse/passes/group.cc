#include "group.h"

#include <algorithm>
#include <queue>
#include <set>
#include <unordered_map>

namespace mica::fuse {
namespace {

using spectra::Attr;
using spectra::Role;

bool result_in_memory(const Op &op) { return op.results.size() == 1 && in_memory(op.result()); }

/// What an operation does to memory, for the order of those that meet there.
struct Touch {
  std::vector<std::string> reads, writes;
  bool all_reads = false, all_writes = false;
  bool outputs = false; ///< is seen outside, or may stop the program: these keep their order
};

void touch_region(const Region &region, const WriteSummary &summary, Touch &touch);

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

void touch_region(const Region &region, const WriteSummary &summary, Touch &touch) {
  for (const Op *op : region.ops) touch_op(*op, summary, touch);
}

/// Joins and orders the nodes of one region.
class Grouper {
public:
  Grouper(spectra::Module &module, const spectra::Func &func, Region &region, const WriteSummary &writes,
          const Options &options)
      : module_(module), func_(func), region_(region), writes_(writes), options_(options) {}

  std::vector<Node> run() {
    for (Op *op : region_.ops) place(op);
    return schedule();
  }

private:
  /// Which nodes run before which, as sets over the nodes; joining a group can't make a circle then.
  std::vector<bool> reach(size_t from) const {
    std::vector<bool> seen(nodes_.size(), false);
    std::vector<size_t> open{from};
    while (!open.empty()) {
      size_t n = open.back();
      open.pop_back();
      if (seen[n]) continue;
      seen[n] = true;
      for (size_t before : before_[n]) open.push_back(before);
    }
    return seen;
  }

  void place(Op *op) {
    std::set<size_t> needs = dependencies(*op);
    size_t joined = nodes_.size();
    bool fuses = options_.fuse && module_.options.optimizes();
    if (fuses && (is_cell_work(*op) || is_row_work(*op)) && touches_none(*op))
      joined = find_group(*op, needs);
    if (joined == nodes_.size()) {
      Node node;
      begin_node(*op, node);
      node.ops.push_back(op);
      nodes_.push_back(std::move(node));
      before_.push_back(needs);
    } else {
      join(joined, *op);
      nodes_[joined].ops.push_back(op);
      for (size_t n : needs)
        if (n != joined) before_[joined].insert(n);
    }
    for (const Value *v : op->results) node_of_[v] = joined;
    note_memory(*op, joined);
    define_inside(*op, joined);
  }

  /// Values that a region inside defines belong to this node as well.
  void define_inside(const Op &op, size_t node) {
    for (const Region *region : op.regions)
      for (const Op *inner : region->ops) {
        for (const Value *v : inner->results) node_of_[v] = node;
        define_inside(*inner, node);
      }
  }

  void uses(const Op &op, std::set<size_t> &needs) const {
    for (const Value *v : op.operands) {
      auto it = node_of_.find(v);
      if (it != node_of_.end()) needs.insert(it->second);
    }
    for (const Region *region : op.regions)
      for (const Op *inner : region->ops) uses(*inner, needs);
  }

  bool touches_none(const Op &op) const {
    Touch touch;
    touch_op(op, writes_, touch);
    return !touch.outputs && touch.reads.empty() && touch.writes.empty() && !touch.all_reads &&
           !touch.all_writes;
  }

  std::set<size_t> dependencies(const Op &op) {
    std::set<size_t> needs;
    uses(op, needs);
    Touch touch;
    touch_op(op, writes_, touch);
    auto after_writes = [&](const std::string &base) {
      auto it = last_write_.find(base);
      if (it != last_write_.end()) needs.insert(it->second);
      if (last_all_write_ >= 0) needs.insert(static_cast<size_t>(last_all_write_));
    };
    auto after_reads = [&](const std::string &base) {
      for (size_t n : reads_[base]) needs.insert(n);
      for (size_t n : all_reads_) needs.insert(n);
    };
    for (const std::string &base : touch.reads) after_writes(base);
    for (const std::string &base : touch.writes) {
      after_writes(base);
      after_reads(base);
    }
    if (touch.all_reads || touch.all_writes) {
      for (const auto &[base, node] : last_write_) needs.insert(node);
      if (last_all_write_ >= 0) needs.insert(static_cast<size_t>(last_all_write_));
    }
    if (touch.all_writes) {
      for (const auto &[base, nodes] : reads_) needs.insert(nodes.begin(), nodes.end());
      needs.insert(all_reads_.begin(), all_reads_.end());
    }
    bool leaves = op.code == OpCode::yield || op.code == OpCode::return_ || op.code == OpCode::break_ ||
                  op.code == OpCode::continue_;
    if ((touch.outputs || leaves) && last_output_ >= 0) needs.insert(static_cast<size_t>(last_output_));
    if (leaves)
      for (size_t n = 0; n < nodes_.size(); ++n) needs.insert(n);
    return needs;
  }

  void note_memory(const Op &op, size_t node) {
    Touch touch;
    touch_op(op, writes_, touch);
    for (const std::string &base : touch.reads) reads_[base].insert(node);
    if (touch.all_reads) all_reads_.insert(node);
    for (const std::string &base : touch.writes) {
      last_write_[base] = node;
      reads_[base].clear();
    }
    if (touch.all_writes) {
      last_all_write_ = static_cast<int>(node);
      last_write_.clear();
      reads_.clear();
      all_reads_.clear();
    }
    if (touch.outputs) last_output_ = static_cast<int>(node);
  }

  // ---- which group ----
  static std::vector<int64_t> shape(const Op &op) {
    const Type *type = is_row_work(op) && op.code != OpCode::row_put ? op.arg(0)->type : op.result()->type;
    return type->sizes;
  }

  void begin_node(const Op &op, Node &node) const {
    if (is_row_work(op)) {
      std::vector<int64_t> sizes = shape(op);
      node.kind = Node::Kind::rows;
      node.length = sizes.back();
      node.space.assign(sizes.begin(), sizes.end() - 1);
    } else if (is_cell_work(op)) {
      node.kind = Node::Kind::map;
      node.space = op.result()->type->sizes;
    }
  }

  /// Tries the producers' groups, the latest first, then the latest group of the same space.
  size_t find_group(const Op &op, const std::set<size_t> &needs) {
    std::set<size_t> candidates;
    for (const Value *v : op.operands) {
      auto it = node_of_.find(v);
      if (it != node_of_.end() && in_memory(v) && nodes_[it->second].kind != Node::Kind::single)
        candidates.insert(it->second);
    }
    for (auto it = candidates.rbegin(); it != candidates.rend(); ++it) {
      std::string reason;
      if (fits(op, *it, needs, reason)) return *it;
      missed(op, *it, reason);
    }
    for (size_t n = nodes_.size(); n-- > 0 && nodes_.size() - n < 64;) {
      std::string reason;
      if (nodes_[n].kind != Node::Kind::single && !candidates.count(n) && fits(op, n, needs, reason))
        return n;
    }
    return nodes_.size();
  }

  bool fits(const Op &op, size_t n, const std::set<size_t> &needs, std::string &reason) {
    const Node &node = nodes_[n];
    // Its other operands must be there before the group runs: none of their nodes may wait for the group.
    for (size_t other : needs)
      if (other != n && reach(other)[n]) {
        reason = "it also needs `" + describe(nodes_[other]) + "`, which runs after that";
        return false;
      }
    Node merged = node;
    if (!merge_spaces(op, merged)) {
      reason =
          "their shapes are no rows of one another: " + text(shape(op)) + " beside " + text(full_space(node));
      return false;
    }
    // Everything inside must be seen at the level at which it is made.
    for (const Op *inner : merged.ops)
      if (!operands_fit(*inner, merged, n)) {
        reason = "a value is used across rows";
        return false;
      }
    if (!operands_fit(op, merged, n)) {
      reason = "it reads across the rows of what it would join";
      return false;
    }
    return true;
  }

  static std::vector<int64_t> full_space(const Node &node) {
    std::vector<int64_t> full = node.space;
    if (node.kind == Node::Kind::rows) full.push_back(node.length);
    return full;
  }

  bool merge_spaces(const Op &op, Node &node) const {
    std::vector<int64_t> sizes = shape(op);
    if (node.kind == Node::Kind::map) {
      if (is_cell_work(op) && sizes == node.space) return true;
      // A map becomes a rows kernel where a row operation joins it, or where a cell a row meets rows.
      Node as_rows = node;
      as_rows.kind = Node::Kind::rows;
      if (is_row_work(op)) {
        as_rows.length = sizes.back();
        as_rows.space.assign(sizes.begin(), sizes.end() - 1);
      } else {
        return false;
      }
      for (const Op *inner : node.ops)
        if (level_of(inner->result()->type->sizes, as_rows.space, as_rows.length) == Level::none)
          return false;
      node = as_rows;
      return true;
    }
    if (is_row_work(op)) {
      if (level_of(op.result()->type->sizes, node.space, node.length) == Level::none) return false;
      return (sizes.back() == node.length &&
              std::vector<int64_t>(sizes.begin(), sizes.end() - 1) == node.space);
    }
    return level_of(sizes, node.space, node.length) != Level::none;
  }

  bool operands_fit(const Op &op, const Node &node, size_t n) const {
    if (node.kind == Node::Kind::map) return true;
    Level at = level_of(op.result()->type->sizes, node.space, node.length);
    for (const Value *v : op.operands) {
      if (!v->type->is_whole()) continue; // a scalar is the same for every item
      bool inside = false;
      auto it = node_of_.find(v);
      inside = it != node_of_.end() && it->second == n;
      Level seen = level_of(v->type->sizes, node.space, node.length);
      bool row_operand = is_row_work(op) && op.code != OpCode::row_put && v == op.operands[0];
      bool number = (op.code == OpCode::row_pick || op.code == OpCode::row_put) && v == op.operands[1];
      bool value_put = op.code == OpCode::row_put && v == op.operands[0];
      if (row_operand) {
        if (seen == Level::none) return false;
        continue;
      }
      if (number || value_put) {
        if (inside ? seen != Level::scalar : v->type->sizes != node.space) return false;
        continue;
      }
      if (inside) {
        if (seen != at) return false;
        continue;
      }
      // From outside: a stretched operand, aligned at the end.
      if (at == Level::row) {
        int64_t last = v->type->sizes.back();
        std::vector<int64_t> lead(v->type->sizes.begin(), v->type->sizes.end() - 1);
        std::vector<int64_t> together;
        if (last != node.length && last != 1) return false;
        if (!spectra::broadcast_sizes(lead, node.space, together) || together != node.space) return false;
      } else {
        std::vector<int64_t> together;
        if (!spectra::broadcast_sizes(v->type->sizes, node.space, together) || together != node.space)
          return false;
      }
    }
    return true;
  }

  void join(size_t n, const Op &op) { merge_spaces(op, nodes_[n]); }

  static std::string text(const std::vector<int64_t> &sizes) {
    std::string out = "[";
    for (size_t i = 0; i < sizes.size(); ++i) out += (i ? ", " : "") + std::to_string(sizes[i]);
    return out + "]";
  }
  static std::string describe(const Node &node) { return spectra::info(node.ops.back()->code).name; }

  void missed(const Op &op, size_t n, const std::string &reason) {
    if (!options_.remarks || !op.place()) return;
    options_.remarks->add({Remark::Kind::missed, "NotFused", op.place(), std::string(func_.name),
                           "`" + std::string(spectra::info(op.code).name) + "` does not join the pass of `" +
                               describe(nodes_[n]) + "`: " + reason});
  }

  // ---- order ----
  /// By the place of each node's last operation, as dependencies allow: what a group waits for comes first.
  std::vector<Node> schedule() {
    std::unordered_map<const Op *, size_t> position;
    for (size_t i = 0; i < region_.ops.size(); ++i) position[region_.ops[i]] = i;
    std::vector<std::vector<size_t>> after(nodes_.size());
    std::vector<size_t> waits(nodes_.size(), 0);
    for (size_t n = 0; n < nodes_.size(); ++n)
      for (size_t before : before_[n])
        if (before != n) {
          after[before].push_back(n);
          ++waits[n];
        }
    using Entry = std::pair<size_t, size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (!waits[n]) ready.push({position[nodes_[n].ops.back()], n});
    std::vector<Node> order;
    while (!ready.empty()) {
      size_t n = ready.top().second;
      ready.pop();
      order.push_back(nodes_[n]);
      for (size_t next : after[n])
        if (--waits[next] == 0) ready.push({position[nodes_[next].ops.back()], next});
    }
    if (order.size() != nodes_.size()) throw std::logic_error("the groups wait for each other");
    return order;
  }

  spectra::Module &module_;
  const spectra::Func &func_;
  Region &region_;
  const WriteSummary &writes_;
  const Options &options_;
  std::vector<Node> nodes_;
  std::vector<std::set<size_t>> before_;
  std::unordered_map<const Value *, size_t> node_of_;
  std::map<std::string, size_t> last_write_;
  std::map<std::string, std::set<size_t>> reads_;
  std::set<size_t> all_reads_;
  int last_all_write_ = -1;
  int last_output_ = -1;
};

} // namespace

Level level_of(const std::vector<int64_t> &sizes, const std::vector<int64_t> &space, int64_t length) {
  if (sizes.size() == space.size() + 1 && std::equal(space.begin(), space.end(), sizes.begin()) &&
      (sizes.back() == length || sizes.back() == 1))
    return Level::row;
  if (sizes == space && !space.empty()) return Level::scalar;
  return Level::none;
}

bool is_cell_work(const Op &op) {
  return result_in_memory(op) && spectra::info(op.code).role == Role::map && op.code != OpCode::detach &&
         op.code != OpCode::const_;
}

bool is_uniform(const Value *v, int depth) {
  if (!v->type->is_scalar() || !v->type->gpu || !v->def || !is_cell_work(*v->def) || depth == 0) return false;
  return std::all_of(v->def->operands.begin(), v->def->operands.end(), [depth](const Value *x) {
    return is_constant(x) || !in_memory(x) || is_uniform(x, depth - 1);
  });
}

bool is_row_work(const Op &op) {
  if (!result_in_memory(op)) return false;
  if (spectra::info(op.code).role != Role::rows) return false;
  return true;
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

std::vector<Node> group_region(spectra::Module &module, const spectra::Func &func, Region &region,
                               const WriteSummary &writes, const Options &options) {
  return Grouper(module, func, region, writes, options).run();
}

} // namespace mica::fuse
