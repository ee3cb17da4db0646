// Rules of the tape over the whole text (language.md 8): what windows reach through calls, which windows a
// Backward walks, and what is visible of a second walk or of an assignment between a window and its Backward.
#include "whole_parts.h"

#include <map>
#include <set>
#include <unordered_map>

namespace mica::check {

using spectra::Func;
using spectra::Op;
using spectra::OpCode;
using spectra::Path;
using spectra::Region;

std::string place_key(const spectra::Module &module, const Func *func, const Op &op, bool &exact) {
  const Path &path = *op.path;
  std::string key;
  switch (path.base) {
  case Path::Base::none: return {};
  case Path::Base::global: key = "@" + std::string(path.symbol); break;
  case Path::Base::local:
    // A frame is the same record for its procedure and for the inner ones.
    key = path.symbol == "'frame" ? std::string(func->name) + ".frame"
                                  : std::string(func->name) + "$" + std::string(path.symbol);
    break;
  case Path::Base::pointer: {
    const spectra::Value *pointer = op.operands[0];
    if (!pointer->def) {
      if (pointer->region != func->body) return {};
      key = std::string(func->name) + "%" + std::string(pointer->name);
    } else if (pointer->def->code == OpCode::frame_as && pointer->type->element->record) {
      key = pointer->type->element->record->name;
    } else if (pointer->def->code == OpCode::address) {
      key = place_key(module, func, *pointer->def, exact);
    }
    if (key.empty()) return {};
    break;
  }
  }
  for (const Path::Step &step : path.steps) {
    switch (step.kind) {
    case Path::Step::Kind::field: key += "." + std::to_string(step.index); break;
    case Path::Step::Kind::constant: key += "[" + std::to_string(step.index) + "]"; break;
    case Path::Step::Kind::dynamic:
      key += "[*]";
      exact = false;
      break;
    }
  }
  return key;
}

namespace {

bool is_step(OpCode code) {
  return code == OpCode::sgd_steps || code == OpCode::adamw_steps || code == OpCode::clip_grad_norms ||
         code == OpCode::scale_tensors || code == OpCode::add_tensors;
}

/// What a function or a window does by itself.
struct Summary {
  std::set<std::string> tracked; ///< tracked places read or written, where exactly known
  std::set<std::string> writes;  ///< tracked scalars written (a dynamic index counts as `[*]`)
  std::vector<std::pair<const Func *, const Op *>> calls;
  const Op *window = nullptr, *walk = nullptr; ///< the first of its own
};

struct Window {
  Op *op;
  Func *func;
  Summary own;
  std::set<const Func *> reached;
};

class Windows {
public:
  explicit Windows(Checker &checker) : c_(checker), module_(checker.module) {}

  void run() {
    for (Func *f : module_.funcs) by_name_[f->name] = f;
    int64_t number = 0;
    for (Func *f : module_.funcs) {
      summarize(*f, *f->body, summaries_[f]);
      spectra::walk(*f->body, [&](Op *op) {
        if (op->code != OpCode::tape) return;
        op->set(spectra::Attr::id, number++);
        windows_.push_back({op, f, {}, {}});
        summarize(*f, *op->regions[0], windows_.back().own);
      });
    }
    for (Window &w : windows_) reach(w);
    for (Func *f : module_.funcs)
      spectra::walk(*f->body, [&](Op *op) {
        if (op->code == OpCode::backward) resolve(*f, *op);
      });
    if (c_.diag.errors()) return;
    for (Func *f : module_.funcs) straight(*f, *f->body, {});
  }

private:
  const spectra::Type *tracked_place(const Func &f, const Op &op) {
    const spectra::Type *type = op.path ? spectra::path_type(module_, &f, op) : nullptr;
    return type && type->tracked ? type : nullptr;
  }

  void summarize(Func &f, Region &region, Summary &s) {
    spectra::walk(region, [&](Op *op) {
      if (op->code == OpCode::tape && !s.window) s.window = op;
      if (op->code == OpCode::backward && !s.walk) s.walk = op;
      if (op->code == OpCode::call || op->code == OpCode::closure) {
        auto it = by_name_.find(op->symbol);
        if (it != by_name_.end()) s.calls.push_back({it->second, op});
      }
      if (op->code != OpCode::read && op->code != OpCode::write && op->code != OpCode::address) return;
      const spectra::Type *type = tracked_place(f, *op);
      if (!type) return;
      bool exact = true;
      std::string key = place_key(module_, &f, *op, exact);
      if (key.empty()) return;
      if (exact) s.tracked.insert(key);
      if (op->code == OpCode::write && type->is_scalar()) s.writes.insert(key);
    });
  }

  void reach(Window &w) {
    // Each function with the call in the window that leads to it.
    std::vector<std::pair<const Func *, const Op *>> open = w.own.calls;
    while (!open.empty()) {
      auto [func, call] = open.back();
      open.pop_back();
      if (!w.reached.insert(func).second) continue;
      const Summary &s = summaries_[func];
      if (s.window) {
        c_.diag.error(call->place(), "windows don't nest, nor through calls: `" + source_name_of(*func) +
                                         "` has a window of its own");
        c_.diag.note(s.window->place(), "the inner window is here");
      } else if (s.walk) {
        c_.diag.error(call->place(),
                      "`" + source_name_of(*func) + "` calls Backward, which can't run inside a window");
        c_.diag.note(s.walk->place(), "Backward is here");
      }
      w.own.tracked.insert(s.tracked.begin(), s.tracked.end());
      w.own.writes.insert(s.writes.begin(), s.writes.end());
      for (auto [callee, op] : s.calls) open.push_back({callee, call});
    }
    for (const WholeState::Store &store : state(c_).stores)
      if (w.reached.count(store.func) && said_.insert(&store).second) {
        c_.diag.error(store.at, store.message, kDetachHint);
        c_.diag.note(w.op->place(), "the window that calls this procedure is here");
      }
  }

  static std::string source_name_of(const Func &f) {
    std::string name(f.name);
    while (!name.empty() && name.find('.') != std::string::npos &&
           isdigit(static_cast<unsigned char>(name.back())))
      name.erase(name.rfind('.'));
    return name.substr(name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
  }

  /// The variable as the program names it.
  std::string words(const Func &f, const Op &op) {
    const Path &path = *op.path;
    std::string name(path.symbol);
    const spectra::Type *type = nullptr;
    if (path.base == Path::Base::pointer) {
      type = op.operands[0]->type->element;
      name = std::string(op.operands[0]->name);
    } else if (path.base == Path::Base::global) {
      const spectra::Variable *v = module_.find_variable(path.symbol);
      type = v ? v->type : nullptr;
    } else {
      for (const spectra::Variable &v : f.locals)
        if (v.name == path.symbol) type = v.type;
    }
    for (const Path::Step &step : path.steps) {
      if (!type) break;
      if (step.kind == Path::Step::Kind::field) {
        const spectra::Record &record = *type->record;
        const bool frame = record.name.size() > 6 && record.name.ends_with(".frame");
        const spectra::Record::Field &field = record.fields[static_cast<size_t>(step.index)];
        name = (frame ? "" : name + ".") + field.name;
        type = field.type;
      } else {
        name += step.kind == Path::Step::Kind::constant ? "[" + std::to_string(step.index) + "]" : "[...]";
        type = type->element;
      }
    }
    return name;
  }

  void resolve(const Func &f, Op &op) {
    bool exact = true;
    std::string key = place_key(module_, &f, op, exact);
    std::vector<int64_t> walked;
    for (const Window &w : windows_)
      if (!key.empty() && w.own.writes.count(key)) walked.push_back(w.op->integer(spectra::Attr::id));
    if (walked.empty())
      c_.diag.error(op.place(),
                    "no window assigns `" + words(f, op) + "`, so there is nothing to walk back from",
                    "assign it between `tape` and `end`");
    op.set(spectra::Attr::windows, walked);
  }

  bool holds_window(Op &op) {
    bool found = op.code == OpCode::call || op.code == OpCode::call_value;
    for (Region *region : op.regions)
      spectra::walk(*region, [&](Op *inner) {
        found = found || inner->code == OpCode::tape || inner->code == OpCode::call ||
                inner->code == OpCode::call_value;
      });
    return found;
  }

  /// What is certain in a region's straight line; `recent` is the window that assigned a place last, where
  /// known.
  void straight(Func &f, Region &region, std::map<std::string, int64_t> recent) {
    std::map<std::string, const Op *> walks; // Backward by its place, since its window ran
    struct Ran {
      const Window *window;
      const Op *assigned = nullptr;
      std::string name;
    };
    std::map<int64_t, Ran> ran;
    std::unordered_map<const spectra::Value *, const Op *> addresses;
    for (Op *op : region.ops) {
      if (op->code == OpCode::address) addresses[op->result()] = op;
      auto changed = [&](const Op &place, const Op &by) {
        if (!tracked_place(f, place)) return;
        bool exact = true;
        std::string key = place_key(module_, &f, place, exact);
        if (!exact || key.empty()) return;
        for (auto &[id, r] : ran)
          if (!r.assigned && r.window->own.tracked.count(key)) {
            r.assigned = &by;
            r.name = words(f, place);
          }
      };
      if (op->code == OpCode::tape) {
        for (Window &w : windows_)
          if (w.op == op) {
            const int64_t id = op->integer(spectra::Attr::id);
            ran[id] = {&w, nullptr, {}};
            for (auto it = walks.begin(); it != walks.end();)
              it = w.own.writes.count(it->first) ? walks.erase(it) : std::next(it);
            for (const std::string &key : w.own.writes) recent[key] = id;
          }
      } else if (op->code == OpCode::backward) {
        bool exact = true;
        std::string key = place_key(module_, &f, *op, exact);
        auto before = walks.find(key);
        if (exact && before != walks.end()) {
          c_.diag.error(op->place(), "the window is walked back from `" + words(f, *op) + "` a second time",
                        "run the window again before its next Backward");
          c_.diag.note(before->second->place(), "the first walk is here");
        }
        if (exact) walks[key] = op;
        if (auto it = recent.find(key); exact && it != recent.end())
          op->set(spectra::Attr::windows, std::vector<int64_t>{it->second});
        for (int64_t id : *op->integers(spectra::Attr::windows)) {
          auto it = ran.find(id);
          if (it == ran.end() || !it->second.assigned) continue;
          c_.diag.error(it->second.assigned->place(),
                        "`" + it->second.name +
                            "` is assigned between its window and Backward, which still needs it",
                        "move the assignment behind Backward");
          c_.diag.note(op->place(), "Backward is here");
          ran.erase(it);
        }
      } else if (op->code == OpCode::write) {
        changed(*op, *op);
      } else if (is_step(op->code)) {
        for (const spectra::Value *v : op->operands)
          if (addresses.count(v)) changed(*addresses[v], *op);
      } else if (holds_window(*op)) {
        walks.clear();
        ran.clear();
        // The branches of an `if` still know what ran before it.
        if (op->code == OpCode::if_)
          for (Region *inner : op->regions) straight(f, *inner, recent);
        recent.clear();
        if (op->code == OpCode::if_) continue;
      }
      const bool once = op->code == OpCode::if_ || op->code == OpCode::switch_;
      for (Region *inner : op->regions) straight(f, *inner, once ? recent : std::map<std::string, int64_t>());
    }
  }

  Checker &c_;
  spectra::Module &module_;
  std::unordered_map<std::string_view, Func *> by_name_;
  std::unordered_map<const Func *, Summary> summaries_;
  std::deque<Window> windows_;
  std::set<const WholeState::Store *> said_;
};

} // namespace

void finish_whole(Checker &c) {
  // path_type walks records' fields.
  c.types.define_records();
  Windows(c).run();
}

} // namespace mica::check
