// Recursion of a depth that only the run knows.
//
// A procedure f that a window reaches itself through becomes two: a forward twin, which is its body and then
// pushes what the way back reads, and a backward one, which pops that and walks it back. The last call is
// walked first, so one stack a walk and twin is enough: slices that grow, one a value, and their common top.
//
//   func @f(%x) -> T { ... }     ->    func @w0.f(%x) -> T { ...; @w0'f'0^[top] := %kept; top := top + 1 }
//                                      func @w0.f.backward() { top := top - 1; ...; call @w0.f.backward() ...
//                                      }
//
// The seed and the arguments' adjoints cross in hidden variables; unit variables that a twin touches
// accumulate in `@grad'x`. A window that runs again before its walk begins with empty stacks.
#include "passes/recursion.h"
#include "passes/exits.h"
#include "passes/place.h"

#include <algorithm>

namespace mica::grad {
using namespace spectra;

std::shared_ptr<Recursion> make_recursion(Module &module, const Window &window, const Func &source) {
  auto made = std::make_shared<Recursion>();
  made->source = &source;
  made->forward =
      module.new_func(module.keep("w" + std::to_string(window.id) + "." + std::string(source.name)));
  made->forward->result = source.result;
  made->forward->place = source.place;
  Region &body = *made->forward->body;
  made->tape = module.new_op(OpCode::tape, source.place);
  made->tape->set(Attr::id, int64_t{-1});
  Region *inner = module.new_region(made->tape);
  std::vector<Value *> copies(module.value_count, nullptr);
  for (Value *v : source.body->args) {
    Value *copy = module.new_value(v->type, v->name);
    copy->region = &body;
    body.args.push_back(copy);
    copies[v->number] = copy;
  }
  for (const Op *op : source.body->ops) inner->ops.push_back(clone(module, *op, copies));
  std::vector<Variable> locals(source.locals.begin(), source.locals.end());
  std::string_view answer;
  lower_exits(module, *inner, source.result, locals, answer);
  made->forward->locals.assign(locals.begin(), locals.end());
  Value *result = nullptr;
  if (!inner->ops.empty() &&
      (inner->ops.back()->code == OpCode::return_ || inner->ops.back()->code == OpCode::yield)) {
    if (!inner->ops.back()->operands.empty()) result = inner->ops.back()->operands[0];
    inner->ops.pop_back();
  }
  Builder b(module, inner);
  b.set_place(source.place);
  if (!answer.empty()) result = emit_read(b, variable_location(Path::Base::local, answer), source.result);
  b.append(OpCode::yield);
  body.ops.push_back(made->tape);
  Op *end = module.new_op(OpCode::return_);
  if (source.result) end->operands.push_back(result);
  body.ops.push_back(end);
  return made;
}

Window window_of(const Window &window, const Recursion &recursion) {
  return Window{-1, recursion.tape, recursion.forward, recursion.forward->body, window.recursions};
}

std::set<std::string> touched_by_recursions(Module &module, const Window &window,
                                            std::vector<Location> &asked) {
  std::set<std::string> keys;
  for (const auto &r : *window.recursions)
    each_op(r->body(), [&](Op &op) {
      if ((op.code != OpCode::read && op.code != OpCode::write) || op.path->base != Path::Base::global)
        return;
      Location at = location_of(op);
      const Type *type = type_at(module, r->forward, at);
      if (!type || !type->tracked || !keys.insert(at.variable_key()).second) return;
      asked.push_back(variable_location(at.base, at.symbol));
    });
  return keys;
}

namespace {

std::string stack_name(const Pair &pair, const Recursion &r) {
  std::string name = pair.name + "'" + std::string(r.source->name);
  std::replace(name.begin(), name.end(), '.', '\'');
  return name;
}

Location element(Value *slice, Value *index) {
  Location cell;
  cell.base = Path::Base::pointer;
  cell.pointer = slice;
  cell.steps.push_back({Location::Kind::dynamic, 0, index});
  return cell;
}

/// `if top >= length(slice)`: twice the room.
void make_room(Builder &f, const Location &at, Value *top, const Type *of) {
  Module &module = f.module();
  const Type *i64 = module.types.scalar(Scalar::i64), *type = module.types.slice(of);
  Value *old = emit_read(f, at, type), *length = f.make(OpCode::slice_length, {old});
  Value *full = f.make(OpCode::ge, {top, length});
  Op *grow = f.append(OpCode::if_);
  grow->operands.push_back(full);
  Region *here = f.region();
  f.set_region(module.new_region(grow));
  Value *larger = f.make(OpCode::add, {f.make(OpCode::add, {length, length}), f.constant(i64, 8)});
  Value *fresh = f.make_typed(OpCode::new_slice, {larger}, type);
  Value *zero = f.constant(i64, 0), *highest = f.make(OpCode::sub, {length, f.constant(i64, 1)});
  Op *copy = f.append(OpCode::for_);
  copy->operands.push_back(zero);
  copy->operands.push_back(highest);
  copy->set(Attr::by, int64_t{1});
  Region *branch = f.region(), *inner = module.new_region(copy);
  Value *i = module.new_value(i64, "i");
  i->region = inner;
  inner->args.push_back(i);
  f.set_region(inner);
  emit_write(f, element(fresh, i), emit_read(f, element(old, i), of));
  f.append(OpCode::yield);
  f.set_region(branch);
  f.append(OpCode::dispose)->operands.push_back(old);
  emit_write(f, at, fresh);
  f.append(OpCode::yield);
  f.set_region(module.new_region(grow));
  f.append(OpCode::yield);
  f.set_region(here);
}

} // namespace

void Placer::find_descents(Pair &pair) {
  for (const auto &r : *pair.window->recursions) {
    Descent &d = pair.descents[r.get()];
    std::string name = stack_name(pair, *r);
    d.backward = module_.new_func(module_.keep(pair.name + "." + std::string(r->source->name) + ".backward"));
    d.backward->place = r->source->place;
    if (r->source->result && r->source->result->is_float())
      d.seed = variable_location(Path::Base::global, variable(name + "'seed", r->source->result));
    size_t i = 0;
    for (const Value *v : r->forward->body->args) {
      d.arguments.emplace_back();
      if (v->type->is_float())
        d.arguments.back() =
            variable_location(Path::Base::global, variable(name + "'a" + std::to_string(i), v->type));
      ++i;
    }
  }
}

void Placer::push_and_pop(const Code &code) {
  const Recursion &r = *code.recursion;
  const Type *i64 = module_.types.scalar(Scalar::i64);
  std::string name = stack_name(*code.pair, r);
  Location top = variable_location(Path::Base::global, variable(name + "'top", i64));
  Region *front = module_.new_region();
  std::map<uint32_t, Value *> rest = crossing(code, *front);
  Region &forward = r.body(), &body = *code.region;
  Op *end = forward.ops.back();
  forward.ops.pop_back();
  Builder w(module_, &forward), f(module_, front);
  w.set_place(r.source->place);
  f.set_place(r.source->place);
  Value *at = emit_read(w, top, i64, "top");
  emit_write(w, top, w.make(OpCode::add, {at, w.constant(i64, 1)}));
  Value *back = f.make(OpCode::sub, {emit_read(f, top, i64, "top"), f.constant(i64, 1)});
  emit_write(f, top, back);
  int count = 0;
  std::unordered_map<Value *, Value *> made;
  for (const auto &[number, v] : rest) {
    const Type *type = module_.types.slice(v->type);
    Location stack =
        variable_location(Path::Base::global, variable(name + "'" + std::to_string(count++), type));
    make_room(w, stack, at, v->type);
    emit_write(w, element(emit_read(w, stack, type), at), v);
    made[v] = emit_read(f, element(emit_read(f, stack, type), back), v->type, v->name);
  }
  replace_all(body, made);
  forward.ops.push_back(end);
  body.ops.insert(body.ops.begin(), front->ops.begin(), front->ops.end());
}

/// A run of the window that nobody walked leaves its stacks full.
void Placer::reset_stacks(const Pair &pair) {
  if (pair.descents.empty()) return;
  Region *front = module_.new_region();
  Builder b(module_, front);
  b.set_place(pair.window->tape->place());
  const Type *i64 = module_.types.scalar(Scalar::i64);
  for (const auto &r : *pair.window->recursions)
    emit_write(b, variable_location(Path::Base::global, variable(stack_name(pair, *r) + "'top", i64)),
               b.constant(i64, 0));
  Region &body = pair.window->body();
  body.ops.insert(body.ops.begin(), front->ops.begin(), front->ops.end());
}

} // namespace mica::grad
