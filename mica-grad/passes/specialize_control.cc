// Branches, switches and loops of a window that is written anew.
#include "passes/fold.h"
#include "passes/specializer.h"

namespace mica::grad {
using namespace spectra;

/// A result of a branch or a loop: it may be tracked as soon as it is a float.
Value *Specializer::result_of(Op &op, const Type *type, std::string_view name) {
  Value *v = builder_.add_result(&op, type, name);
  if (type->is_float()) tracked_.insert(v);
  return v;
}

void Specializer::branch(const Op &op) {
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
  for (Value *v : op.results) set(v, result_of(*copy, v->type, v->name));
  join(*copy, ends, before, after);
  builder_.set_places(op.places);
  copy->places.assign(op.places.begin(), op.places.end());
}

void Specializer::join(Op &branch, Op *ends[2], const State &before, State after[2]) {
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
      a = result_of(branch, a->type, a->name);
    }
    state_.set(known.location, a);
  }
}

void Specializer::choose(const Op &op) {
  const std::vector<int64_t> &labels = *op.integers(Attr::labels);
  Value *x = mapped(op.arg(0));
  chain(op, x, labels, 0);
}

void Specializer::chain(const Op &op, Value *x, const std::vector<int64_t> &labels, size_t region) {
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

Value *Specializer::folded(OpCode code, Value *a, Value *b) {
  Value *v = builder_.make(code, {a, b});
  if (std::optional<int64_t> c = fold(*v->def, {a, b})) return constant(v->type, *c);
  return v;
}

void Specializer::count(const Op &op) {
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

void Specializer::unroll(const Op &op, int64_t low, uint64_t turns) {
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

void Specializer::loop(const Op &op) {
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
      if (argument->type->is_float()) tracked_.insert(argument);
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
  for (Value *v : op.results) set(v, result_of(*copy, v->type, v->name));
}

void Specializer::kill_written(const Op &op) {
  std::set<const Func *> seen;
  for (const Region *region : op.regions) kill_written(*region, seen, false);
}

void Specializer::kill_written(const Region &region, std::set<const Func *> &seen, bool in_callee) {
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

} // namespace mica::grad
