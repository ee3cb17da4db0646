// Exits become flags: what follows a possible exit is guarded by it. The reversal then meets plain regions
// alone.
//
//   if %c { break } else { yield }         if %c { write $broken, true; yield } else { yield }
//   write @x, %v                    ->      %b = read $broken; %go = not %b
//   yield                                   if %go { write @x, %v; yield } else { yield }; yield
#include "passes/exits.h"
#include "location.h"
#include "spectra/ops.h"

namespace mica::grad {
namespace {
using namespace spectra;

struct Lowering {
  Module &module;
  const Type *result;
  std::vector<Variable> &locals;
  std::string_view answer, returned;  ///< locals; empty until needed
  std::string_view broken, continued; ///< of the innermost loop
  int count = 0;

  const Type *boolean() { return module.types.scalar(Scalar::boolean); }
  std::string_view new_local(const char *name, const Type *type) {
    std::string_view fresh =
        module.keep("'" + std::string(name) + (count ? "'" + std::to_string(count) : ""));
    ++count;
    Variable v;
    v.name = fresh;
    v.type = type;
    locals.push_back(v);
    return fresh;
  }
  void set_flag(Builder &b, std::string_view flag, bool value) {
    emit_write(b, variable_location(Path::Base::local, flag), b.constant(boolean(), value));
  }
  /// Whether none of the flags is set.
  Value *clear(Builder &b, const std::vector<std::string_view> &flags) {
    Value *all = nullptr;
    for (std::string_view flag : flags) {
      Value *clear =
          b.make(OpCode::not_, {emit_read(b, variable_location(Path::Base::local, flag), boolean())});
      all = all ? b.make(OpCode::and_, {all, clear}) : clear;
    }
    return all;
  }
};

/// Which exits a region may take: of the function, of the innermost loop, of its turn.
struct Exits {
  bool returns = false, breaks = false, continues = false;
  bool any() const { return returns || breaks || continues; }
  void add(const Exits &other) {
    returns |= other.returns;
    breaks |= other.breaks;
    continues |= other.continues;
  }
};

Exits exits_of(const Region &region) {
  Exits exits;
  for (const Op *op : region.ops) {
    if (op->code == OpCode::return_) exits.returns = true;
    if (op->code == OpCode::break_) exits.breaks = true;
    if (op->code == OpCode::continue_) exits.continues = true;
    bool loop = op->code == OpCode::for_ || op->code == OpCode::while_;
    for (const Region *inner : op->regions) {
      Exits in = exits_of(*inner);
      if (loop) in.breaks = in.continues = false;
      exits.add(in);
    }
  }
  return exits;
}

Exits lower_region(Lowering &l, Region &region, const std::vector<const Type *> &yields);

std::vector<std::string_view> flags_of(const Lowering &l, const Exits &exits) {
  std::vector<std::string_view> flags;
  if (exits.returns) flags.push_back(l.returned);
  if (exits.breaks) flags.push_back(l.broken);
  if (exits.continues) flags.push_back(l.continued);
  return flags;
}

/// Ends `region` with a yield of zeros: its values are not looked at where an exit was taken.
void yield_zeros(Lowering &l, Region &region, const std::vector<const Type *> &types) {
  Builder b(l.module, &region);
  std::vector<Value *> values;
  for (const Type *t : types) values.push_back(zero_value(b, t));
  b.append(OpCode::yield)->operands.assign(values.begin(), values.end());
}

void lower_loop(Lowering &l, Op &op, Builder &b, Exits &outer) {
  Exits exits;
  for (const Region *r : op.regions) exits.add(exits_of(*r));
  if (!exits.any()) {
    for (Region *r : op.regions) lower_region(l, *r, {});
    b.region()->ops.push_back(&op);
    return;
  }
  std::string_view broken = l.broken, continued = l.continued;
  if (exits.breaks) l.broken = l.new_local("broken", l.boolean());
  if (exits.continues) l.continued = l.new_local("continued", l.boolean());
  if (exits.breaks) l.set_flag(b, l.broken, false);
  Exits leaving = exits;
  leaving.continues = false;
  for (size_t i = 0; i < op.regions.size(); ++i) {
    Region &body = *op.regions[i];
    bool condition = op.code == OpCode::while_ && i == 0;
    lower_region(l, body, condition ? std::vector<const Type *>{l.boolean()} : std::vector<const Type *>{});
    Op *end = body.ops.back();
    body.ops.pop_back();
    // The turn runs only while no exit was taken; a loop that is left carries nothing, so only a condition
    // leaves it.
    List<Op *> turn(std::move(body.ops));
    body.ops = List<Op *>(l.module.memory.get());
    Builder inner(l.module, &body);
    inner.set_places(op.places);
    std::vector<std::string_view> flags = flags_of(l, leaving);
    Value *kept = nullptr;
    Op *guard = nullptr;
    if (!flags.empty()) {
      Value *go = l.clear(inner, flags);
      guard = inner.append(OpCode::if_);
      guard->operands.push_back(go);
      Region *taken = l.module.new_region(guard);
      Region *skipped = l.module.new_region(guard);
      inner.set_region(taken);
      if (condition) {
        kept = inner.add_result(guard, l.boolean());
        yield_zeros(l, *skipped, {l.boolean()});
      } else {
        yield_zeros(l, *skipped, {});
      }
    }
    if (exits.continues && (i == 0 || op.code == OpCode::for_)) l.set_flag(inner, l.continued, false);
    inner.region()->ops.insert(inner.region()->ops.end(), turn.begin(), turn.end());
    if (guard) {
      std::vector<Value *> yielded;
      if (condition) {
        // `continue` in the first region begins the next turn; an exit in it ends the loop.
        Value *again = end->operands[0];
        if (exits.continues)
          again = inner.make(
              OpCode::or_,
              {again, emit_read(inner, variable_location(Path::Base::local, l.continued), l.boolean())});
        yielded.push_back(inner.make(OpCode::and_, {again, l.clear(inner, flags)}));
      }
      inner.append(OpCode::yield)->operands.assign(yielded.begin(), yielded.end());
      inner.set_region(&body);
      Op *last = inner.append(OpCode::yield);
      if (condition) last->operands.push_back(kept);
    } else {
      if (condition && exits.continues)
        end->operands[0] = inner.make(
            OpCode::or_, {end->operands[0],
                          emit_read(inner, variable_location(Path::Base::local, l.continued), l.boolean())});
      body.ops.push_back(end);
    }
  }
  b.region()->ops.push_back(&op);
  l.broken = broken;
  l.continued = continued;
  outer.returns |= exits.returns;
}

/// Lowers the region's exits; its last operation is a yield of `yields` afterwards. Says which exits it may
/// take.
Exits lower_region(Lowering &l, Region &region, const std::vector<const Type *> &yields) {
  Exits taken;
  List<Op *> old(std::move(region.ops));
  region.ops = List<Op *>(l.module.memory.get());
  Builder b(l.module, &region);
  for (size_t i = 0; i < old.size(); ++i) {
    Op &op = *old[i];
    b.set_places(op.places);
    switch (op.code) {
    case OpCode::return_:
      if (l.result) emit_write(b, variable_location(Path::Base::local, l.answer), op.operands[0]);
      l.set_flag(b, l.returned, true);
      taken.returns = true;
      yield_zeros(l, region, yields);
      return taken;
    case OpCode::break_:
      l.set_flag(b, l.broken, true);
      taken.breaks = true;
      yield_zeros(l, region, yields);
      return taken;
    case OpCode::continue_:
      l.set_flag(b, l.continued, true);
      taken.continues = true;
      yield_zeros(l, region, yields);
      return taken;
    case OpCode::if_:
    case OpCode::switch_: {
      std::vector<const Type *> types;
      for (Value *v : op.results) types.push_back(v->type);
      Exits inner;
      for (Region *r : op.regions) inner.add(lower_region(l, *r, types));
      region.ops.push_back(&op);
      if (!inner.any()) continue;
      taken.add(inner);
      if (i + 1 == old.size()) return taken;
      // What follows runs only where no exit was taken.
      Value *go = l.clear(b, flags_of(l, inner));
      Op *guard = b.append(OpCode::if_);
      guard->operands.push_back(go);
      Region *rest = l.module.new_region(guard);
      Region *skipped = l.module.new_region(guard);
      rest->ops.assign(old.begin() + static_cast<long>(i) + 1, old.end());
      taken.add(lower_region(l, *rest, yields));
      yield_zeros(l, *skipped, yields);
      Op *end = b.append(OpCode::yield);
      region.ops.pop_back();
      for (const Type *t : yields) end->operands.push_back(b.add_result(guard, t));
      region.ops.push_back(end);
      return taken;
    }
    case OpCode::for_:
    case OpCode::while_: {
      Exits inner;
      lower_loop(l, op, b, inner);
      if (!inner.returns) continue;
      taken.returns = true;
      Value *go = l.clear(b, {l.returned});
      Op *guard = b.append(OpCode::if_);
      guard->operands.push_back(go);
      Region *rest = l.module.new_region(guard);
      Region *skipped = l.module.new_region(guard);
      rest->ops.assign(old.begin() + static_cast<long>(i) + 1, old.end());
      taken.add(lower_region(l, *rest, yields));
      yield_zeros(l, *skipped, yields);
      std::vector<Value *> values;
      for (const Type *t : yields) values.push_back(b.add_result(guard, t));
      b.append(OpCode::yield)->operands.assign(values.begin(), values.end());
      return taken;
    }
    default: region.ops.push_back(&op); continue;
    }
  }
  if (region.ops.empty() || region.ops.back()->code != OpCode::yield) yield_zeros(l, region, yields);
  return taken;
}

} // namespace

bool leaves_region(const Region &region) { return exits_of(region).any(); }

void lower_exits(Module &module, Region &body, const Type *result, std::vector<Variable> &locals,
                 std::string_view &answer) {
  Lowering l{module, result, locals, {}, {}, {}, {}};
  bool nested = false;
  for (const Op *op : body.ops)
    for (const Region *r : op->regions) nested |= exits_of(*r).returns;
  if (nested) {
    l.returned = l.new_local("returned", l.boolean());
    if (result) answer = l.answer = l.new_local("answer", result);
    lower_region(l, body, {});
    return;
  }
  // The one return at the end stays for the caller to read.
  Op *end = nullptr;
  if (!body.ops.empty() && body.ops.back()->code == OpCode::return_) {
    end = body.ops.back();
    body.ops.pop_back();
  }
  lower_region(l, body, {});
  if (end) {
    body.ops.pop_back();
    body.ops.push_back(end);
  }
}

} // namespace mica::grad
