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
#include "passes/state.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace mica::grad {
namespace {
using namespace spectra;

/// An error was reported; the window is given up.
struct Reported {};

constexpr uint64_t kUnrollBudget = 4096;
constexpr int64_t kCopiedLeaves = 1024;

/// A callee whose exits are lowered, ready to be walked as often as it is called.
struct Prepared {
  Region *body = nullptr;
  std::vector<Variable> locals;
  std::string_view answer; ///< the local that holds it; empty: the return at the end says it
};

class Specializer {
public:
  Specializer(Module &module, Func &func, Diag &diag, std::vector<std::string_view> &made)
      : module_(module), func_(func), diag_(diag), made_(made), builder_(module, nullptr) {
    expose(*func.body);
  }

  bool window(Op &tape) {
    Region &region = *tape.regions[0];
    if (leaves_region(region)) {
      diag_.error(tape.place(), "a window is left by break, continue or leave",
                  "set a variable and leave after the window's `end`");
      return false;
    }
    std::vector<Variable> flags;
    std::string_view answer;
    lower_exits(module_, region, nullptr, flags, answer);
    std::vector<Value *> defined;
    each_op(region, [&](Op &op) { defined.insert(defined.end(), op.results.begin(), op.results.end()); });
    Region *fresh = module_.new_region();
    fresh->parent = &tape;
    builder_.set_region(fresh);
    frames_.emplace_back();
    try {
      for (Variable &v : flags) add_local(v);
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

private:
  // ---- values ----
  Value *mapped(Value *v) const { return v->number < map_.size() && map_[v->number] ? map_[v->number] : v; }
  void set(Value *from, Value *to) {
    if (map_.size() <= from->number)
      map_.resize(std::max<size_t>(module_.value_count, from->number + 1), nullptr);
    map_[from->number] = to;
  }
  [[noreturn]] void fail(const Op &op, const std::string &message, const std::string &hint = {}) {
    diag_.error(op.place(), message, hint);
    throw Reported{};
  }
  Value *constant(const Type *type, int64_t value) { return builder_.constant(type, value); }

  // ---- locals of inlined procedures ----
  void add_local(Variable v) {
    std::string base = std::string(v.name);
    std::string text = base;
    for (int i = 1; local_names_.count(text) || has_local(text); ++i) text = base + "'" + std::to_string(i);
    local_names_.insert(text);
    std::string_view name = module_.keep(text);
    frames_.back()[v.name] = name;
    v.name = name;
    func_.locals.push_back(v);
    made_.push_back(name);
    zero_local(name, v.type);
  }
  bool has_local(const std::string &name) const {
    return std::any_of(func_.locals.begin(), func_.locals.end(),
                       [&](const Variable &v) { return v.name == name; });
  }
  /// A procedure's variables are zero at every entry.
  void zero_local(std::string_view name, const Type *type) {
    Location location = variable_location(Path::Base::local, name);
    if (leaf_count(type) > 64) {
      emit_zeros(builder_, location, type);
      return;
    }
    for_each_leaf(location, type, [&](const Location &leaf, const Type *leaf_type) {
      if (Value *zero = zero_value(builder_, leaf_type)) write(leaf, zero);
    });
  }
  /// Locals whose address is taken: a pointer may reach them.
  void expose(Region &region) {
    each_op(region, [&](Op &op) {
      if (op.code == OpCode::address && op.path->base == Path::Base::local) exposed_.insert(op.path->symbol);
    });
  }

  // ---- memory ----
  /// The operation's path in the window's own terms: inlined locals renamed, known addresses and indices put
  /// in.
  Location canonical(const Op &op) {
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
  Value *read(const Location &at, const Type *type, std::string_view name) {
    if (Value *known = state_.find(at)) return known;
    Value *value = emit_read(builder_, at, type, name);
    ++emitted_;
    state_.set(at, value);
    return value;
  }
  void write(const Location &at, Value *value) {
    emit_write(builder_, at, value);
    ++emitted_;
    state_.kill(at, exposed_);
    state_.set(at, value);
  }

  // ---- operations ----
  /// Walks a region up to its last operation, which it gives back.
  const Op *body(const Region &region) {
    for (const Op *op : region.ops) {
      if (op->code == OpCode::yield || op->code == OpCode::return_) return op;
      operation(*op);
      if (unrolling_ && emitted_ - unrolling_from_ > kUnrollBudget)
        fail(*unrolling_,
             "this loop of a window gives more than " + std::to_string(kUnrollBudget) +
                 " operations when it is unrolled",
             "loops over whole values are unrolled inside windows; give it fewer turns or a smaller body");
    }
    return nullptr;
  }

  void operation(const Op &op) {
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
    case OpCode::call:
      call(op, module_.find_func(op.symbol), {op.operands.begin(), op.operands.end()});
      return;
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

  void written_through(Value *pointer) {
    auto it = addresses_.find(pointer);
    if (it != addresses_.end())
      state_.kill(it->second, exposed_);
    else
      state_.kill_reachable(exposed_);
  }

  /// The operation with its operands mapped, without its regions.
  Op *shallow(const Op &op) {
    Op *copy = builder_.append(op.code);
    ++emitted_;
    copy->symbol = op.symbol;
    for (const Attribute &a : op.attributes) copy->attributes.push_back(a);
    if (op.path) attach(module_, *copy, canonical(op));
    for (int i = 0; i < op.arg_count(); ++i) copy->operands.push_back(mapped(op.arg(i)));
    for (Value *v : op.results) set(v, builder_.add_result(copy, v->type, v->name));
    return copy;
  }

  void address(const Op &op) {
    Location at = canonical(op);
    if (at.base == Path::Base::pointer && at.steps.empty()) { // the address of what a pointer points to
      set(op.result(), at.pointer);
      return;
    }
    Op *copy = shallow(op);
    addresses_.emplace(copy->result(), at);
    if (at.base == Path::Base::local) exposed_.insert(at.symbol);
  }

  /// A record or an array with tracked leaves is copied leaf by leaf, so that gradients pass.
  void copy_value(const Op &op) {
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

  // ---- control ----
  void branch(const Op &op) {
    Value *condition = mapped(op.arg(0));
    if (std::optional<int64_t> c = constant_of(condition)) {
      const Op *end = body(*op.regions[*c ? 0 : 1]);
      for (size_t i = 0; i < op.results.size(); ++i) set(op.results[i], mapped(end->operands[i]));
      return;
    }
    Op *copy = builder_.append(OpCode::if_);
    ++emitted_;
    copy->operands.push_back(condition);
    State before = state_, after[2];
    Op *ends[2];
    Region *outer = builder_.region();
    for (size_t i = 0; i < 2; ++i) {
      state_ = before;
      builder_.set_region(module_.new_region(copy));
      const Op *end = body(*op.regions[i]);
      builder_.set_places(no_places_);
      ends[i] = builder_.append(OpCode::yield);
      for (Value *v : end->operands) ends[i]->operands.push_back(mapped(v));
      after[i] = state_;
      builder_.set_region(outer);
    }
    for (Value *v : op.results) set(v, builder_.add_result(copy, v->type, v->name));
    join(*copy, ends, before, after);
    builder_.set_places(op.places);
    copy->places.assign(op.places.begin(), op.places.end());
  }
  /// After a branch: what both sides agree on stays known; two values become a result of the branch.
  void join(Op &branch, Op *ends[2], const State &before, State after[2]) {
    state_ = State();
    for (const auto &[key, known] : after[0].known()) {
      auto other = after[1].known().find(key);
      if (other == after[1].known().end()) continue;
      Value *a = known.value, *b = other->second.value;
      auto old = before.known().find(key);
      bool here = old != before.known().end() && old->second.value == a && a == b;
      if (!here && (a->type != b->type || !(a->type->is_scalar() || a->type->is_whole()))) continue;
      // Equal values were defined before the branch. Two reads of the place are no news: it is read again.
      bool reads = a->def && b->def && a->def->code == OpCode::read && b->def->code == OpCode::read &&
                   location_of(*a->def).key() == key && location_of(*b->def).key() == key;
      if (!here && a != b && reads) continue;
      if (!here && a != b) {
        ends[0]->operands.push_back(a);
        ends[1]->operands.push_back(b);
        a = builder_.add_result(&branch, a->type, a->name);
      }
      state_.set(known.location, a);
    }
  }
  /// `switch` becomes a chain of `if`.
  void choose(const Op &op) {
    const std::vector<int64_t> &labels = *op.integers(Attr::labels);
    Value *x = mapped(op.arg(0));
    chain(op, x, labels, 0);
  }
  void chain(const Op &op, Value *x, const std::vector<int64_t> &labels, size_t region) {
    if (region + 1 == op.regions.size()) {
      body(*op.regions[region]);
      return;
    }
    Value *hit = nullptr;
    for (size_t i = 0; i + 2 < labels.size(); i += 3) {
      if (labels[i] != static_cast<int64_t>(region)) continue;
      Value *one;
      if (labels[i + 1] == labels[i + 2]) {
        one = test(OpCode::eq, x, labels[i + 1]);
      } else {
        one = both(OpCode::and_, test(OpCode::ge, x, labels[i + 1]), test(OpCode::le, x, labels[i + 2]));
      }
      hit = hit ? both(OpCode::or_, hit, one) : one;
    }
    if (!hit) {
      chain(op, x, labels, region + 1);
      return;
    }
    if (std::optional<int64_t> c = constant_of(hit)) {
      if (*c)
        body(*op.regions[region]);
      else
        chain(op, x, labels, region + 1);
      return;
    }
    Op *copy = builder_.append(OpCode::if_);
    copy->operands.push_back(hit);
    State before = state_, after[2];
    Op *ends[2];
    Region *outer = builder_.region();
    for (size_t i = 0; i < 2; ++i) {
      state_ = before;
      builder_.set_region(module_.new_region(copy));
      if (i == 0)
        body(*op.regions[region]);
      else
        chain(op, x, labels, region + 1);
      ends[i] = builder_.append(OpCode::yield);
      after[i] = state_;
      builder_.set_region(outer);
    }
    join(*copy, ends, before, after);
  }
  Value *test(OpCode code, Value *x, int64_t with) { return folded(code, x, constant(x->type, with)); }
  Value *both(OpCode code, Value *a, Value *b) { return folded(code, a, b); }
  Value *folded(OpCode code, Value *a, Value *b) {
    Value *v = builder_.make(code, {a, b});
    if (std::optional<int64_t> c = fold(*v->def, {a, b})) return constant(v->type, *c);
    return v;
  }

  void count(const Op &op) {
    std::optional<int64_t> low = constant_of(mapped(op.arg(0))), high = constant_of(mapped(op.arg(1)));
    const Type *type = op.arg(0)->type;
    if (low && high) {
      bool is_unsigned = type->scalar == Scalar::u64;
      uint64_t turns = trip_count(*low, *high, op.integer(Attr::by), op.flag(Attr::down), is_unsigned);
      if (turns <= 1 || holds_whole(*op.regions[0])) {
        unroll(op, *low, turns);
        return;
      }
    }
    loop(op);
  }
  void unroll(const Op &op, int64_t low, uint64_t turns) {
    const Region &region = *op.regions[0];
    const Op *outermost = unrolling_;
    if (!unrolling_ && turns > 1) {
      unrolling_ = &op;
      unrolling_from_ = emitted_;
    }
    std::vector<Value *> carried;
    for (int i = 2; i < op.arg_count(); ++i) carried.push_back(mapped(op.arg(i)));
    uint64_t by = static_cast<uint64_t>(op.integer(Attr::by));
    for (uint64_t turn = 0; turn < turns; ++turn) {
      uint64_t offset = turn * by;
      int64_t i = static_cast<int64_t>(op.flag(Attr::down) ? static_cast<uint64_t>(low) - offset
                                                           : static_cast<uint64_t>(low) + offset);
      builder_.set_places(op.places);
      set(region.args[0], constant(region.args[0]->type, i));
      ++emitted_;
      for (size_t c = 0; c < carried.size(); ++c) set(region.args[c + 1], carried[c]);
      const Op *end = body(region);
      for (size_t c = 0; c < carried.size(); ++c) carried[c] = mapped(end->operands[c]);
    }
    for (size_t c = 0; c < carried.size(); ++c) set(op.results[c], carried[c]);
    unrolling_ = outermost;
  }

  /// A loop that stays: what it may write is unknown inside it and after it.
  void loop(const Op &op) {
    kill_written(op);
    Op *copy = builder_.append(op.code);
    ++emitted_;
    for (const Attribute &a : op.attributes) copy->attributes.push_back(a);
    for (Value *v : op.operands) copy->operands.push_back(mapped(v));
    Region *outer = builder_.region();
    for (const Region *region : op.regions) {
      State before = state_;
      Region *inner = module_.new_region(copy);
      builder_.set_region(inner);
      for (Value *v : region->args) {
        Value *argument = module_.new_value(v->type, v->name);
        argument->region = inner;
        inner->args.push_back(argument);
        set(v, argument);
      }
      const Op *end = body(*region);
      builder_.set_places(no_places_);
      Op *yield = builder_.append(OpCode::yield);
      for (Value *v : end->operands) yield->operands.push_back(mapped(v));
      builder_.set_region(outer);
      state_ = before;
      kill_written(op);
    }
    for (Value *v : op.results) set(v, builder_.add_result(copy, v->type, v->name));
  }
  void kill_written(const Op &op) {
    std::set<const Func *> seen;
    for (const Region *region : op.regions) kill_written(*region, seen, false);
  }
  void kill_written(const Region &region, std::set<const Func *> &seen, bool in_callee) {
    for (const Op *op : region.ops) {
      for (const Region *inner : op->regions) kill_written(*inner, seen, in_callee);
      if (op->code == OpCode::write && op->path->base == Path::Base::global) {
        state_.kill_variable(op->path->base, op->path->symbol);
      } else if (op->code == OpCode::write && op->path->base == Path::Base::local) {
        if (in_callee) continue; // its own
        auto it = frames_.back().find(op->path->symbol);
        state_.kill_variable(Path::Base::local, it == frames_.back().end() ? op->path->symbol : it->second);
      } else if (op->code == OpCode::call) {
        const Func *callee = module_.find_func(op->symbol);
        for (Value *v : op->operands)
          if (v->type->kind == TypeKind::pointer || v->type->kind == TypeKind::frame)
            state_.kill_reachable(exposed_);
        if (callee->external) state_.kill_reachable(exposed_);
        if (seen.insert(callee).second) kill_written(*callee->body, seen, true);
      } else if (info(op->code).effects & kWrites) {
        state_.kill_reachable(exposed_);
      }
    }
  }

  // ---- calls ----
  void call(const Op &op, const Func *callee, const std::vector<Value *> &operands) {
    if (callee->external || !relevant(*callee)) {
      shallow(op);
      state_.kill_reachable(exposed_);
      return;
    }
    if (std::find(inlining_.begin(), inlining_.end(), callee) != inlining_.end() || callee == &func_)
      fail(op, "recursion inside a window is not yet in this version",
           "make @" + std::string(callee->name) + " a loop");
    Prepared &prepared = prepare(*callee);
    std::vector<Value *> arguments;
    for (Value *v : operands) arguments.push_back(mapped(v));
    for (size_t i = 0; i < arguments.size(); ++i) set(callee_args(prepared)[i], arguments[i]);
    inlining_.push_back(callee);
    frames_.emplace_back();
    std::string suffix = "'" + std::string(callee->name);
    std::replace(suffix.begin(), suffix.end(), '.', '\'');
    for (Variable v : prepared.locals) {
      std::string_view old = v.name;
      v.name = module_.keep(std::string(old) + suffix);
      add_local(v);
      frames_.back()[old] = frames_.back()[v.name];
    }
    each_op(*prepared.body, [&](Op &inner) {
      if (inner.code == OpCode::address && inner.path->base == Path::Base::local)
        exposed_.insert(frames_.back().at(inner.path->symbol));
    });
    const Op *end = body(*prepared.body);
    Value *answer = nullptr;
    if (callee->result)
      answer = prepared.answer.empty()
                   ? mapped(end->operands[0])
                   : read(variable_location(Path::Base::local, frames_.back().at(prepared.answer)),
                          callee->result, callee->name);
    frames_.pop_back();
    inlining_.pop_back();
    if (!op.results.empty()) set(op.results[0], answer);
  }
  static const List<Value *> &callee_args(const Prepared &p) { return p.body->args; }

  void call_value(const Op &op) {
    Value *callee = mapped(op.arg(0));
    if (callee->def && callee->def->code == OpCode::closure) {
      std::vector<Value *> operands(callee->def->operands.begin(), callee->def->operands.end());
      for (int i = 1; i < op.arg_count(); ++i) operands.push_back(mapped(op.arg(i)));
      const Func *func = module_.find_func(callee->def->symbol);
      if (!func->external && relevant(*func)) {
        // The operands are the window's own values already, and map to themselves.
        call(op, func, operands);
        return;
      }
    }
    shallow(op);
    state_.kill_reachable(exposed_);
  }

  Prepared &prepare(const Func &callee) {
    auto [it, fresh] = prepared_.emplace(&callee, Prepared{});
    Prepared &p = it->second;
    if (!fresh) return p;
    p.body = module_.new_region();
    std::vector<Value *> copies;
    for (Value *v : callee.body->args) {
      Value *copy = module_.new_value(v->type, v->name);
      copy->region = p.body;
      p.body->args.push_back(copy);
      if (copies.size() <= v->number) copies.resize(module_.value_count, nullptr);
      copies[v->number] = copy;
    }
    for (const Op *op : callee.body->ops) p.body->ops.push_back(clone(module_, *op, copies));
    p.locals.assign(callee.locals.begin(), callee.locals.end());
    lower_exits(module_, *p.body, callee.result, p.locals, p.answer);
    return p;
  }

  /// Whether a procedure may compute with tracked values, so that the window must see its operations.
  bool relevant(const Func &func) {
    auto [it, fresh] = relevant_.emplace(&func, false);
    if (!fresh) return it->second;
    bool yes = func.result && func.result->is_float();
    for (Value *v : func.body->args) yes |= v->type->is_float() || holds_tracked(v->type);
    if (!func.external)
      each_op(*func.body, [&](Op &op) {
        if (op.path) {
          const Type *type = path_type(module_, &func, op);
          yes |= type && holds_tracked(type);
        }
        if (op.code == OpCode::call || op.code == OpCode::closure)
          yes |= relevant(*module_.find_func(op.symbol));
      });
    relevant_[&func] = yes;
    return yes;
  }
  bool holds_tracked(const Type *type) {
    switch (type->kind) {
    case TypeKind::scalar:
    case TypeKind::whole: return type->tracked;
    case TypeKind::pointer:
    case TypeKind::slice:
    case TypeKind::array:
      return type->element->kind == TypeKind::pointer ? false : holds_tracked(type->element);
    case TypeKind::record:
      return std::any_of(
          type->record->fields.begin(), type->record->fields.end(),
          [&](const Record::Field &f) { return f.type->kind != TypeKind::pointer && holds_tracked(f.type); });
    case TypeKind::function: return true; // it may be called
    case TypeKind::string:
    case TypeKind::random:
    case TypeKind::draw:
    case TypeKind::frame: return false;
    }
    return false;
  }
  /// Whether a loop's body computes with whole values or on the card, itself or through calls.
  bool holds_whole(const Region &region) {
    std::set<const Func *> seen;
    return holds_whole(region, seen);
  }
  bool holds_whole(const Region &region, std::set<const Func *> &seen) {
    for (const Op *op : region.ops) {
      for (const Value *v : op->operands)
        if (v->type->is_device_or_whole()) return true;
      for (const Value *v : op->results)
        if (v->type->is_device_or_whole()) return true;
      for (const Region *inner : op->regions)
        if (holds_whole(*inner, seen)) return true;
      if (op->code != OpCode::call) continue;
      const Func *callee = module_.find_func(op->symbol);
      if (seen.insert(callee).second && !callee->external && holds_whole(*callee->body, seen)) return true;
    }
    return false;
  }

  Module &module_;
  Func &func_;
  Diag &diag_;
  std::vector<std::string_view> &made_;
  Builder builder_;
  List<Place> no_places_{module_.memory.get()};
  State state_;
  std::vector<Value *> map_;
  std::unordered_map<Value *, Location> addresses_;
  std::set<std::string_view> exposed_;
  std::vector<std::map<std::string_view, std::string_view>> frames_; ///< local names of what is being inlined
  std::set<std::string> local_names_;
  std::vector<const Func *> inlining_;
  std::map<const Func *, Prepared> prepared_;
  std::map<const Func *, bool> relevant_;
  const Op *unrolling_ = nullptr;
  uint64_t unrolling_from_ = 0, emitted_ = 0;
};

} // namespace

bool specialize_window(Module &module, Func &func, Op &tape, Diag &diag,
                       std::vector<std::string_view> &made) {
  return Specializer(module, func, diag, made).window(tape);
}

} // namespace mica::grad
