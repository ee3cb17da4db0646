// After promote, in optimizing tiers: writes that nobody can see, and what was computed for them alone.
#include "promote_effects.h"

#include "spectra/ops.h"

namespace mica::check {

using spectra::Func;
using spectra::Op;
using spectra::OpCode;
using spectra::Region;
using spectra::Value;

namespace {

bool jumps(const Op &op) {
  for (const Region *region : op.regions)
    for (const Op *inner : region->ops)
      if (inner->code == OpCode::return_ || inner->code == OpCode::break_ ||
          inner->code == OpCode::continue_ || jumps(*inner))
        return true;
  return false;
}

class Cleaner {
public:
  explicit Cleaner(spectra::Module &module) : module_(module), effects_(module) {}

  /// One round; true where something went.
  bool run() {
    removed_ = false;
    collect_observers();
    for (Func *f : module_.funcs) {
      if (f->external) continue;
      overwritten(*f, *f->body);
      unseen(*f, *f->body);
    }
    count_uses();
    for (Func *f : module_.funcs)
      if (!f->external) unused(*f->body);
    return removed_;
  }

  /// Locals that nothing names any more.
  void drop_locals() {
    for (Func *f : module_.funcs) {
      if (f->external) continue;
      std::set<std::string_view> named;
      spectra::walk(*f->body, [&](Op *op) {
        if (op->path && op->path->base == spectra::Path::Base::local) named.insert(op->path->symbol);
      });
      spectra::List<spectra::Variable> kept(module_.memory.get());
      for (const spectra::Variable &v : f->locals)
        if (named.count(v.name) || !EffectTable::is_promoted_type(v.type)) kept.push_back(v);
      f->locals.assign(kept.begin(), kept.end());
    }
  }

private:
  bool is_plain_write(const Func &func, const Op &op, Location &at) {
    if (op.code != OpCode::write) return false;
    at = effects_.location(func, op);
    if (!at.exact()) return false;
    const spectra::Type *type = effects_.type_of(func, op);
    return type && EffectTable::is_promoted_type(type);
  }

  /// A write followed by another of the same place with nobody looking between.
  void overwritten(Func &func, Region &region) {
    std::set<Location> dead;
    std::vector<Op *> kept;
    for (size_t i = region.ops.size(); i-- > 0;) {
      Op *op = region.ops[i];
      for (Region *inner : op->regions) overwritten(func, *inner);
      Location at;
      if (is_plain_write(func, *op, at)) {
        if (dead.count(at)) {
          removed_ = true;
          continue;
        }
        dead.insert(at);
        kept.push_back(op);
        continue;
      }
      kept.push_back(op);
      if (jumps(*op)) {
        dead.clear();
        continue;
      }
      const Effects e = effects_.inside(func, *op);
      for (auto it = dead.begin(); it != dead.end();) {
        const bool far = (e.reads_through || e.anything) && effects_.escaped(func, *it);
        bool seen = (e.reads_through && far) || (e.anything && (far || it->root[0] == '@'));
        for (const Access &a : e.list)
          if (!(a.writes && a.plain) && a.at.overlaps(*it)) seen = true;
        it = seen ? dead.erase(it) : std::next(it);
      }
    }
    region.ops.assign(kept.rbegin(), kept.rend());
  }

  /// All that sees variables anywhere: whatever is no plain write.
  void collect_observers() {
    observed_.clear();
    for (const Func *f : module_.funcs) {
      if (f->external) continue;
      spectra::walk(*f->body, [&](Op *op) {
        if (op->code == OpCode::address) {
          add_observer(*f, effects_.location(*f, *op));
          return;
        }
        if (op->code == OpCode::call) return; // the callee's own operations are walked
        for (const Access &a : effects_.of(*f, *op).list)
          if (!(a.writes && a.plain)) add_observer(*f, a.at);
      });
    }
  }
  void add_observer(const Func &func, const Location &at) {
    if (!at.known()) return;
    observed_[at.root[0] == '$' ? std::string(func.name) + at.root : at.root].push_back(at);
  }

  void unseen(Func &func, Region &region) {
    spectra::List<Op *> kept(module_.memory.get());
    for (Op *op : region.ops) {
      for (Region *inner : op->regions) unseen(func, *inner);
      Location at;
      bool dead = is_plain_write(func, *op, at) && !effects_.escaped(func, at) && at.root != "$'frame";
      if (dead && at.root[0] == '@' && !module_.find_func("program.main")) dead = false;
      if (dead) {
        auto it = observed_.find(at.root[0] == '$' ? std::string(func.name) + at.root : at.root);
        if (it != observed_.end())
          for (const Location &seen : it->second) dead = dead && !seen.overlaps(at);
      }
      if (dead)
        removed_ = true;
      else
        kept.push_back(op);
    }
    region.ops.assign(kept.begin(), kept.end());
  }

  void count_uses() {
    uses_.assign(module_.value_count, 0);
    for (const Func *f : module_.funcs)
      if (!f->external)
        spectra::walk(*f->body, [&](Op *op) {
          for (const Value *v : op->operands) ++uses_[v->number];
        });
  }

  /// Pure operations and reads whose results nobody takes.
  void unused(Region &region) {
    std::vector<Op *> kept;
    for (size_t i = region.ops.size(); i-- > 0;) {
      Op *op = region.ops[i];
      for (size_t r = op->regions.size(); r-- > 0;) unused(*op->regions[r]);
      bool dead = !op->results.empty() && op->regions.empty() &&
                  (spectra::is_pure(*op) || op->code == OpCode::read || op->code == OpCode::to_host);
      for (const Value *v : op->results) dead = dead && uses_[v->number] == 0;
      if (!dead) {
        kept.push_back(op);
        continue;
      }
      removed_ = true;
      for (const Value *v : op->operands) --uses_[v->number];
    }
    region.ops.assign(kept.rbegin(), kept.rend());
  }

  spectra::Module &module_;
  EffectTable effects_;
  std::unordered_map<std::string, std::vector<Location>> observed_;
  std::vector<uint32_t> uses_;
  bool removed_ = false;
};

} // namespace

void remove_dead_writes(spectra::Module &module) {
  Cleaner cleaner(module);
  for (int round = 0; round < 8 && cleaner.run(); ++round) {
  }
  cleaner.drop_locals();
}

} // namespace mica::check
