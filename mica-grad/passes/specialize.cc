// A window is walked once in program order and written anew for its reversal:
// calls that touch tracked values are inlined, loops of a constant trip count that hold whole values are
// unrolled, conditions and indices that are constant by then are decided, and a read whose answer is known
// becomes that value. Writes stay as they are, so that the program's memory is what it would have been.
//
//   for %one, %three {by=1} (%i : i32) {            %w = read @w[1] : f32[2,2]
//     %w = read @w[%i] : f32[2,2]                   %h.1 = product %h, %w : f32[8,2]
//     %h = read $h : f32[8,2]               ->      write $h, %h.1
//     %n = product %h, %w : f32[8,2]                %w.1 = read @w[2] : f32[2,2]
//     write $h, %n ...                              %h.2 = product %h.1, %w.1 : f32[8,2] ...
#include "passes/specialize.h"
#include "passes/exits.h"
#include "passes/fold.h"
#include "passes/recursion.h"
#include "passes/specializer.h"

#include <algorithm>
#include <unordered_set>

namespace mica::grad {
using namespace spectra;

namespace {

constexpr int64_t kCopiedLeaves = 1024;

} // namespace

bool Specializer::window(Op &tape, const std::vector<Variable> &flags) {
  // A twin's floats may come from tracked places wherever it is called.
  if (tape.integer(Attr::id) < 0)
    for (const Value *v : func_.body->args)
      if (v->type->is_float()) tracked_.insert(v);
  Region &region = *tape.regions[0];
  std::vector<Value *> defined;
  each_op(region, [&](Op &op) { defined.insert(defined.end(), op.results.begin(), op.results.end()); });
  Region *fresh = module_.new_region();
  fresh->parent = &tape;
  builder_.set_region(fresh);
  frames_.emplace_back();
  try {
    for (const Variable &v : flags) add_local(v);
    body(region);
  } catch (const Reported &) {
    return false;
  }
  builder_.append(OpCode::yield);
  tape.regions[0] = fresh;
  // What stood after the window and read its values reads their copies now.
  std::unordered_set<Value *> old(defined.begin(), defined.end());
  each_op(*func_.body, [&](Op &op) {
    for (Value *&v : op.operands)
      if (old.count(v)) v = mapped(v);
  });
  return true;
}

void Specializer::set(Value *from, Value *to) {
  if (map_.size() <= from->number)
    map_.resize(std::max<size_t>(module_.value_count, from->number + 1), nullptr);
  map_[from->number] = to;
}

void Specializer::fail(const Op &op, const std::string &message, const std::string &hint) {
  diag_.error(op.place(), message, hint);
  throw Reported{};
}

Location Specializer::canonical(const Op &op) {
  Location at = location_of(op);
  if (at.base == Path::Base::local) {
    auto it = frames_.back().find(at.symbol);
    if (it != frames_.back().end()) at.symbol = it->second;
  }
  for (Location::Step &step : at.steps) {
    if (step.kind != Location::Kind::dynamic) continue;
    step.value = mapped(step.value);
    std::optional<int64_t> c = constant_of(step.value);
    if (!c) continue;
    Location::Step decided{Location::Kind::constant, *c, nullptr};
    std::swap(step, decided);
    if (at.is_variable() && !type_at(module_, &func_, at))
      std::swap(step, decided); // outside: the program's failure
  }
  if (at.base == Path::Base::pointer) {
    at.pointer = mapped(at.pointer);
    auto it = addresses_.find(at.pointer);
    if (it != addresses_.end()) {
      Location whole = it->second;
      whole.steps.insert(whole.steps.end(), at.steps.begin(), at.steps.end());
      at = whole;
      for (Location::Step &step : at.steps) // an index beside a pointer that is a variable now
        if (step.kind == Location::Kind::dynamic)
          if (std::optional<int64_t> c = constant_of(step.value)) {
            Location::Step decided{Location::Kind::constant, *c, nullptr};
            std::swap(step, decided);
            if (!type_at(module_, &func_, at)) std::swap(step, decided);
          }
    }
  }
  return at;
}

Value *Specializer::read(const Location &at, const Type *type, std::string_view name) {
  if (Value *known = state_.find(at)) return known;
  Value *value = emit_read(builder_, at, type, name);
  ++emitted_;
  const Type *place = type_at(module_, &func_, at);
  if (value->type->is_float() && (!place || place->tracked || at.base == Path::Base::local))
    tracked_.insert(value);
  state_.set(at, value);
  return value;
}

void Specializer::write(const Location &at, Value *value) {
  emit_write(builder_, at, value);
  ++emitted_;
  state_.kill(at, exposed_);
  state_.set(at, value);
}

const Op *Specializer::body(const Region &region) {
  for (const Op *op : region.ops) {
    if (op->code == OpCode::yield || op->code == OpCode::return_) return op;
    operation(*op);
    if (unrolling_ && emitted_ - unrolling_from_ > kUnrollBudget) {
      if (recursing_) throw Deep{recursing_into_};
      fail(*unrolling_,
           "this loop of a window gives more than " + std::to_string(kUnrollBudget) +
               " operations when it is unrolled",
           "loops over whole values are unrolled inside windows; give it fewer turns or a smaller body");
    }
  }
  return nullptr;
}

void Specializer::operation(const Op &op) {
  builder_.set_places(op.places);
  switch (op.code) {
  case OpCode::read: {
    Location at = canonical(op);
    set(op.result(), read(at, op.result()->type, op.result()->name));
    return;
  }
  case OpCode::write: write(canonical(op), mapped(op.arg(0))); return;
  case OpCode::address: address(op); return;
  case OpCode::frame_of:
  case OpCode::frame_as:
  case OpCode::check_nil: {
    Op *copy = shallow(op);
    auto it = addresses_.find(copy->operands[0]);
    if (it != addresses_.end()) addresses_.emplace(copy->result(), it->second);
    if (op.code == OpCode::check_nil && it != addresses_.end()) {
      builder_.region()->ops.pop_back(); // an address is not nil
      set(op.result(), copy->operands[0]);
    }
    return;
  }
  case OpCode::copy_value: copy_value(op); return;
  case OpCode::if_: branch(op); return;
  case OpCode::switch_: choose(op); return;
  case OpCode::for_: count(op); return;
  case OpCode::while_: loop(op); return;
  case OpCode::call: call(op, module_.find_func(op.symbol), {op.operands.begin(), op.operands.end()}); return;
  case OpCode::call_value: call_value(op); return;
  case OpCode::tape: fail(op, "windows don't nest, nor through calls");
  case OpCode::backward: fail(op, "Backward inside a window", "a window is walked after its `end`");
  case OpCode::gradient: fail(op, "Gradient inside a window", "ask for it after the window's Backward");
  default: break;
  }
  std::vector<Value *> operands;
  for (Value *v : op.operands) operands.push_back(mapped(v));
  if (std::optional<int64_t> folded = fold(op, operands)) {
    set(op.result(), constant(op.result()->type, *folded));
    return;
  }
  Op *copy = shallow(op);
  if (info(op.code).effects & kWrites)
    for (Value *v : copy->operands)
      if (v->type->kind == TypeKind::pointer || v->type->kind == TypeKind::slice) written_through(v);
}

void Specializer::written_through(Value *pointer) {
  auto it = addresses_.find(pointer);
  if (it != addresses_.end())
    state_.kill(it->second, exposed_);
  else
    state_.kill_reachable(exposed_);
}

Op *Specializer::shallow(const Op &op) {
  Op *copy = builder_.append(op.code);
  ++emitted_;
  copy->symbol = op.symbol;
  for (const Attribute &a : op.attributes) copy->attributes.push_back(a);
  if (op.path) attach(module_, *copy, canonical(op));
  for (int i = 0; i < op.arg_count(); ++i) copy->operands.push_back(mapped(op.arg(i)));
  for (Value *v : op.results) set(v, builder_.add_result(copy, v->type, v->name));
  bool tracked = false;
  for (Value *v : copy->operands) tracked |= tracked_.count(v) > 0;
  for (Value *v : copy->results)
    if (tracked && v->type->is_float()) tracked_.insert(v);
  return copy;
}

void Specializer::address(const Op &op) {
  Location at = canonical(op);
  if (at.base == Path::Base::pointer && at.steps.empty()) { // the address of what a pointer points to
    set(op.result(), at.pointer);
    return;
  }
  Op *copy = shallow(op);
  addresses_.emplace(copy->result(), at);
  if (at.base == Path::Base::local) exposed_.insert(at.symbol);
}

void Specializer::copy_value(const Op &op) {
  auto to = addresses_.find(mapped(op.operands[0]));
  auto from = addresses_.find(mapped(op.operands[1]));
  const Type *type = op.operands[0]->type->element;
  if (to == addresses_.end() || from == addresses_.end() || leaf_count(type) > kCopiedLeaves) {
    Op *copy = shallow(op);
    written_through(copy->operands[0]);
    return;
  }
  Location source = from->second, target = to->second;
  std::vector<std::pair<Location, Value *>> leaves; // all reads first: source and target may overlap
  for_each_leaf(Location{}, type, [&](const Location &leaf, const Type *leaf_type) {
    Location at = source;
    at.steps.insert(at.steps.end(), leaf.steps.begin(), leaf.steps.end());
    Location there = target;
    there.steps.insert(there.steps.end(), leaf.steps.begin(), leaf.steps.end());
    leaves.emplace_back(there, read(at, module_.types.untracked(leaf_type), {}));
  });
  for (auto &[there, value] : leaves) write(there, value);
}

bool specialize_window(Module &module, Window &window, Diag &diag,
                       std::map<const Func *, std::vector<std::string_view>> &made,
                       std::set<const Func *> &inlined) {
  Recursions &recursions = *window.recursions;
  // The window first, then the twins that were found, which may find more.
  auto specialize = [&](Func &func, Op &tape) {
    if (leaves_region(*tape.regions[0])) {
      diag.error(tape.place(), "a window is left by break, continue or leave",
                 "set a variable and leave after the window's `end`");
      return false;
    }
    std::vector<Variable> flags;
    std::string_view answer;
    lower_exits(module, *tape.regions[0], nullptr, flags, answer);
    for (;;) {
      try {
        return Specializer(module, func, diag, made[&func], inlined, recursions).window(tape, flags);
      } catch (const Deep &deep) {
        recursions.push_back(make_recursion(module, window, *deep.callee));
        inlined.insert(deep.callee);
      }
    }
  };
  if (!specialize(*window.func, *window.tape)) return false;
  for (size_t i = 0; i < recursions.size(); ++i) {
    Recursion &r = *recursions[i];
    if (!specialize(*r.forward, *r.tape)) return false;
    const Op *end = r.forward->body->ops.back();
    if (!end->operands.empty()) r.answer = end->operands[0];
  }
  return true;
}

} // namespace mica::grad
