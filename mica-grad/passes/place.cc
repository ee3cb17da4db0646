// Where the adjoint code goes.
//
//   tape {id=0} { ... write @loss, %l }       ->    ... write @loss, %l
//   backward @loss {windows=[0]}              ->    the adjoint code, which reads the window's values
//   %g = gradient @w                          ->    (the adjoint value)
//
// A Backward elsewhere becomes a call of `@w0.backward`. What that function reads of the window crosses in
// hidden variables: constants are made anew, variables that the program may not assign in between are read
// again, all else is copied to
// `@w0'k` at the window's end. `@w0'state` says whether the last run was walked, `@loss'window` which window
// ran last.
#include "passes/place.h"
#include "spectra/ops.h"

#include <algorithm>

namespace mica::grad {
using namespace spectra;

std::string_view Placer::variable(const std::string &name, const Type *type) {
  if (const Variable *v = module_.find_variable(name)) return v->name;
  Variable v;
  v.name = module_.keep(name);
  v.type = module_.types.untracked(type);
  module_.variables.push_back(v);
  return v.name;
}

void Placer::need_shadow(const Location &shadow, const Type *type) {
  variable(std::string(shadow.symbol), type);
}

Pair *Placer::pair_of(const Walk &walk, int64_t window) {
  for (auto &pair : pairs_)
    if (pair->window->id == window && pair->loss.key() == walk.loss.key()) return pair.get();
  return nullptr;
}

void Placer::find_pairs() {
  for (auto &walk : tapes_.walks)
    for (int64_t id : walk->windows) {
      Pair *pair = pair_of(*walk, id);
      if (!pair) {
        pairs_.push_back(std::make_unique<Pair>());
        pair = pairs_.back().get();
        pair->window = &tapes_.windows.at(id);
        pair->loss = walk->loss;
      }
      pair->walks.push_back(walk.get());
    }
  for (auto &pair : pairs_) {
    int losses = 0;
    for (auto &other : pairs_) losses += other->window == pair->window;
    pair->name = "w" + std::to_string(pair->window->id);
    if (losses > 1) {
      std::string loss = source_text(module_, pair->window->func, pair->loss);
      for (char &c : loss)
        if (c == '.' || c == '[' || c == ']') c = '\'';
      pair->name += "'" + loss;
    }
    find_descents(*pair);
    bool called = false;
    for (Walk *walk : pair->walks) called |= !walk->spliced;
    pair->counted = called || pair->walks.size() > 1;
    if (!called) continue;
    pair->backward = module_.new_func(module_.keep(pair->name + ".backward"));
    pair->backward->place = pair->walks[0]->op->place();
  }
}

void Placer::fail_unless(Builder &b, Value *condition, const std::string &message) {
  Op *text = b.append(OpCode::const_);
  text->set(Attr::value, message);
  Value *why = b.add_result(text, module_.types.string());
  Op *check = b.append(OpCode::assert);
  check->operands.push_back(condition);
  check->operands.push_back(why);
}

/// Stops the program unless the window has run since its last walk; marks it walked.
void Placer::check_state(Builder &b, const Pair &pair) {
  const Type *i32 = module_.types.scalar(Scalar::i32);
  Location at = variable_location(Path::Base::global, variable(pair.name + "'state", i32));
  std::string loss = source_text(module_, pair.window->func, pair.loss);
  Value *state = emit_read(b, at, i32, "state");
  fail_unless(b, b.make(OpCode::ne, {state, b.constant(i32, 0)}),
              "Backward(" + loss + "): its window has not run");
  fail_unless(b, b.make(OpCode::ne, {state, b.constant(i32, 2)}),
              "Backward(" + loss + "): this run of its window was walked already");
  emit_write(b, at, b.constant(i32, 2));
}

/// At the window's end: it has run and not been walked, and it is the last that assigned the loss.
void Placer::record(Pair &pair) {
  Region &body = pair.window->body();
  Op *end = body.ops.back();
  body.ops.pop_back();
  Builder b(module_, &body);
  b.set_place(pair.window->tape->place());
  const Type *i32 = module_.types.scalar(Scalar::i32);
  if (pair.counted)
    emit_write(b, variable_location(Path::Base::global, variable(pair.name + "'state", i32)),
               b.constant(i32, 1));
  for (Walk *walk : pair.walks)
    if (walk->windows.size() > 1) {
      std::string name = source_text(module_, pair.window->func, pair.loss) + "'window";
      std::replace(name.begin(), name.end(), '.', '\'');
      emit_write(b, variable_location(Path::Base::global, variable(name, i32)),
                 b.constant(i32, pair.window->id + 1));
      break;
    }
  body.ops.push_back(end);
  reset_stacks(pair);
}

std::map<uint32_t, Value *> Placer::crossing(const Code &code, Region &front) {
  Region &body = *code.region;
  const Window &window = *code.pair->window;
  std::unordered_set<const Value *> own;
  std::map<uint32_t, Value *> wanted, rest;
  each_op(body, [&](Op &op) {
    own.insert(op.results.begin(), op.results.end());
    for (Region *inner : op.regions) own.insert(inner->args.begin(), inner->args.end());
  });
  each_op(body, [&](Op &op) {
    for (Value *v : op.operands)
      if (!own.count(v)) wanted[v->number] = v;
  });
  // A tracked variable that the window only reads is the same at the Backward (language.md 8.5).
  auto unwritten = [&](const Location &at) {
    bool yes = true;
    auto look = [&](Op &op) {
      if (op.code == OpCode::write) yes &= overlap(location_of(op), at) == Overlap::none;
    };
    each_op(window.body(), look);
    for (const auto &r : *window.recursions) each_op(r->body(), look);
    return yes;
  };
  Builder f(module_, &front);
  std::unordered_map<Value *, Value *> made;
  for (const auto &[number, v] : wanted) {
    const Op *def = v->def;
    if (def) f.set_places(def->places);
    if (def && def->code == OpCode::const_) {
      std::vector<Value *> map;
      Op *copy = clone(module_, *def, map);
      front.ops.push_back(copy);
      made[v] = copy->result();
    } else if (def && def->code == OpCode::read && def->path->base == Path::Base::global &&
               location_of(*def).is_static() && unwritten(location_of(*def)) &&
               type_at(module_, nullptr, location_of(*def))->tracked) {
      made[v] = emit_read(f, location_of(*def), v->type, v->name);
      code.pair->reread.emplace(def->path->symbol, std::string_view());
    } else {
      rest[number] = v;
    }
  }
  replace_all(body, made);
  return rest;
}

/// Values of the window that its function reads cross in hidden variables.
void Placer::carry_over(const Code &code) {
  Region &body = *code.region;
  Region &window = code.pair->window->body();
  Region *front = module_.new_region();
  std::map<uint32_t, Value *> rest = crossing(code, *front);
  Builder f(module_, front);
  Op *end = window.ops.back();
  window.ops.pop_back();
  Builder w(module_, &window);
  int count = 0;
  std::unordered_map<Value *, Value *> made;
  for (const auto &[number, v] : rest) {
    std::string name = code.pair->name + "'" + std::to_string(count++);
    Location at = variable_location(Path::Base::global, variable(name, v->type));
    if (v->def) {
      w.set_places(v->def->places);
      f.set_places(v->def->places);
    }
    emit_write(w, at, v);
    made[v] = emit_read(f, at, v->type, v->name);
  }
  replace_all(body, made);
  window.ops.push_back(end);
  body.ops.insert(body.ops.begin(), front->ops.begin(), front->ops.end());
}

Func *Placer::function(const Code &code) const {
  return code.recursion ? code.pair->descents.at(code.recursion).backward : code.pair->backward;
}

void Placer::place(const Code &code) {
  Region &region = *code.region;
  if (!code.walk) {
    if (code.recursion)
      push_and_pop(code);
    else
      carry_over(code);
    Builder b(module_, &region);
    b.append(OpCode::return_);
    region.parent = nullptr;
    function(code)->body = &region;
    return;
  }
  Region &into = *code.walk->region;
  Region *front = module_.new_region();
  if (code.pair->counted) {
    Builder b(module_, front);
    b.set_place(code.walk->op->place());
    check_state(b, *code.pair);
  }
  front->ops.insert(front->ops.end(), region.ops.begin(), region.ops.end());
  for (Op *op : front->ops)
    for (Region *inner : op->regions) inner->parent = op;
  auto at = std::find(into.ops.begin(), into.ops.end(), code.walk->op);
  into.ops.insert(at, front->ops.begin(), front->ops.end());
}

/// A walk that is not spliced: the state of its window says which function walks.
void Placer::dispatch(Walk &walk) {
  if (walk.spliced) return;
  Region *front = module_.new_region();
  Builder b(module_, front);
  b.set_place(walk.op->place());
  const Type *i32 = module_.types.scalar(Scalar::i32);
  auto call = [&](Builder &at, int64_t id) {
    Pair *pair = pair_of(walk, id);
    check_state(at, *pair);
    check_assigned(at, *pair);
    at.append(OpCode::call)->symbol = pair->backward->name;
  };
  if (walk.windows.size() == 1) {
    call(b, walk.windows[0]);
  } else {
    std::string loss = source_text(module_, walk.func, walk.loss), name = loss + "'window";
    std::replace(name.begin(), name.end(), '.', '\'');
    Value *last = emit_read(b, variable_location(Path::Base::global, variable(name, i32)), i32, "window");
    fail_unless(b, b.make(OpCode::ne, {last, b.constant(i32, 0)}),
                "Backward(" + loss + "): no window that assigns it has run");
    for (int64_t id : walk.windows) {
      Value *is = b.make(OpCode::eq, {last, b.constant(i32, id + 1)});
      Op *branch = b.append(OpCode::if_);
      branch->operands.push_back(is);
      Region *outer = b.region();
      b.set_region(module_.new_region(branch));
      call(b, id);
      b.append(OpCode::yield);
      b.set_region(module_.new_region(branch));
      b.append(OpCode::yield);
      b.set_region(outer);
    }
  }
  auto at = std::find(walk.region->ops.begin(), walk.region->ops.end(), walk.op);
  walk.region->ops.insert(at, front->ops.begin(), front->ops.end());
}

void Placer::answer(Ask &ask, Value *direct, const Location &shadow) {
  auto at = std::find(ask.region->ops.begin(), ask.region->ops.end(), ask.op);
  Value *value = direct;
  if (!value) {
    Region *front = module_.new_region();
    Builder b(module_, front);
    b.set_places(ask.op->places);
    value = emit_read(b, shadow, ask.op->result()->type, ask.op->result()->name);
    at = ask.region->ops.insert(at, front->ops.begin(), front->ops.end()) + 1;
  } else if (value->name.empty()) {
    value->name = ask.op->result()->name;
  }
  ask.region->ops.erase(at);
  each_op(*ask.func->body,
          [&](Op &op) { std::replace(op.operands.begin(), op.operands.end(), ask.op->result(), value); });
}

namespace {

/// Puts each tape's operations in its place and takes `backward` and `detach` away.
void flatten(Module &module, Region &region, std::map<const Value *, Value *> &same) {
  List<Op *> old(std::move(region.ops));
  region.ops = List<Op *>(module.memory.get());
  for (Op *op : old) {
    for (Value *&v : op->operands) {
      auto it = same.find(v);
      if (it != same.end()) v = it->second;
    }
    for (Region *inner : op->regions) flatten(module, *inner, same);
    if (op->code == OpCode::tape) {
      List<Op *> &inside = op->regions[0]->ops;
      inside.pop_back(); // its yield
      region.ops.insert(region.ops.end(), inside.begin(), inside.end());
    } else if (op->code == OpCode::detach) {
      same[op->result()] = op->operands[0];
    } else if (op->code != OpCode::backward) {
      region.ops.push_back(op);
    }
  }
}

} // namespace

void Placer::remove_tapes() {
  std::map<const Value *, Value *> same;
  for (Func *func : module_.funcs) flatten(module_, *func->body, same);
}

} // namespace mica::grad
