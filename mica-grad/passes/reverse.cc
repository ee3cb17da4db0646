// A window walked back: each operation in reverse order, its rule giving the adjoints of its operands.
//
// An adjoint is an ordinary value. The environment holds, at the point that the walk has come to, the adjoint
// of each value and of each place in memory (absent: zero). `read` adds to its place, `write` takes its
// place's adjoint and leaves zero. A branch is walked back under the same condition, a loop from its last
// turn to its first; what they change in the environment becomes results of the backward operation. The
// environment starts with one at the loss's place.
//
//   %y = tanh %x                  %1 = mul %y, %y;  %2 = sub 1, %1;  %3 = mul %dy, %2        (backward, after
//   all of the forward) write @loss, %y       ->      (%dy is the constant one here)
#include "passes/reverse.h"
#include "rules/rules.h"

#include <algorithm>
#include <stdexcept>

namespace mica::grad {
using namespace spectra;

namespace {

int float_bytes(Scalar s) { return s == Scalar::f64 ? 8 : s == Scalar::f32 ? 4 : 2; }
bool is_half(Scalar s) { return s == Scalar::f16 || s == Scalar::bf16; }

/// Operations whose result's cells are operand 0's, moved.
bool moves_cells(OpCode code) {
  switch (code) {
  case OpCode::reshape:
  case OpCode::transpose:
  case OpCode::permute:
  case OpCode::slice:
  case OpCode::slice_rows:
  case OpCode::row:
  case OpCode::cell:
  case OpCode::gather:
  case OpCode::broadcast: return true;
  default: return false;
  }
}

} // namespace

Scalar Reverse::gradient_type(const Value *v) const {
  const Op *def = v->def;
  if (!def) return v->type->scalar;
  if (moves_cells(def->code)) return gradient_type(def->arg(0));
  if (def->code == OpCode::cast) {
    const Value *from = def->arg(0);
    if (from->type->is_float() && float_bytes(from->type->scalar) > float_bytes(v->type->scalar))
      return gradient_type(from);
  }
  return v->type->scalar;
}

const Type *Reverse::gradient_value_type(const Value *v) {
  return module_.types.with_scalar(v->type, gradient_type(v));
}

const Type *Reverse::place_type(const Location &at) {
  return module_.types.untracked(type_at(module_, window_.func, at));
}

Value *Reverse::settle(Value *value, const Type *type) {
  if (value->type->scalar != type->scalar)
    value = builder_.make_typed(OpCode::cast, {value}, module_.types.with_scalar(value->type, type->scalar));
  if (value->type->sizes != type->sizes)
    value =
        builder_.make_typed(OpCode::broadcast, {value}, module_.types.with_sizes(value->type, type->sizes));
  if (!value->type->gpu && type->gpu) value = builder_.make(OpCode::to_gpu, {value});
  if (value->type->gpu && !type->gpu) value = builder_.make(OpCode::to_host, {value});
  return value;
}

void Reverse::contribute(Value *to, Value *c) {
  if (!active(to)) return;
  const Type *type = to->type;
  if (c->type->sizes != type->sizes) {
    if (type->is_scalar())
      c = builder_.make(OpCode::sum, {c});
    else
      c = builder_.make_typed(OpCode::sum_to, {c}, module_.types.with_sizes(c->type, type->sizes));
  }
  Scalar cell = gradient_type(to);
  if (c->type->scalar != cell)
    c = builder_.make_typed(OpCode::cast, {c}, module_.types.with_scalar(c->type, cell));
  if (c->type->gpu && !type->gpu) c = builder_.make(OpCode::to_host, {c});
  auto [it, fresh] = env_.values.emplace(to->number, std::make_pair(to, c));
  if (!fresh) it->second.second = builder_.make(OpCode::add, {it->second.second, c});
}

/// The adjoint of a value whose definition the walk has reached: complete, and out of sight before it.
Value *Reverse::take(const Value *v) {
  auto it = env_.values.find(v->number);
  if (it == env_.values.end()) return nullptr;
  Value *adjoint = it->second.second;
  env_.values.erase(it);
  if (depth_ == 0) finished_[v->number] = adjoint;
  return adjoint;
}

bool Reverse::run(Region &into, const Location &loss, Place place) {
  builder_.set_region(&into);
  builder_.set_place(place);
  const Type *type = place_type(loss);
  for (const std::string &key : activity_.in_memory) {
    Location at = variable_location(key[0] == '@' ? Path::Base::global : Path::Base::local,
                                    module_.keep(key.substr(1)));
    emit_zeros(builder_, shadow(at), type_at(module_, window_.func, at));
  }
  Value *one = builder_.constant_float(type, 1, "one");
  if (in_memory(loss))
    emit_write(builder_, shadow(loss), settle(one, type));
  else
    env_.places[loss.key()] = {loss, one};
  region(window_.body());
  return good_;
}

bool Reverse::run(Region &into, const Recursion &recursion, Place place) {
  builder_.set_region(&into);
  builder_.set_place(place);
  const Descent &descent = descents_.at(&recursion);
  if (recursion.answer && recursion.answer->type->is_float())
    contribute(recursion.answer, emit_read(builder_, descent.seed, recursion.answer->type));
  region(*recursion.tape->regions[0]);
  builder_.set_place(place);
  for (size_t i = 0; i < descent.arguments.size(); ++i) {
    if (!descent.arguments[i]) continue;
    const Value *v = recursion.forward->body->args[i];
    Value *adjoint = take(v);
    emit_write(builder_, *descent.arguments[i],
               adjoint ? settle(adjoint, v->type) : zero_value(builder_, v->type));
  }
  return good_;
}

/// The twin pops what it kept, whether an adjoint reaches it or not.
void Reverse::call(const Op &op, const Recursion &recursion) {
  const Descent &descent = descents_.at(&recursion);
  if (!op.results.empty() && op.result()->type->is_float()) {
    Value *seed = take(op.result());
    const Type *type = op.result()->type;
    emit_write(builder_, descent.seed, seed ? settle(seed, type) : zero_value(builder_, type));
  }
  builder_.append(OpCode::call)->symbol = descent.backward->name;
  for (size_t i = 0; i < descent.arguments.size(); ++i)
    if (descent.arguments[i] && active(op.operands[i]))
      contribute(op.operands[i], emit_read(builder_, *descent.arguments[i], op.operands[i]->type));
}

void Reverse::region(Region &r) {
  for (size_t i = r.ops.size(); i-- > 0;) {
    // It may put operations in front of itself: they have no adjoints and count as walked.
    operation(r, i);
  }
}

void Reverse::operation(Region &r, size_t index) {
  Op &op = *r.ops[index];
  builder_.set_places(op.places);
  switch (op.code) {
  case OpCode::yield: return;
  case OpCode::read: read(op); return;
  case OpCode::write: write(op); return;
  case OpCode::if_: branch(op); return;
  case OpCode::for_:
  case OpCode::while_: loop(r, index); return;
  case OpCode::call:
    if (const Recursion *recursion = window_.recursion(op)) {
      call(op, *recursion);
      return;
    }
    break;
  default: break;
  }
  if (op.results.empty()) return; // of several results the first is the one that is differentiated
  Value *seed = take(op.result());
  // A constant is active only where the place that it is written to is asked for.
  if (!seed || info(op.code).gradient != GradientKind::rule) return;
  Adjoint adjoint(*this, op, seed);
  if (!(cells_rule(adjoint) || functions_rule(adjoint) || layout_rule(adjoint) || products_rule(adjoint) ||
        reductions_rule(adjoint) || rows_rule(adjoint) || attention_rule(adjoint)))
    throw std::logic_error(std::string("no gradient rule for ") + info(op.code).name);
}

void Reverse::read(const Op &op) {
  Value *d = take(op.result());
  if (!d) return;
  Location at = location_of(op);
  d = settle(d, op.result()->type);
  if (in_memory(at)) {
    Location place = shadow(at);
    emit_write(builder_, place,
               builder_.make(OpCode::add, {emit_read(builder_, place, op.result()->type), d}));
    return;
  }
  auto [it, fresh] = env_.places.emplace(at.key(), std::make_pair(at, d));
  if (!fresh) it->second.second = builder_.make(OpCode::add, {it->second.second, d});
}

void Reverse::write(const Op &op) {
  Location at = location_of(op);
  Value *value = op.arg(0);
  if (in_memory(at)) {
    if (!value->type->is_float()) return;
    Location place = shadow(at);
    Value *d = emit_read(builder_, place, value->type);
    emit_write(builder_, place, zero_value(builder_, value->type));
    contribute(value, d);
    return;
  }
  auto it = env_.places.find(at.key());
  if (it == env_.places.end()) return;
  Value *d = it->second.second;
  env_.places.erase(it);
  contribute(value, d);
}

void Reverse::branch(Op &op) {
  std::vector<Value *> seeds;
  for (Value *v : op.results) seeds.push_back(take(v));
  size_t mirror = mirrors_.size();
  mirrors_.push_back({&op, nullptr, {}, nullptr, nullptr});
  ++depth_;
  Op *back = either(op.arg(0), List<Place>(op.places, module_.memory.get()), [&](size_t side) {
    const Op *end = op.regions[side]->ops.back();
    for (size_t j = 0; j < seeds.size(); ++j)
      if (seeds[j]) contribute(end->operands[j], seeds[j]);
    region(*op.regions[side]);
  });
  --depth_;
  mirrors_[mirror].backward = back;
  mirrors_[mirror].regions = {back->regions[0], back->regions[1]};
}

/// A backward `if`: `emit(side)` walks a side back; what either side changed in the environment becomes a
/// result.
Op *Reverse::either(Value *condition, const List<Place> &places, const std::function<void(size_t)> &emit) {
  Env outer = env_, after[2];
  Region *here = builder_.region();
  Op *back = module_.new_op(OpCode::if_);
  back->places.assign(places.begin(), places.end());
  back->operands.push_back(condition);
  for (size_t i = 0; i < 2; ++i) {
    env_ = outer;
    builder_.set_region(module_.new_region(back));
    emit(i);
    after[i] = env_;
  }
  builder_.set_places(places);
  Op *ends[2] = {module_.new_op(OpCode::yield), module_.new_op(OpCode::yield)};
  auto join = [&](const Type *type, Value *sides[2]) {
    if (sides[0] == sides[1]) return sides[0]; // the same value on both sides was there before
    for (size_t i = 0; i < 2; ++i) {
      builder_.set_region(back->regions[i]);
      ends[i]->operands.push_back(sides[i] ? settle(sides[i], type) : zero_value(builder_, type));
    }
    return builder_.add_result(back, type);
  };
  env_ = outer;
  std::set<uint32_t> values;
  std::set<std::string> keys;
  for (const Env &e : after) {
    for (const auto &entry : e.values) values.insert(entry.first);
    for (const auto &entry : e.places) keys.insert(entry.first);
  }
  for (const auto &entry : outer.places) keys.insert(entry.first);
  auto adjoint_in = [](const auto &map, const auto &key) {
    auto it = map.find(key);
    return it == map.end() ? nullptr : it->second.second;
  };
  for (uint32_t number : values) {
    Value *sides[2] = {adjoint_in(after[0].values, number), adjoint_in(after[1].values, number)};
    Value *v = (sides[0] ? after[0] : after[1]).values.at(number).first;
    env_.values[number] = {v, join(gradient_value_type(v), sides)};
  }
  for (const std::string &key : keys) {
    Value *sides[2] = {adjoint_in(after[0].places, key), adjoint_in(after[1].places, key)};
    Location at = (sides[0] ? after[0].places : sides[1] ? after[1].places : outer.places).at(key).first;
    if (!sides[0] && !sides[1])
      env_.places.erase(key);
    else
      env_.places[key] = {at, join(place_type(at), sides)};
  }
  for (size_t i = 0; i < 2; ++i) back->regions[i]->ops.push_back(ends[i]);
  builder_.set_region(here);
  bool empty =
      back->results.empty() && back->regions[0]->ops.size() == 1 && back->regions[1]->ops.size() == 1;
  if (!empty) here->ops.push_back(back);
  return back;
}

/// The value that a place holds at the window's end, where one write at the window's top says it.
Value *Reverse::final_value(const Location &at) const {
  const List<Op *> &ops = window_.body().ops;
  for (size_t i = ops.size(); i-- > 0;) {
    Op &op = *ops[i];
    if (op.code == OpCode::write && location_of(op).key() == at.key()) return op.arg(0);
    bool nested = false;
    for (Region *inner : op.regions)
      each_op(*inner, [&](Op &o) {
        nested |= o.code == OpCode::write && overlap(location_of(o), at) != Overlap::none;
      });
    if (nested) return nullptr;
  }
  return nullptr;
}

Value *Reverse::gradient(Builder &builder, const Location &at, const Type *type) {
  Region *here = builder_.region();
  builder_.set_region(builder.region());
  builder_.set_place(builder.place());
  type = module_.types.untracked(type);
  Value *answer = nullptr;
  if (in_memory(at)) {
    answer = emit_read(builder_, shadow(at), type);
  } else {
    auto it = env_.places.find(at.key());
    if (it != env_.places.end()) {
      answer = it->second.second;
    } else if (Value *v = final_value(at)) {
      // A place that the window computes: the gradient of what it holds at the end.
      auto done = finished_.find(v->number);
      auto open = env_.values.find(v->number);
      if (done != finished_.end())
        answer = done->second;
      else if (open != env_.values.end())
        answer = open->second.second;
    }
    answer = answer ? settle(answer, type) : zero_value(builder_, type);
  }
  builder_.set_region(here);
  return answer;
}

// ---- what the rules see
// -------------------------------------------------------------------------------------------

bool Adjoint::wants(int i) const { return reverse_.active(op_.arg(i)); }
Scalar Adjoint::gradient_type(int i) const { return reverse_.gradient_type(op_.arg(i)); }
Builder &Adjoint::builder() const { return reverse_.builder(); }

Value *Adjoint::moved(Value *value, int i) const {
  Scalar cell = gradient_type(i);
  if (value->type->scalar == cell) return value;
  return builder().make_typed(OpCode::cast, {value}, builder().module().types.with_scalar(value->type, cell));
}
Value *Adjoint::widened(Value *value, int i) const {
  Scalar cell = gradient_type(i);
  if (is_half(cell)) cell = Scalar::f32;
  if (value->type->scalar == cell) return value;
  return builder().make_typed(OpCode::cast, {value}, builder().module().types.with_scalar(value->type, cell));
}
Value *Adjoint::moved_seed(int i) const { return moved(seed_, i); }
Value *Adjoint::seed(int i) const { return widened(seed_, i); }
Value *Adjoint::operand(int j, int i) const { return widened(op_.arg(j), i); }
Value *Adjoint::result(int i) const { return widened(op_.result(), i); }
Value *Adjoint::number(double value, int i) const {
  Scalar cell = gradient_type(i);
  return builder().constant_float(builder().module().types.scalar(is_half(cell) ? Scalar::f32 : cell), value);
}
void Adjoint::give(int i, Value *contribution) const { reverse_.contribute(op_.arg(i), contribution); }
Value *Adjoint::integer(int64_t value) const {
  return builder().constant(builder().module().types.scalar(Scalar::i64), value);
}
const Type *Adjoint::sized(const Value *value, std::vector<int64_t> sizes) const {
  return builder().module().types.with_sizes(value->type, std::move(sizes));
}
Value *Adjoint::reshape(Value *value, std::vector<int64_t> sizes) const {
  if (value->type->sizes == sizes) return value;
  if (value->type->is_scalar()) return typed(OpCode::filled, value, sized(value, std::move(sizes)));
  return typed(OpCode::reshape, value, sized(value, std::move(sizes)));
}
Value *Adjoint::stretch(Value *value, const Type *type) const {
  if (value->type->sizes == type->sizes) return value;
  TypeTable &types = builder().module().types;
  return typed(OpCode::broadcast, value, types.whole(value->type->scalar, type->sizes, type->gpu));
}

} // namespace mica::grad
