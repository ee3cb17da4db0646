// Dead code, by marking from what has effects. Branches and loops are looked into value by value: a result
// that nobody reads takes nothing with it.
#include "passes/dce.h"
#include "spectra/ops.h"

#include <map>

namespace mica::grad {
namespace {
using namespace spectra;

class Marker {
public:
  Marker(Region &root, const std::unordered_set<const Value *> &wanted, const std::set<std::string_view> &own)
      : root_(root), own_(own) {
    collect(root);
    for (const Value *v : wanted) need(v);
    mark_roots(root);
    drain();
  }
  void sweep() { sweep(root_); }

private:
  /// What a region's argument or an operation's result is fed by, beside its operation's own operands.
  struct Fed {
    std::vector<const Value *> from;
  };

  void collect(Region &r) {
    for (Op *op : r.ops) {
      parent_[op] = &r;
      for (Region *inner : op->regions) {
        owner_[inner] = op;
        collect(*inner);
      }
      if (writes_own(*op)) writes_[op->path->symbol].push_back(op);
      auto yielded = [&](size_t region, size_t i) -> const Value * {
        const List<Op *> &ops = op->regions[region]->ops;
        if (ops.empty() || ops.back()->code != OpCode::yield || ops.back()->operands.size() <= i)
          return nullptr;
        return ops.back()->operands[i];
      };
      if (op->code == OpCode::if_) {
        for (size_t i = 0; i < op->results.size(); ++i)
          for (size_t k = 0; k < op->regions.size(); ++k) feed(op->results[i], yielded(k, i));
      } else if (op->code == OpCode::for_) {
        for (size_t i = 0; i < op->results.size(); ++i) {
          const Value *argument = op->regions[0]->args[i + 1];
          feed(op->results[i], argument);
          feed(argument, op->operands[i + 2]);
          feed(argument, yielded(0, i));
          feed(argument, op->results[i]); // kept or removed together
        }
      } else if (op->code == OpCode::while_) {
        for (size_t i = 0; i < op->operands.size(); ++i) {
          feed(op->regions[0]->args[i], op->operands[i]);
          feed(op->regions[0]->args[i], yielded(1, i));
        }
        for (size_t i = 0; i < op->results.size(); ++i) {
          feed(op->results[i], yielded(0, i + 1));
          feed(op->regions[1]->args[i], yielded(0, i + 1));
        }
      }
    }
  }
  void feed(const Value *to, const Value *from) {
    if (from) fed_[to].push_back(from);
  }
  bool writes_own(const Op &op) const {
    return op.code == OpCode::write && op.path->base == Path::Base::local && own_.count(op.path->symbol);
  }

  /// Whether the operation must stay whatever reads it.
  bool is_root(const Op &op) const {
    if (writes_own(op)) return false;
    switch (op.code) {
    case OpCode::yield:
    case OpCode::if_:
    case OpCode::for_:
    case OpCode::switch_: return false; // kept where something inside is
    case OpCode::while_: return true;   // it may not end
    case OpCode::div: return !op.result()->type->is_float();
    case OpCode::slice:
    case OpCode::slice_rows: return !inside(op);
    default: return (info(op.code).effects & ~kReads) != 0;
    }
  }
  /// A slice at a constant place that fits.
  static bool inside(const Op &op) {
    const Op *from = op.arg(1)->def;
    if (!from || from->code != OpCode::const_) return false;
    const AttrValue *value = from->find(Attr::value);
    const int64_t *at = value ? std::get_if<int64_t>(value) : nullptr;
    const std::vector<int64_t> &sizes = op.arg(0)->type->sizes;
    int64_t size = op.code == OpCode::slice ? sizes.back() : sizes.front();
    return at && *at >= 0 && *at + op.integer(Attr::count) <= size;
  }

  void mark_roots(Region &r) {
    for (Op *op : r.ops) {
      if (is_root(*op)) keep(*op);
      for (Region *inner : op->regions) mark_roots(*inner);
    }
    // Exits keep their conditions: a region that ends otherwise than by yield.
    if (!r.ops.empty() && r.ops.back()->code != OpCode::yield) keep(*r.ops.back());
  }
  void keep(const Op &op) {
    if (!live_.insert(&op).second) return;
    switch (op.code) {
    case OpCode::if_: need(op.operands[0]); break;
    case OpCode::for_:
      need(op.operands[0]);
      need(op.operands[1]);
      break;
    case OpCode::while_:
      if (!op.regions[0]->ops.empty() && op.regions[0]->ops.back()->code == OpCode::yield)
        need(op.regions[0]->ops.back()->operands[0]);
      // What a `while` carries stays: it is seldom much.
      for (const Value *v : op.results) need(v);
      for (const Region *r : op.regions)
        for (const Value *v : r->args) need(v);
      break;
    case OpCode::yield: break;
    default:
      for (const Value *v : op.operands) need(v);
    }
    if (op.path && op.path->base == Path::Base::local && op.code != OpCode::write) observe(op.path->symbol);
    // An operation is kept with what it stands in.
    auto region = parent_.find(&op);
    if (region == parent_.end()) return;
    auto owner = owner_.find(region->second);
    if (owner != owner_.end()) keep(*owner->second);
  }
  void observe(std::string_view local) {
    auto it = writes_.find(local);
    if (it == writes_.end()) return;
    std::vector<Op *> all = std::move(it->second);
    writes_.erase(it);
    for (Op *op : all) keep(*op);
  }
  void need(const Value *v) {
    if (needed_.insert(v).second) work_.push_back(v);
  }
  void drain() {
    while (!work_.empty()) {
      const Value *v = work_.back();
      work_.pop_back();
      if (v->def) keep(*v->def);
      if (v->region) {
        auto owner = owner_.find(v->region);
        if (owner != owner_.end()) keep(*owner->second);
      }
      auto it = fed_.find(v);
      if (it != fed_.end())
        for (const Value *from : it->second) need(from);
    }
  }

  template <class T> static void drop(List<T> &list, const std::vector<bool> &dead, size_t first) {
    size_t to = first;
    for (size_t i = first; i < list.size(); ++i)
      if (!(i - first < dead.size() && dead[i - first])) list[to++] = list[i];
    list.resize(to);
  }
  void sweep(Region &r) {
    size_t to = 0;
    for (Op *op : r.ops) {
      bool ends = op->code == OpCode::yield;
      if (!ends && !live_.count(op)) continue;
      r.ops[to++] = op;
      if (op->code == OpCode::if_ || op->code == OpCode::for_) {
        std::vector<bool> dead;
        for (const Value *v : op->results) dead.push_back(!needed_.count(v));
        drop(op->results, dead, 0);
        for (Region *inner : op->regions) {
          if (!inner->ops.empty() && inner->ops.back()->code == OpCode::yield)
            drop(inner->ops.back()->operands, dead, 0);
          if (op->code == OpCode::for_) drop(inner->args, dead, 1);
        }
        if (op->code == OpCode::for_) drop(op->operands, dead, 2);
      }
      for (Region *inner : op->regions) sweep(*inner);
    }
    r.ops.resize(to);
  }

  Region &root_;
  const std::set<std::string_view> &own_;
  std::map<const Op *, Region *> parent_;
  std::map<const Region *, Op *> owner_;
  std::map<std::string_view, std::vector<Op *>> writes_;
  std::map<const Value *, std::vector<const Value *>> fed_;
  std::unordered_set<const Op *> live_;
  std::unordered_set<const Value *> needed_;
  std::vector<const Value *> work_;
};

} // namespace

void remove_dead(Region &root, const std::unordered_set<const Value *> &wanted,
                 const std::set<std::string_view> &own) {
  Marker(root, wanted, own).sweep();
}

} // namespace mica::grad
