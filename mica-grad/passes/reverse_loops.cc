// Loops walked back, from the last turn to the first.
//
// The backward loop carries the adjoints of what the forward loop carries, of active values from outside it,
// and of places. A `for` knows its trip count before it starts. A `while` counts its turns in a local; its
// first region runs once more than its second, so the backward loop starts with the first region alone:
//
//   while { first } do { second }      ->      for turn := turns downto 0 { if turn < turns { second back };
//   first back }
#include "passes/fold.h"
#include "passes/reverse.h"

#include <algorithm>

namespace mica::grad {
using namespace spectra;

Reverse::Touched Reverse::touched_by(const Op &op) {
  std::unordered_set<const Value *> inside;
  Touched touched;
  for (Region *body : op.regions) {
    inside.insert(body->args.begin(), body->args.end());
    each_op(*body, [&](Op &o) {
      inside.insert(o.results.begin(), o.results.end());
      for (Region *inner : o.regions) inside.insert(inner->args.begin(), inner->args.end());
    });
  }
  for (Region *body : op.regions)
    each_op(*body, [&](Op &o) {
      for (Value *v : o.operands)
        if (active(v) && !inside.count(v)) touched.values[v->number] = v;
      touched.flows |= window_.recursion(o) != nullptr;
      bool reads = o.code == OpCode::read && active(o.result());
      bool writes = o.code == OpCode::write && o.arg(0)->type->is_float();
      if (!reads && !writes) return;
      Location at = location_of(o);
      if (in_memory(at))
        touched.flows |= writes;
      else if (at.is_static() && (reads || active(o.arg(0)) || env_.places.count(at.key())))
        touched.places[at.key()] = at;
    });
  for (const auto &entry : touched.places) touched.flows |= env_.places.count(entry.first) > 0;
  return touched;
}

void Reverse::loop(Region &r, size_t index) {
  Op &op = *r.ops[index];
  std::vector<Value *> seeds;
  bool seeded = false;
  for (Value *v : op.results) {
    seeds.push_back(take(v));
    seeded |= seeds.back() != nullptr;
  }
  Touched touched = touched_by(op);
  if (!seeded && !touched.flows) return; // it has no part in the gradient
  if (op.code == OpCode::for_)
    counted(r, index, seeds, touched);
  else
    conditional(r, index, seeds, touched);
}

void Reverse::counted(Region &r, size_t index, const std::vector<Value *> &seeds, const Touched &touched) {
  Op &op = *r.ops[index];
  Region &body = *op.regions[0];
  const Type *i64 = module_.types.scalar(Scalar::i64);
  bool down = op.flag(Attr::down);
  int64_t by = op.integer(Attr::by);

  // Before the forward loop: its trip count.
  Region *front = module_.new_region();
  Builder fb(module_, front);
  fb.set_places(op.places);
  Value *low = op.arg(down ? 1 : 0), *high = op.arg(down ? 0 : 1), *turns;
  std::optional<int64_t> a = constant_of(low), b = constant_of(high);
  if (a && b) {
    uint64_t count = trip_count(*a, *b, by, false, low->type->scalar == Scalar::u64);
    turns = fb.constant(i64, static_cast<int64_t>(count));
  } else {
    Value *some = fb.make(OpCode::le, {low, high});
    auto wide = [&](Value *v) { return v->type == i64 ? v : fb.make_typed(OpCode::cast, {v}, i64); };
    // Where there is no turn, the difference is taken of equal bounds.
    Value *top = fb.make(OpCode::select, {some, high, low});
    Value *distance = fb.make(OpCode::sub, {wide(top), wide(low)});
    Value *steps = by == 1 ? distance : fb.make(OpCode::div, {distance, fb.constant(i64, by)});
    Value *count = fb.make(OpCode::add, {steps, fb.constant(i64, 1)});
    turns = fb.make(OpCode::select, {some, count, fb.constant(i64, 0)}, "turns");
  }
  r.ops.insert(r.ops.begin() + static_cast<long>(index), front->ops.begin(), front->ops.end());

  std::vector<size_t> carried;
  std::vector<Value *> arguments, starts;
  for (size_t j = 0; j < op.results.size(); ++j) {
    if (!active(body.args[j + 1])) continue;
    carried.push_back(j);
    arguments.push_back(body.args[j + 1]);
    starts.push_back(seeds[j]);
  }
  Value *last = builder_.make(OpCode::sub, {turns, builder_.constant(i64, 1)});
  auto emit = [&](Op &back, Value *turn, const std::vector<Value *> &in) {
    // The forward counter of this turn, exactly.
    Value *start = op.arg(0);
    const Type *type = start->type;
    Value *wide = type == i64 ? start : builder_.make_typed(OpCode::cast, {start}, i64);
    Value *offset = by == 1 ? turn : builder_.make(OpCode::mul, {turn, builder_.constant(i64, by)});
    Value *counter = builder_.make(down ? OpCode::sub : OpCode::add, {wide, offset});
    if (type != i64) counter = builder_.make_typed(OpCode::cast, {counter}, type);
    mirrors_.push_back({&op, &back, {back.regions[0]}, turns, nullptr});
    const Op *end = body.ops.back();
    for (size_t c = 0; c < carried.size(); ++c) contribute(end->operands[carried[c]], in[c]);
    region(body);
    each_op(*back.regions[0],
            [&](Op &o) { std::replace(o.operands.begin(), o.operands.end(), body.args[0], counter); });
  };
  std::vector<Value *> out = turns_back(op, last, arguments, starts, touched, emit);
  for (size_t c = 0; c < carried.size(); ++c) contribute(op.arg(static_cast<int>(carried[c]) + 2), out[c]);
}

void Reverse::conditional(Region &r, size_t index, const std::vector<Value *> &seeds,
                          const Touched &touched) {
  Op &op = *r.ops[index];
  Region &first = *op.regions[0], &second = *op.regions[1];
  const Type *i64 = module_.types.scalar(Scalar::i64);
  bool alike = op.results.size() == op.operands.size();
  for (size_t j = 0; alike && j < op.results.size(); ++j) alike = op.results[j]->type == op.operands[j]->type;
  if (!alike) {
    diag_.error(op.place(), "this window's loop changes what it carries; not yet in this version");
    good_ = false;
    return;
  }
  // The forward loop counts its turns in a local: zero before it, one more at the end of the second region.
  Variable local;
  local.name = module_.keep("turns'" + std::to_string(module_.value_count));
  local.type = i64;
  window_.func->locals.push_back(local);
  Location at = variable_location(Path::Base::local, local.name);
  auto insert = [&](Region &into, size_t position, const std::function<void(Builder &)> &make) {
    Region *made = module_.new_region();
    Builder b(module_, made);
    b.set_places(op.places);
    make(b);
    into.ops.insert(into.ops.begin() + static_cast<long>(position), made->ops.begin(), made->ops.end());
  };
  Value *counter = nullptr, *turns = nullptr;
  insert(second, second.ops.size() - 1, [&](Builder &b) {
    emit_write(b, at, b.make(OpCode::add, {emit_read(b, at, i64), b.constant(i64, 1)}));
  });
  insert(first, 0, [&](Builder &b) { counter = emit_read(b, at, i64, "turn"); });
  insert(r, index + 1, [&](Builder &b) { turns = emit_read(b, at, i64, "turns"); });
  insert(r, index, [&](Builder &b) { emit_write(b, at, b.constant(i64, 0)); });

  std::vector<size_t> carried;
  std::vector<Value *> arguments, starts;
  for (size_t j = 0; j < op.results.size(); ++j) {
    if (!active(first.args[j]) && !active(op.results[j])) continue;
    carried.push_back(j);
    arguments.push_back(first.args[j]);
    starts.push_back(seeds[j]);
  }
  auto emit = [&](Op &back, Value *turn, const std::vector<Value *> &in) {
    size_t mirror = mirrors_.size();
    mirrors_.push_back({&op, &back, {back.regions[0]}, turns, counter});
    const Op *end = first.ops.back();
    Value *is_last = builder_.make(OpCode::eq, {turn, turns});
    Op *second_back = either(is_last, List<Place>(op.places, module_.memory.get()), [&](size_t side) {
      std::vector<Value *> adjoints = in;
      if (side == 1) {
        const Op *next = second.ops.back();
        for (size_t c = 0; c < carried.size(); ++c) contribute(next->operands[carried[c]], in[c]);
        region(second);
        for (size_t c = 0; c < carried.size(); ++c) adjoints[c] = take(second.args[carried[c]]);
      }
      for (size_t c = 0; c < carried.size(); ++c)
        if (adjoints[c]) contribute(end->operands[carried[c] + 1], adjoints[c]);
    });
    mirrors_[mirror].regions.push_back(second_back->regions[1]);
    region(first);
  };
  std::vector<Value *> out = turns_back(op, turns, arguments, starts, touched, emit);
  for (size_t c = 0; c < carried.size(); ++c) contribute(op.arg(static_cast<int>(carried[c])), out[c]);
}

/// `arguments`: the forward region's arguments whose adjoints are carried, `seeds` their adjoints at the end
/// (null: zero). The result is their adjoints at the start; the environment then has what the loop added to
/// everything else.
std::vector<Value *>
Reverse::turns_back(const Op &op, Value *last, const std::vector<Value *> &arguments,
                    const std::vector<Value *> &seeds, const Touched &touched,
                    const std::function<void(Op &, Value *, const std::vector<Value *> &)> &emit) {
  const Type *i64 = module_.types.scalar(Scalar::i64);
  const List<Place> places(op.places, module_.memory.get());
  Op *back = module_.new_op(OpCode::for_);
  back->places.assign(op.places.begin(), op.places.end());
  back->operands.push_back(last);
  back->operands.push_back(builder_.constant(i64, 0));
  back->set(Attr::by, int64_t{1});
  back->set(Attr::down, true);
  Region *inner = module_.new_region(back);
  auto argument = [&](const Type *type, std::string_view name) {
    Value *v = module_.new_value(type, name);
    v->region = inner;
    inner->args.push_back(v);
    return v;
  };
  auto start = [&](Value *adjoint, const Type *type) {
    back->operands.push_back(adjoint ? settle(adjoint, type) : zero_value(builder_, type));
    return argument(type, {});
  };
  Value *turn = argument(i64, "turn");
  Env outer = env_, fresh;
  std::vector<Value *> in;
  for (size_t c = 0; c < arguments.size(); ++c)
    in.push_back(start(seeds[c], gradient_value_type(arguments[c])));
  for (const auto &[number, v] : touched.values) {
    auto it = outer.values.find(number);
    fresh.values[number] = {
        v, start(it == outer.values.end() ? nullptr : it->second.second, gradient_value_type(v))};
  }
  for (const auto &[key, at] : touched.places) {
    auto it = outer.places.find(key);
    fresh.places[key] = {at, start(it == outer.places.end() ? nullptr : it->second.second, place_type(at))};
  }

  Region *here = builder_.region();
  builder_.set_region(inner);
  env_ = fresh;
  ++depth_;
  emit(*back, turn, in);
  builder_.set_places(places);
  std::vector<Value *> yields;
  auto yield = [&](Value *adjoint, const Type *type) {
    yields.push_back(adjoint ? settle(adjoint, type) : zero_value(builder_, type));
  };
  for (Value *v : arguments) yield(take(v), gradient_value_type(v));
  for (const auto &[number, v] : touched.values) yield(env_.values.at(number).second, gradient_value_type(v));
  for (const auto &[key, at] : touched.places) {
    auto it = env_.places.find(key);
    yield(it == env_.places.end() ? nullptr : it->second.second, place_type(at));
  }
  builder_.append(OpCode::yield)->operands.assign(yields.begin(), yields.end());
  --depth_;
  builder_.set_region(here);
  here->ops.push_back(back);

  env_ = outer;
  size_t result = 0;
  std::vector<Value *> out;
  for (size_t c = 0; c < arguments.size(); ++c)
    out.push_back(builder_.add_result(back, yields[result++]->type));
  for (const auto &[number, v] : touched.values)
    env_.values[number] = {v, builder_.add_result(back, yields[result++]->type)};
  for (const auto &[key, at] : touched.places)
    env_.places[key] = {at, builder_.add_result(back, yields[result++]->type)};
  return out;
}

} // namespace mica::grad
