// Which values of a window depend on what a gradient is asked for. Nothing else gets an adjoint. The other
// direction, what the loss depends on, needs no analysis: the reversal starts at the loss and visits what it
// reaches.
#include "passes/activity.h"
#include "spectra/ops.h"

namespace mica::grad {
namespace {
using namespace spectra;

class Analysis {
public:
  Analysis(Module &module, const Window &window, const std::vector<Location> &asked, Diag &diag,
           Activity &activity)
      : module_(module), window_(window), asked_(asked), diag_(diag), activity_(activity) {}

  bool run() {
    // A twin's arguments may be anything.
    for (const Value *v : window_.func->body->args)
      if (window_.tape == window_.func->body->ops.front() && window_.id < 0) mark(v);
    // Loops and memory feed back: once more until nothing changes.
    do {
      changed_ = false;
      region(window_.body());
    } while (changed_);
    report(window_.body());
    find_memory();
    return good_;
  }

private:
  void mark(const Value *v) {
    if (v->type->is_float() && activity_.varied.insert(v).second) changed_ = true;
  }
  bool varied(const Value *v) const { return activity_.has(v); }
  /// Behind a pointer only a tracked place takes part; a variable's own type says the same already.
  bool takes_part(const Location &at) const {
    if (at.is_variable()) return true;
    const Type *type = type_at(module_, window_.func, at);
    return type && type->tracked;
  }
  bool overlaps_any(const Location &at, const std::vector<Location> &places) const {
    for (const Location &place : places)
      if (overlap(at, place) != Overlap::none) return true;
    return false;
  }

  void region(const Region &r) {
    for (const Op *op : r.ops) operation(*op);
  }
  void operation(const Op &op) {
    switch (op.code) {
    case OpCode::read: {
      Location at = location_of(op);
      if (takes_part(at) && (overlaps_any(at, asked_) || overlaps_any(at, written_))) mark(op.result());
      return;
    }
    case OpCode::write: {
      Location at = location_of(op);
      if (!takes_part(at)) return;
      bool asked = overlaps_any(at, asked_);
      if (asked) mark(op.arg(0)); // a place that is computed in the window and asked for
      if (!asked && !varied(op.arg(0))) return;
      if (!varied(op.arg(0))) return; // an integer
      if (written_keys_.insert(at.key()).second) {
        written_.push_back(at);
        changed_ = true;
      }
      return;
    }
    case OpCode::if_:
      for (const Region *r : op.regions) {
        region(*r);
        const Op *end = r->ops.back();
        for (size_t i = 0; i < op.results.size(); ++i)
          if (varied(end->operands[i])) mark(op.results[i]);
      }
      return;
    case OpCode::for_: {
      const Region &body = *op.regions[0];
      for (size_t i = 0; i < op.results.size(); ++i)
        if (varied(op.arg(static_cast<int>(i) + 2))) mark(body.args[i + 1]);
      region(body);
      const Op *end = body.ops.back();
      for (size_t i = 0; i < op.results.size(); ++i) {
        if (varied(end->operands[i])) mark(body.args[i + 1]);
        if (varied(body.args[i + 1])) mark(op.results[i]);
      }
      return;
    }
    case OpCode::while_: {
      const Region &first = *op.regions[0], &second = *op.regions[1];
      for (size_t i = 0; i < op.operands.size(); ++i)
        if (varied(op.operands[i])) mark(first.args[i]);
      region(first);
      const Op *end = first.ops.back();
      for (size_t i = 0; i + 1 < end->operands.size(); ++i)
        if (varied(end->operands[i + 1])) {
          mark(second.args[i]);
          mark(op.results[i]);
        }
      region(second);
      end = second.ops.back();
      for (size_t i = 0; i < end->operands.size(); ++i)
        if (varied(end->operands[i])) mark(first.args[i]);
      return;
    }
    case OpCode::call:
      if (window_.recursion(op))
        for (const Value *r : op.results) mark(r);
      return;
    default: break;
    }
    if (info(op.code).gradient != GradientKind::rule) return;
    for (const Value *v : op.operands)
      if (varied(v))
        for (const Value *r : op.results) mark(r);
  }

  /// Operations that would carry a gradient and have none.
  void report(const Region &r) {
    for (const Op *op : r.ops) {
      for (const Region *inner : op->regions) report(*inner);
      bool calls = op->code == OpCode::call || op->code == OpCode::call_value;
      if ((info(op->code).gradient != GradientKind::none && !calls) || window_.recursion(*op)) continue;
      bool floats = false, reaches = false;
      for (const Value *v : op->results) floats |= v->type->is_float();
      for (const Value *v : op->operands) reaches |= varied(v);
      if (!floats || !reaches || op->code == OpCode::to_host) continue;
      good_ = false;
      std::string what = calls ? "procedure @" + std::string(op->symbol) : std::string(info(op->code).name);
      diag_.error(op->place(), what + " has no gradient", "use Detach where none shall flow");
    }
  }

  /// A place reached by a run-time index, or by two paths of different depth, keeps its gradient in memory.
  void find_memory() {
    std::vector<Location> places;
    std::set<std::string> seen;
    each_op(window_.body(), [&](Op &op) {
      bool active = (op.code == OpCode::read && varied(op.result())) ||
                    (op.code == OpCode::write && op.arg(0)->type->is_float());
      if (!active) return;
      Location at = location_of(op);
      if (!takes_part(at)) return;
      if (op.code == OpCode::write && !overlaps_any(at, written_) && !overlaps_any(at, asked_)) return;
      if (!at.is_variable()) {
        good_ = false;
        diag_.error(
            op.place(),
            "a tracked value is reached through a pointer that is unknown here; not yet in this version",
            "use the variable itself, or pass it as a var parameter");
        return;
      }
      if (!seen.insert(at.key()).second) return;
      bool hidden = !at.is_static();
      auto first = places.begin();
      for (; first != places.end() && !hidden; ++first) hidden = overlap(at, *first) == Overlap::may;
      if (hidden) activity_.in_memory.insert(at.variable_key());
      places.push_back(at);
    });
    // Every gradient of the variable is read and written the same way.
    for (const Location &place : asked_)
      if (place.is_variable())
        for (const Location &other : places)
          if (overlap(place, other) == Overlap::may && place.is_static())
            activity_.in_memory.insert(place.variable_key());
  }

  Module &module_;
  const Window &window_;
  const std::vector<Location> &asked_;
  Diag &diag_;
  Activity &activity_;
  std::vector<Location> written_;
  std::set<std::string> written_keys_;
  bool changed_ = false, good_ = true;
};

} // namespace

bool find_activity(Module &module, const Window &window, const std::vector<Location> &asked, Diag &diag,
                   Activity &activity) {
  return Analysis(module, window, asked, diag, activity).run();
}

} // namespace mica::grad
