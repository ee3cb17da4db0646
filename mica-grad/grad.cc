#include "grad.h"
#include "passes/activity.h"
#include "passes/addresses.h"
#include "passes/collect.h"
#include "passes/dce.h"
#include "passes/place.h"
#include "passes/recursion.h"
#include "passes/save.h"
#include "passes/specialize.h"
#include "passes/verbs.h"
#include "spectra/ops.h"

#include <algorithm>

namespace mica::grad {
namespace {
using namespace spectra;

/// The run of the stage over one text.
class Grad {
public:
  Grad(Module &module, Diag &diag) : module_(module), diag_(diag), placer_(module, tapes_) {}

  bool run() {
    inline_verbs(module_);                                    // composite verbs become their lines
    if (has_windows()) fold_addresses(module_);               // known pointers become places
    if (!collect_tapes(module_, diag_, tapes_)) return false; // windows, walks, asks, and what goes where
    for (auto &[id, window] : tapes_.windows)                 // calls inlined, loops unrolled, memory known
      if (!specialize_window(module_, window, diag_, made_, inlined_)) return false;
    placer_.find_pairs();
    for (auto &pair : placer_.pairs())
      if (!find_all_activity(*pair)) return false;
    for (auto &pair : placer_.pairs()) // the adjoint code of each walk
      if (!reverse(*pair)) return false;
    for (Code &code : codes_) remove_dead(*code.region, wanted_);
    for (Code &code : codes_) // forward values from inside branches and loops
      if (!keep(code)) return false;
    for (Code &code : codes_) placer_.place(code);            // spliced in, or a function
    placer_.watch_assignments();                              // between a window and such a function
    for (auto &walk : tapes_.walks) placer_.dispatch(*walk);  // calls of those functions
    for (auto &pair : placer_.pairs()) placer_.record(*pair); // states at the windows' ends
    answer();
    placer_.remove_tapes();
    clean();
    drop_inlined();
    return true;
  }

private:
  bool has_windows() {
    bool found = false;
    for (Func *func : module_.funcs) each_op(*func->body, [&](Op &op) { found |= op.code == OpCode::tape; });
    return found;
  }

  /// What a pair's walk may be asked for, in the terms of the window's function.
  std::vector<Location> asked_of(const Pair &pair) {
    std::vector<Location> asked;
    for (auto &ask : tapes_.asks) {
      if (ask->of.base == Path::Base::local && ask->func != pair.window->func) continue;
      bool its_own = std::find(pair.walks.begin(), pair.walks.end(), ask->walk) != pair.walks.end();
      if (!ask->walk || its_own) asked.push_back(ask->of);
    }
    return asked;
  }

  /// Of a window and of its twins: what the twins touch keeps its gradient in memory.
  bool find_all_activity(Pair &pair) {
    const Window &window = *pair.window;
    std::vector<Location> asked = asked_of(pair);
    std::set<std::string> shared = touched_by_recursions(module_, window, asked);
    if (!find_activity(module_, window, asked, diag_, pair.activity)) return false;
    for (const auto &r : *window.recursions) {
      if (!find_activity(module_, window_of(window, *r), asked, diag_, pair.deep[r.get()])) return false;
      for (const std::string &key : pair.deep[r.get()].in_memory) {
        if (key[0] == '@') {
          shared.insert(key);
          continue;
        }
        diag_.error(
            r->source->place,
            "the local " + key.substr(1) + " of @" + std::string(r->source->name) +
                ", which recurses inside a window, is reached by a run-time index; not yet in this version",
            "make it a unit variable or a loop");
        return false;
      }
    }
    for (const std::string &key : pair.activity.in_memory)
      if (key[0] == '@') shared.insert(key);
    pair.activity.in_memory.insert(shared.begin(), shared.end());
    for (auto &[r, activity] : pair.deep) activity.in_memory.insert(shared.begin(), shared.end());
    return true;
  }

  bool reverse(Pair &pair) {
    for (const auto &r : *pair.window->recursions) {
      Code code{&pair, nullptr, module_.new_region(), {}, r.get()};
      Window twin = window_of(*pair.window, *r);
      Reverse reversal(module_, twin, pair.deep.at(r.get()), pair.descents, diag_);
      if (!reversal.run(*code.region, *r, r->source->place)) return false;
      code.mirrors = reversal.mirrors();
      codes_.push_back(std::move(code));
    }
    for (Walk *walk : pair.walks)
      if (walk->spliced && !reverse(pair, walk)) return false;
    return !pair.backward || reverse(pair, nullptr);
  }
  bool reverse(Pair &pair, Walk *walk) {
    Code code{&pair, walk, module_.new_region(), {}, nullptr};
    Reverse reversal(module_, *pair.window, pair.activity, pair.descents, diag_);
    const Func *func = pair.window->func;
    for (const std::string &key : pair.activity.in_memory) {
      Location at = variable_location(key[0] == '@' ? Path::Base::global : Path::Base::local,
                                      module_.keep(key.substr(1)));
      placer_.need_shadow(shadow_of(module_, func, at), type_at(module_, func, at));
    }
    Place place = walk ? walk->op->place() : pair.walks[0]->op->place();
    if (!reversal.run(*code.region, pair.loss, place)) return false;
    Builder b(module_, code.region);
    b.set_place(place);
    std::set<std::string> written;
    for (auto &ask : tapes_.asks) {
      if (ask->of.base == Path::Base::local && ask->func != func) continue;
      if (ask->walk) {
        if (ask->walk != walk || direct_.count(ask.get())) continue;
        Value *value = reversal.gradient(b, ask->of, ask->op->result()->type);
        direct_[ask.get()] = value;
        wanted_.insert(value);
        continue;
      }
      // Every place that a run-time index may mean.
      Location variable = variable_location(ask->of.base, ask->of.symbol);
      placer_.need_shadow(shadow_of(module_, func, variable), type_at(module_, func, variable));
      if (pair.activity.in_memory.count(variable.variable_key())) continue; // it is where it accumulated
      for (const Location &place_ : expanded(ask->of, func))
        if (written.insert(place_.key()).second)
          emit_write(b, shadow_of(module_, func, place_),
                     reversal.gradient(b, place_, type_at(module_, func, place_)));
    }
    code.mirrors = reversal.mirrors();
    codes_.push_back(std::move(code));
    return true;
  }
  /// The static places that a location with run-time indices may mean: one an element.
  std::vector<Location> expanded(const Location &at, const Func *func) {
    std::vector<Location> all{variable_location(at.base, at.symbol)};
    for (const Location::Step &step : at.steps) {
      const Type *type = type_at(module_, func, all[0]);
      if (step.kind != Location::Kind::dynamic) {
        for (Location &l : all) l.steps.push_back(step);
      } else if (type->kind == TypeKind::array) {
        std::vector<Location> more;
        for (const Location &l : all)
          for (int64_t i = type->low; i <= type->high; ++i) {
            more.push_back(l);
            more.back().steps.push_back({Location::Kind::constant, i, nullptr});
          }
        all = std::move(more);
      } else {
        break; // a cell or a row of a whole value: the whole of it
      }
      if (all.empty()) break;
    }
    return all;
  }

  bool keep(Code &code) {
    Func &func = code.forward();
    return keep_values(module_, func, {func.body, code.region}, code.mirrors, diag_, made_[&func]);
  }

  void answer() {
    for (auto &ask : tapes_.asks) {
      Location shadow = shadow_of(module_, ask->func, ask->of);
      auto direct = direct_.find(ask.get());
      if (direct == direct_.end()) {
        Location variable = shadow;
        variable.steps.clear();
        placer_.need_shadow(variable,
                            type_at(module_, ask->func, variable_location(ask->of.base, ask->of.symbol)));
      }
      placer_.answer(*ask, direct == direct_.end() ? nullptr : direct->second, shadow);
    }
  }

  /// Dead code, in the functions that were touched; functions that only windows called.
  void clean() {
    for (Func *func : module_.funcs) {
      bool touched = made_.count(func) > 0;
      for (auto &pair : placer_.pairs()) {
        touched |= pair->backward == func;
        for (auto &[r, descent] : pair->descents) touched |= descent.backward == func;
      }
      if (!touched) continue;
      std::set<std::string_view> own(made_[func].begin(), made_[func].end());
      remove_dead(*func->body, {}, own);
      std::set<std::string_view> used;
      each_op(*func->body, [&](Op &op) {
        if (op.path && op.path->base == Path::Base::local) used.insert(op.path->symbol);
      });
      std::erase_if(func->locals,
                    [&](const Variable &v) { return own.count(v.name) && !used.count(v.name); });
    }
  }

  /// Functions that only windows called are gone with those calls.
  void drop_inlined() {
    for (bool changed = true; changed;) {
      std::set<std::string_view> called{"program.main"};
      for (Func *func : module_.funcs)
        each_op(*func->body, [&](Op &op) {
          if (!op.symbol.empty() && op.symbol != func->name) called.insert(op.symbol);
        });
      auto gone = [&](const Func *f) { return inlined_.count(f) && !f->exported && !called.count(f->name); };
      changed = std::erase_if(module_.funcs, gone) > 0;
    }
  }

  Module &module_;
  Diag &diag_;
  Tapes tapes_;
  Placer placer_;
  std::map<const Func *, std::vector<std::string_view>> made_; ///< locals that the stage added
  std::set<const Func *> inlined_;
  std::vector<Code> codes_;
  std::map<const Ask *, Value *> direct_;
  std::unordered_set<const Value *> wanted_;
};

} // namespace

bool run(Module &module, Diag &diag) { return Grad(module, diag).run(); }

} // namespace mica::grad
