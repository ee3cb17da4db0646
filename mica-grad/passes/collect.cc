// What there is to differentiate, and what is decided by where it stands:
// - a Backward whose only window stands before it in the same region (or in a region around the branches that
// it stands in)
//   gets its adjoint code in its place; any other becomes a call of a function of the window's;
// - a Gradient after a spliced Backward, with no other walk between, is that walk's value; any other reads a
// hidden variable.
#include "passes/collect.h"
#include "spectra/ops.h"

#include <algorithm>

namespace mica::grad {
namespace {
using namespace spectra;

class Collector {
public:
  Collector(Module &module, Diag &diag, Tapes &tapes) : module_(module), diag_(diag), tapes_(tapes) {}

  bool run() {
    for (Func *func : module_.funcs) {
      func_ = func;
      region(*func->body);
    }
    for (auto &walk : tapes_.walks)
      for (int64_t id : walk->windows)
        if (!tapes_.windows.count(id))
          error(walk->op->place(),
                "Backward of window " + std::to_string(id) + ", which is not in this text");
    if (!good_) return false;
    find_walkers();
    for (auto &walk : tapes_.walks) narrow(*walk);
    for (auto &walk : tapes_.walks) walk->spliced = splices(*walk);
    for (auto &ask : tapes_.asks) ask->walk = ask->of.is_static() ? walk_of(*ask) : nullptr;
    check_twice();
    check_assigned();
    return good_;
  }

private:
  void error(Place place, const std::string &message, const std::string &hint = {}) {
    diag_.error(place, message, hint);
    good_ = false;
  }

  void region(Region &r) {
    for (Op *op : r.ops) {
      region_of_[op] = &r;
      switch (op->code) {
      case OpCode::tape: {
        int64_t id = op->integer(Attr::id);
        if (!tapes_.windows.emplace(id, Window{id, op, func_, &r, std::make_shared<Recursions>()}).second)
          error(op->place(), "window " + std::to_string(id) + " is there twice");
        break;
      }
      case OpCode::backward: {
        auto walk = std::make_unique<Walk>();
        *walk = {op, func_, &r, location_of(*op), *op->integers(Attr::windows), false};
        const Type *type = path_type(module_, func_, *op);
        if (!walk->loss.is_static())
          error(op->place(), "Backward starts at a tracked scalar variable reached by constant indices");
        else if (!type || !type->is_scalar() || !type->is_float())
          error(op->place(), "Backward starts at one value, not at " + (type ? to_source(type) : "nothing"),
                "reduce it with Sum or Mean");
        if (walk->windows.empty())
          error(op->place(), "no window assigns " + source_text(module_, func_, walk->loss));
        tapes_.walks.push_back(std::move(walk));
        break;
      }
      case OpCode::gradient: {
        auto ask = std::make_unique<Ask>();
        *ask = {op, func_, &r, location_of(*op), nullptr};
        const Type *type = path_type(module_, func_, *op);
        if (!ask->of.is_variable())
          error(op->place(), "the gradient of a place behind a pointer is not yet in this version",
                "name the variable itself");
        else if (!type || !type->is_float())
          error(op->place(), "only floats have gradients, not " + (type ? to_source(type) : "this"));
        tapes_.asks.push_back(std::move(ask));
        break;
      }
      default: break;
      }
      for (Region *inner : op->regions) region(*inner);
    }
  }

  // ---- which functions walk ----
  void find_walkers() {
    for (auto &walk : tapes_.walks) walkers_.insert(walk->func);
    for (bool changed = true; changed;) {
      changed = false;
      for (Func *func : module_.funcs) {
        if (walkers_.count(func)) continue;
        each_op(*func->body, [&](Op &op) {
          if (!calls_walker(op) || walkers_.count(func)) return;
          walkers_.insert(func);
          changed = true;
        });
      }
    }
  }
  bool calls_walker(const Op &op) const {
    if (op.code == OpCode::call || op.code == OpCode::closure)
      return walkers_.count(module_.find_func(op.symbol)) > 0;
    return false;
  }
  bool walks_inside(Op &op) const {
    bool found = op.code == OpCode::backward || calls_walker(op);
    // A procedure value may be any procedure that was made one.
    if (op.code == OpCode::call_value) found |= !walkers_.empty();
    for (Region *inner : op.regions)
      for (Op *o : inner->ops) found |= walks_inside(*o);
    return found;
  }

  // ---- where things stand ----
  static size_t index_in(const Region &r, const Op *op) {
    return static_cast<size_t>(std::find(r.ops.begin(), r.ops.end(), op) - r.ops.begin());
  }
  /// Of several windows that assign the loss only one can have run last where it stands right before, with
  /// nothing between that could run another.
  void narrow(Walk &walk) {
    if (walk.windows.size() < 2) return;
    Op *at = walk.op;
    for (Region *r = walk.region;; r = region_of_.at(at)) {
      for (size_t i = index_in(*r, at); i-- > 0;) {
        Op &op = *r->ops[i];
        int64_t id = op.code == OpCode::tape ? op.integer(Attr::id) : -1;
        if (std::find(walk.windows.begin(), walk.windows.end(), id) != walk.windows.end()) {
          walk.windows = {id};
          return;
        }
        if (may_run(op, walk)) return;
      }
      at = r->parent;
      if (!at || (at->code != OpCode::if_ && at->code != OpCode::switch_)) return;
    }
  }
  bool may_run(const Op &op, const Walk &walk) const {
    bool may = op.code == OpCode::call || op.code == OpCode::call_value;
    if (op.code == OpCode::tape)
      may |= std::find(walk.windows.begin(), walk.windows.end(), op.integer(Attr::id)) != walk.windows.end();
    for (const Region *inner : op.regions)
      for (const Op *o : inner->ops) may |= may_run(*o, walk);
    return may;
  }
  bool splices(const Walk &walk) {
    if (walk.windows.size() != 1) return false;
    const Window &window = tapes_.windows.at(walk.windows[0]);
    if (window.func != walk.func) return false;
    Op *at = walk.op;
    for (Region *r = walk.region; r != window.region; r = region_of_.at(at)) {
      at = r->parent;
      if (!at || (at->code != OpCode::if_ && at->code != OpCode::switch_)) return false;
    }
    return index_in(*window.region, window.tape) < index_in(*window.region, at);
  }
  Walk *walk_of(const Ask &ask) {
    Op *at = ask.op;
    for (Region *r = ask.region;; r = region_of_.at(at)) {
      for (size_t i = index_in(*r, at); i-- > 0;) {
        Op &op = *r->ops[i];
        if (op.code == OpCode::backward) {
          for (auto &walk : tapes_.walks)
            if (walk->op == &op) return walk->spliced ? walk.get() : nullptr;
        }
        if (walks_inside(op)) return nullptr;
      }
      at = r->parent;
      if (!at) return nullptr;
      bool loop = at->code == OpCode::for_ || at->code == OpCode::while_;
      if (loop && walks_inside(*at)) return nullptr; // the turn before may have walked
    }
  }

  /// A second walk in one region without the window between is an error that shows here.
  void check_twice() {
    for (auto &second : tapes_.walks) {
      if (!second->spliced) continue;
      for (auto &first : tapes_.walks) {
        if (first.get() == second.get() || !first->spliced || first->region != second->region) continue;
        if (first->windows != second->windows || first->loss.key() != second->loss.key()) continue;
        if (index_in(*first->region, first->op) > index_in(*second->region, second->op)) continue;
        error(second->op->place(),
              "this run of the window was walked from " + source_text(module_, second->func, second->loss) +
                  " already",
              "run the window again before its next Backward");
        diag_.note(first->op->place(), "here");
        break;
      }
    }
  }

  /// Assigning a tracked variable of the window before the walk, where it shows (language.md 8.5).
  void check_assigned() {
    for (auto &walk_ : tapes_.walks) {
      if (!walk_->spliced || walk_->windows.size() != 1) continue;
      const Window &window = tapes_.windows.at(walk_->windows[0]);
      std::vector<Location> touched;
      std::set<const Func *> seen;
      tracked_places(window.body(), window.func, touched, seen);
      size_t from = index_in(*window.region, window.tape) + 1;
      Op *at = walk_->op;
      for (Region *r = walk_->region; r != window.region; r = region_of_.at(at)) at = r->parent;
      size_t to = index_in(*window.region, at);
      for (size_t i = from; i < to; ++i) {
        seen.clear();
        if (assigned(*window.region->ops[i], window, touched, seen)) break;
      }
    }
  }
  void tracked_places(Region &r, const Func *func, std::vector<Location> &touched,
                      std::set<const Func *> &seen) {
    each_op(r, [&](Op &op) {
      if (op.code == OpCode::read || op.code == OpCode::write) {
        Location at = location_of(op);
        const Type *type = type_at(module_, func, at);
        bool here = at.base == Path::Base::global || (at.base == Path::Base::local && func == nullptr);
        if (type && type->tracked && (here || (at.base == Path::Base::local && seen.empty())))
          touched.push_back(at);
      } else if (op.code == OpCode::call) {
        const Func *callee = module_.find_func(op.symbol);
        if (!callee->external && seen.insert(callee).second)
          tracked_places(*callee->body, callee, touched, seen);
      }
    });
  }
  bool assigned(Op &op, const Window &window, const std::vector<Location> &touched,
                std::set<const Func *> &seen) {
    auto hits = [&](const Location &at) {
      return at.is_variable() && std::any_of(touched.begin(), touched.end(), [&](const Location &t) {
               return overlap(at, t) == Overlap::same;
             });
    };
    auto complain = [&](const Location &at) {
      error(op.place(),
            source_text(module_, window.func, at) + " is assigned between its window and its Backward",
            "assign it after the Backward, or copy it first");
      diag_.note(window.tape->place(), "the window");
      return true;
    };
    if (op.code == OpCode::write && hits(location_of(op))) return complain(location_of(op));
    bool in_place = op.code == OpCode::sgd_steps || op.code == OpCode::adamw_steps ||
                    op.code == OpCode::clip_grad_norms || op.code == OpCode::scale_tensors ||
                    op.code == OpCode::add_tensors || op.code == OpCode::load_tensors;
    if (in_place)
      for (const Value *v : op.operands)
        if (v->def && v->def->code == OpCode::address && hits(location_of(*v->def)))
          return complain(location_of(*v->def));
    for (Region *inner : op.regions)
      for (Op *o : inner->ops)
        if (assigned(*o, window, touched, seen)) return true;
    if (op.code == OpCode::call) {
      const Func *callee = module_.find_func(op.symbol);
      if (callee->external || !seen.insert(callee).second) return false;
      bool found = false;
      each_op(*callee->body, [&](Op &o) {
        if (!found && o.code == OpCode::write && o.path->base == Path::Base::global && hits(location_of(o)))
          found = complain(location_of(o));
      });
      return found;
    }
    return false;
  }

  Module &module_;
  Diag &diag_;
  Tapes &tapes_;
  Func *func_ = nullptr;
  std::map<const Op *, Region *> region_of_;
  std::set<const Func *> walkers_;
  bool good_ = true;
};

} // namespace

bool collect_tapes(Module &module, Diag &diag, Tapes &tapes) { return Collector(module, diag, tapes).run(); }

} // namespace mica::grad
