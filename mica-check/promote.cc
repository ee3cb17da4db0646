// promote: whole values of variables become values.
//
//   write @h, %a                        %b = relu %a
//   %h = read @h                  ->    write @h, %b        (gone too where nobody reads @h)
//   %b = relu %h
//   write @h, %b
//
// Reads are forwarded through straight lines and windows, through `if` (as results) and loops (as carried
// values). A local whose every use is a read or a write becomes values altogether; a unit variable does so
// within a loop whose calls don't touch it. The debug and checked tiers keep every write, for the debugger;
// the values computed are the same in all tiers. Paths with constant steps are places of their own; an index
// at run time conflicts with all below the same root.
#include "promote.h"
#include "promote_effects.h"

#include "spectra/ops.h"

namespace mica::check {

using spectra::Builder;
using spectra::Func;
using spectra::Op;
using spectra::OpCode;
using spectra::Region;
using spectra::Value;

void remove_dead_writes(spectra::Module &); // promote_dead.cc

namespace {

/// What places hold, as values that are visible here.
using Known = std::map<Location, Value *>;

/// Where control parts without giving results: `switch`, and an `if` over a bool on the card, which guards
/// launches.
bool only_guards(const Op &op) {
  return op.code == OpCode::switch_ || (op.code == OpCode::if_ && op.operands[0]->type->gpu);
}
bool is_loop(const Op &op) { return op.code == OpCode::for_ || op.code == OpCode::while_; }
bool falls_through(const Region &region) {
  return !region.ops.empty() && region.ops.back()->code == OpCode::yield;
}

/// Whether `break`, `continue` or `return` would leave a turn of this loop, which then can't carry values.
bool has_jumps(const Op &loop) {
  struct Search {
    bool in(const Region &region, bool own) {
      for (const Op *op : region.ops) {
        if (op->code == OpCode::return_) return true;
        if (own && (op->code == OpCode::break_ || op->code == OpCode::continue_)) return true;
        for (const Region *inner : op->regions)
          if (in(*inner, own && !is_loop(*op))) return true;
      }
      return false;
    }
  } search;
  for (const Region *region : loop.regions)
    if (search.in(*region, true)) return true;
  return false;
}

class Promoter {
public:
  Promoter(spectra::Module &module, const EffectTable &effects, Func &func)
      : module_(module), effects_(effects), func_(func), keep_writes_(!module.options.optimizes()) {}

  void run() {
    classify();
    Known known;
    process(*func_.body, known);
    // Zeros that locals start with, where they are read before they are written.
    func_.body->ops.insert(func_.body->ops.begin(), entry_.begin(), entry_.end());
  }

private:
  struct Use {
    bool plain = true;
    const Op *some = nullptr;
    std::vector<const Op *> chain; ///< enclosing operations of a write
  };

  // ---- which locals become values altogether
  void classify() {
    std::map<Location, bool> candidates;
    std::vector<Access> all;
    std::vector<const Op *> chain;
    scan(*func_.body, chain, candidates, all);
    for (auto &[at, good] : candidates) {
      if (!good || effects_.escaped(func_, at)) continue;
      bool alone = true;
      for (const Access &a : all)
        if (a.at.overlaps(at) && !(a.plain && a.at == at)) alone = false;
      if (alone) values_.insert(at);
    }
  }

  void scan(const Region &region, std::vector<const Op *> &chain, std::map<Location, bool> &candidates,
            std::vector<Access> &all) {
    for (const Op *op : region.ops) {
      Effects e = effects_.of(func_, *op);
      if (op->code == OpCode::read && !e.list.empty()) ++reads_[e.list[0].at];
      for (const Access &a : e.list) {
        if (a.at.root[0] != '$') continue;
        if (!a.plain || all_seen_.insert(a.at).second) all.push_back(a);
        if (!a.plain || !a.at.exact()) continue;
        const spectra::Type *type = effects_.type_of(func_, *op);
        if (!type || !EffectTable::is_promoted_type(type) || a.at.root == "$frame") continue;
        bool &good = candidates.try_emplace(a.at, true).first->second;
        if (!representative_.count(a.at)) representative_[a.at] = op;
        if (!a.writes) continue;
        for (const Op *outer : chain)
          if (only_guards(*outer) || (is_loop(*outer) && has_jumps(*outer))) good = false;
      }
      // The gradient's or the walk's place must stay a place.
      if (op->path && op->code != OpCode::read && op->code != OpCode::write) {
        Location at = effects_.location(func_, *op);
        if (at.known() && at.root[0] == '$') all.push_back({at, true, false});
      }
      chain.push_back(op);
      for (const Region *inner : op->regions) scan(*inner, chain, candidates, all);
      chain.pop_back();
    }
  }

  /// How often the operation's regions read each place.
  std::map<Location, int> reads_inside(const Op &op) {
    std::map<Location, int> counts;
    for (Region *region : op.regions)
      spectra::walk(*region, [&](Op *inner) {
        if (inner->code != OpCode::read) return;
        Location at = effects_.location(func_, *inner);
        if (at.known()) ++counts[at];
      });
    return counts;
  }
  /// Whether the place is read anywhere but inside: where not, nobody wants what it holds afterwards.
  bool read_outside(const std::map<Location, int> &inside, const Location &at) {
    std::map<Location, int>::const_iterator all = reads_.find(at), in = inside.find(at);
    return all != reads_.end() && all->second > (in == inside.end() ? 0 : in->second);
  }

  // ---- values
  Value *now(Value *v) {
    while (v->number < replaced_.size() && replaced_[v->number]) v = replaced_[v->number];
    return v;
  }
  void replace(Value *old, Value *by) {
    if (replaced_.size() <= old->number) replaced_.resize(module_.value_count, nullptr);
    replaced_[old->number] = by;
  }

  Value *zero(const Location &at, const spectra::Type *type) {
    Value *&value = zeros_[at];
    if (value) return value;
    Region scratch(module_.memory.get());
    Builder b(module_, &scratch);
    const spectra::Type *plain = module_.types.untracked(type);
    if (plain->is_whole()) {
      value = b.make_typed(OpCode::zeros, {}, plain);
    } else {
      const spectra::Type *host = module_.types.scalar(plain->scalar);
      value = plain->is_float() ? b.constant_float(host, 0) : b.constant(host, 0);
      if (plain->gpu) value = b.make(OpCode::to_gpu, {value});
    }
    entry_.insert(entry_.end(), scratch.ops.begin(), scratch.ops.end());
    return value;
  }

  /// What the place holds here: known, or for a local that becomes values its zero; else null.
  Value *held(const Location &at, const Known &known, const spectra::Type *type) {
    auto it = known.find(at);
    if (it != known.end()) return it->second;
    return values_.count(at) ? zero(at, type) : nullptr;
  }

  // ---- effects
  void forget(const Effects &e, Known &known, bool plain_too) {
    for (auto it = known.begin(); it != known.end();) {
      bool lost = false;
      if (!values_.count(it->first)) {
        const bool far = effects_.escaped(func_, it->first);
        lost = (e.writes_through && far) || (e.anything && (far || it->first.root[0] == '@'));
        for (const Access &a : e.list)
          if (a.writes && (plain_too || !a.plain) && a.at.overlaps(it->first)) lost = true;
      }
      it = lost ? known.erase(it) : std::next(it);
    }
  }

  void process(Region &region, Known &known) {
    spectra::List<Op *> out(module_.memory.get());
    for (Op *op : region.ops) {
      for (Value *&v : op->operands) v = now(v);
      switch (op->code) {
      case OpCode::read:
        if (read(*op, known)) continue;
        break;
      case OpCode::write:
        if (write(*op, known)) continue;
        break;
      case OpCode::tape: {
        // A tracked variable that someone wants the gradient of is read inside the window, or it would get
        // none.
        for (auto it = known.begin(); it != known.end();)
          it = effects_.has_gradient(func_, it->first) ? known.erase(it) : std::next(it);
        process(*op->regions[0], known);
        break;
      }
      case OpCode::if_:
        if (!only_guards(*op)) {
          branch(*op, known);
          break;
        }
        [[fallthrough]];
      case OpCode::switch_: {
        Known before = known;
        for (Region *inner : op->regions) {
          Known own = before;
          process(*inner, own);
        }
        for (Region *inner : op->regions) forget(effects_.inside(func_, *inner), known, true);
        break;
      }
      case OpCode::for_:
      case OpCode::while_: loop(*op, known, out); continue;
      default: forget(effects_.of(func_, *op), known, true); break;
      }
      out.push_back(op);
    }
    region.ops.assign(out.begin(), out.end());
  }

  bool read(Op &op, Known &known) {
    Location at = effects_.location(func_, op);
    if (!at.exact()) return false;
    const spectra::Type *type = effects_.type_of(func_, op);
    if (!type || !EffectTable::is_promoted_type(type)) return false;
    if (Value *value = held(at, known, type)) {
      replace(op.result(), value);
      return true;
    }
    known[at] = op.result();
    return false;
  }

  bool write(Op &op, Known &known) {
    Effects e = effects_.of(func_, op);
    forget(e, known, true);
    Location at = effects_.location(func_, op);
    const spectra::Type *type = at.exact() ? effects_.type_of(func_, op) : nullptr;
    if (!type || !EffectTable::is_promoted_type(type)) return false;
    known[at] = op.operands.back();
    representative_.try_emplace(at, &op);
    return (values_.count(at) || sunk_.count(at)) && !keep_writes_;
  }

  // ---- if
  void branch(Op &op, Known &known) {
    Region &first = *op.regions[0], &second = *op.regions[1];
    const Effects e = effects_.inside(func_, op); // before reads and writes go
    const std::map<Location, int> reads = reads_inside(op);
    Known before = known, ends[2] = {known, known};
    process(first, ends[0]);
    process(second, ends[1]);
    const bool falls[2] = {falls_through(first), falls_through(second)};
    if (!falls[0] && !falls[1]) return;
    // What either branch changed is known after it where both ends know it.
    std::set<Location> changed;
    for (const Known &end : ends)
      for (const auto &[at, value] : end) {
        auto it = before.find(at);
        if (it == before.end() || it->second != value) changed.insert(at);
      }
    known.clear();
    for (const auto &[at, value] : before) {
      bool same = true;
      for (int i = 0; i < 2; ++i)
        if (falls[i]) {
          auto it = ends[i].find(at);
          same = same && it != ends[i].end() && it->second == value;
        }
      if (same) known[at] = value;
    }
    for (const Location &at : changed) {
      if (known.count(at) || !read_outside(reads, at)) continue;
      auto a = ends[0].find(at), b = ends[1].find(at);
      Value *some = a != ends[0].end() ? a->second : b->second;
      const spectra::Type *type = some->type;
      Value *left = falls[0] ? held(at, ends[0], type) : nullptr;
      Value *right = falls[1] ? held(at, ends[1], type) : nullptr;
      if ((falls[0] && !left) || (falls[1] && !right)) continue;
      // A value that was only read inside stays inside: it can be read again.
      if (!values_.count(at) && !sunk_.count(at) && !writes(e, at)) continue;
      if (left && left == right) {
        known[at] = left;
        continue;
      }
      if (falls[0]) first.ops.back()->operands.push_back(left);
      if (falls[1]) second.ops.back()->operands.push_back(right);
      known[at] = result(op, type, some->name);
    }
  }

  static bool writes(const Effects &e, const Location &at) {
    for (const Access &a : e.list)
      if (a.writes && a.at == at) return true;
    return false;
  }
  bool written(const Op &op, const Location &at) { return writes(effects_.inside(func_, op), at); }

  Value *result(Op &op, const spectra::Type *type, std::string_view name) {
    Value *v = module_.new_value(type, name);
    v->def = &op;
    op.results.push_back(v);
    return v;
  }

  // ---- loops
  /// The unit variables that become values within the loop: read before they are written in a turn, and all
  /// uses plain.
  std::set<Location> carried_places(const Op &op, const Effects &e) {
    std::set<Location> places;
    if (e.anything || has_jumps(op)) return places;
    std::map<Location, std::pair<bool, bool>> seen; // read, written
    for (const Access &a : e.list) {
      std::pair<bool, bool> &s = seen[a.at];
      (a.writes ? s.second : s.first) = true;
    }
    for (auto &[at, s] : seen) {
      if (!s.first || !s.second || !at.exact() || values_.count(at) || sunk_.count(at)) continue;
      if ((e.reads_through || e.writes_through) && effects_.escaped(func_, at)) continue;
      bool alone = true;
      for (const Access &a : e.list)
        if (a.at.overlaps(at) && !(a.plain && a.at == at)) alone = false;
      if (!alone || !exposed(op, at)) continue;
      if (const Op *one = sample(op, at)) {
        const spectra::Type *type = effects_.type_of(func_, *one);
        if (!type || !EffectTable::is_promoted_type(type)) continue;
        if (crosses(op, at)) continue;
        representative_[at] = one;
        places.insert(at);
      }
    }
    return places;
  }

  /// A read or write of just that place inside the operation.
  const Op *sample(const Op &op, const Location &at) {
    const Op *found = nullptr;
    for (Region *region : op.regions)
      spectra::walk(*region, [&](Op *inner) {
        if (!found && (inner->code == OpCode::read || inner->code == OpCode::write) &&
            effects_.location(func_, *inner) == at)
          found = inner;
      });
    return found;
  }

  /// Whether carrying would take the place into a window that must read it, or a switch writes it.
  bool crosses(const Op &op, const Location &at) {
    const bool gradient = effects_.has_gradient(func_, at);
    bool found = false;
    for (Region *region : op.regions)
      spectra::walk(*region, [&](Op *inner) {
        if (inner->code == OpCode::tape && gradient) found = true;
        if (only_guards(*inner) && written(*inner, at)) found = true;
        if (is_loop(*inner) && has_jumps(*inner) && written(*inner, at)) found = true;
      });
    return found;
  }

  /// Whether a turn may read the place before it writes it: not where the first use is a write of the turn
  /// itself.
  bool exposed(const Op &op, const Location &at) {
    for (const Region *region : op.regions)
      for (const Op *inner : region->ops) {
        bool touches = false;
        for (const Access &a : effects_.inside(func_, *inner).list) touches = touches || a.at == at;
        if (inner->code == OpCode::tape) {
          if (touches) return exposed(*inner, at);
          continue;
        }
        if (touches) return inner->code != OpCode::write;
      }
    return true;
  }

  void loop(Op &op, Known &known, spectra::List<Op *> &out) {
    const Effects e = effects_.inside(func_, op);
    std::set<Location> carried = carried_places(op, e), own;
    const std::map<Location, int> reads = reads_inside(op);
    for (const Access &a : e.list)
      if (a.writes && values_.count(a.at) && (read_outside(reads, a.at) || exposed(op, a.at)))
        carried.insert(a.at);
    for (const Access &a : e.list)
      if (a.writes && sunk_.count(a.at)) carried.insert(a.at);

    // Where each starts.
    std::vector<Location> places(carried.begin(), carried.end());
    std::vector<Value *> starts;
    for (const Location &at : places) {
      const Op *like = representative_[at];
      const spectra::Type *type = effects_.type_of(func_, *like);
      Value *start = held(at, known, type);
      if (!start) {
        Op *read = module_.new_op(OpCode::read);
        read->places.assign(op.places.begin(), op.places.end());
        copy_path(*like, *read);
        start = result(*read, module_.types.untracked(type), like->path->symbol);
        out.push_back(read);
      }
      starts.push_back(start);
    }
    forget(e, known, true);
    Known inside = known;
    for (const Location &at : places) {
      known.erase(at);
      inside.erase(at);
      if (!values_.count(at) && sunk_.insert(at).second) own.insert(at);
    }
    auto enter = [&](Region &region, Known &start) {
      for (size_t i = 0; i < places.size(); ++i) {
        Value *argument = module_.new_value(starts[i]->type, starts[i]->name);
        argument->region = &region;
        region.args.push_back(argument);
        start[places[i]] = argument;
      }
    };
    auto leave = [&](Region &region, const Known &end) {
      for (const Location &at : places) region.ops.back()->operands.push_back(end.at(at));
    };
    for (Value *start : starts) op.operands.push_back(start);
    Known first = inside;
    enter(*op.regions[0], first);
    process(*op.regions[0], first);
    if (falls_through(*op.regions[0])) leave(*op.regions[0], first);
    if (op.code == OpCode::while_) {
      Known second = inside;
      enter(*op.regions[1], second);
      process(*op.regions[1], second);
      if (falls_through(*op.regions[1])) leave(*op.regions[1], second);
    }
    out.push_back(&op);
    for (size_t i = 0; i < places.size(); ++i) {
      known[places[i]] = result(op, starts[i]->type, starts[i]->name);
      if (!own.count(places[i])) continue;
      sunk_.erase(places[i]);
      if (keep_writes_) continue;
      Op *store = module_.new_op(OpCode::write);
      store->places.assign(op.places.begin(), op.places.end());
      copy_path(*representative_[places[i]], *store);
      store->operands.push_back(known[places[i]]);
      out.push_back(store);
    }
  }

  /// Exact paths have no operands.
  void copy_path(const Op &from, Op &to) {
    to.path = module_.new_path();
    const Op *source = &from;
    std::vector<const Op *> chain;
    while (source->path->base == spectra::Path::Base::pointer) {
      chain.push_back(source);
      source = source->operands[0]->def;
      while (source->code == OpCode::check_nil) source = source->operands[0]->def;
    }
    to.path->base = source->path->base;
    to.path->symbol = source->path->symbol;
    to.path->steps.assign(source->path->steps.begin(), source->path->steps.end());
    for (size_t i = chain.size(); i-- > 0;)
      to.path->steps.insert(to.path->steps.end(), chain[i]->path->steps.begin(), chain[i]->path->steps.end());
  }

  spectra::Module &module_;
  const EffectTable &effects_;
  Func &func_;
  const bool keep_writes_;
  std::set<Location> values_; ///< locals that become values altogether
  std::set<Location> sunk_;   ///< places that are values within the loops being processed
  std::set<Location> all_seen_;
  std::map<Location, const Op *> representative_; ///< one operation with each path
  std::map<Location, int> reads_;                 ///< how often the function reads each place
  std::map<Location, Value *> zeros_;
  std::vector<Op *> entry_;
  std::vector<Value *> replaced_;
};

} // namespace

void promote(spectra::Module &module) {
  EffectTable effects(module);
  for (Func *f : module.funcs)
    if (!f->external) Promoter(module, effects, *f).run();
  if (module.options.optimizes()) remove_dead_writes(module);
}

} // namespace mica::check
