// Forward values that the way back reads from inside a branch or a loop.
//
// A branch gives them as further results (zeros on the other side). A loop writes them, turn by turn, to a
// slice that is as long as its trip count, and the backward loop reads the slice by its own counter and gives
// it back at its end. Constants are made anew. Inner branches and loops come first: what they keep is a value
// of the next region outward, and kept there in turn.
#include "passes/save.h"

#include <algorithm>
#include <functional>

namespace mica::grad {
namespace {
using namespace spectra;

class Keeper {
public:
  Keeper(Module &module, Func &func, const std::vector<Region *> &roots, Diag &diag,
         std::vector<std::string_view> &made)
      : module_(module), func_(func), diag_(diag), made_(made) {
    for (Region *r : roots) place(*r);
  }

  bool keep(const Mirror &m) {
    if (!region_of_.count(m.backward)) return true; // removed as dead
    for (size_t i = 0; i < m.forward->regions.size(); ++i) {
      std::map<uint32_t, Value *> wanted;
      std::unordered_set<const Value *> inside;
      Region &forward = *m.forward->regions[i], &backward = *m.regions[i];
      inside.insert(forward.args.begin(), forward.args.end());
      for (const Op *op : forward.ops) inside.insert(op->results.begin(), op->results.end());
      each_op(backward, [&](Op &op) {
        for (Value *v : op.operands)
          if (inside.count(v)) wanted[v->number] = v;
      });
      Region *front = module_.new_region();
      Builder b(module_, front);
      for (const auto &[number, v] : wanted) {
        Value *kept = nullptr;
        b.set_places(v->def ? v->def->places : m.forward->places);
        if (v->def && v->def->code == OpCode::const_)
          kept = again(b, *v->def);
        else if (m.forward->code == OpCode::if_)
          kept = from_branch(m, i, v, b);
        else
          kept = m.forward->code == OpCode::for_ ? from_loop(m, v, b) : from_while(m, i, v, b);
        if (!kept) return false;
        each_op(backward, [&](Op &op) { std::replace(op.operands.begin(), op.operands.end(), v, kept); });
      }
      backward.ops.insert(backward.ops.begin(), front->ops.begin(), front->ops.end());
    }
    return true;
  }

private:
  void place(Region &r) {
    for (Op *op : r.ops) {
      region_of_[op] = &r;
      for (Region *inner : op->regions) place(*inner);
    }
  }
  Value *again(Builder &b, const Op &constant) {
    std::vector<Value *> map;
    Op *copy = clone(module_, constant, map);
    b.region()->ops.push_back(copy);
    return copy->result();
  }

  Value *from_branch(const Mirror &m, size_t side, Value *v, Builder &b) {
    Region &other = *m.forward->regions[1 - side];
    Op *end = other.ops.back();
    other.ops.pop_back();
    Builder o(module_, &other);
    o.set_places(m.forward->places);
    Value *zero = zero_value(o, v->type);
    other.ops.push_back(end);
    if (!zero) return by_variable(*m.forward->regions[side], v, b);
    end->operands.push_back(zero);
    m.forward->regions[side]->ops.back()->operands.push_back(v);
    Value *kept = module_.new_value(v->type, v->name);
    kept->def = m.forward;
    m.forward->results.push_back(kept);
    return kept;
  }
  /// A type that has no constant goes through a local of its own.
  Value *by_variable(Region &forward, Value *v, Builder &b) {
    std::string name = "kept'";
    name += std::to_string(made_.size());
    Variable local;
    local.name = module_.keep(name);
    local.type = v->type;
    func_.locals.push_back(local);
    made_.push_back(local.name);
    Location at = variable_location(Path::Base::local, local.name);
    Op *end = forward.ops.back();
    forward.ops.pop_back();
    Builder f(module_, &forward);
    emit_write(f, at, v);
    forward.ops.push_back(end);
    return emit_read(b, at, v->type, v->name);
  }

  bool has_room(const Mirror &m, const Value *v) {
    if (!v->type->gpu) return true;
    diag_.error(m.forward->place(), "this window's loop has a run-time trip count; not yet in this version",
                "use constant bounds, so that the loop over values on the card is unrolled");
    return false;
  }
  static Location cell_of(Value *slice, Value *index) {
    Location cell;
    cell.base = Path::Base::pointer;
    cell.pointer = slice;
    cell.steps.push_back({Location::Kind::dynamic, 0, index});
    return cell;
  }
  /// Operations made by `make` in front of `before` in its region, or behind it.
  void insert(Region &into, const Op *at, bool behind, const Mirror &m,
              const std::function<void(Builder &)> &make) {
    Region *made = module_.new_region();
    Builder b(module_, made);
    b.set_places(m.forward->places);
    make(b);
    auto position = std::find(into.ops.begin(), into.ops.end(), at) + (behind ? 1 : 0);
    into.ops.insert(position, made->ops.begin(), made->ops.end());
    place(into);
  }

  Value *from_loop(const Mirror &m, Value *v, Builder &b) {
    if (!has_room(m, v)) return nullptr;
    Region &body = *m.forward->regions[0];
    Value *slice = nullptr;
    insert(*region_of_.at(m.forward), m.forward, false, m, [&](Builder &f) { // room for every turn
      slice = f.make_typed(OpCode::new_slice, {m.turns}, module_.types.slice(v->type), "kept");
    });
    Value *&turn = turn_of_[m.forward];
    if (!turn) turn = turn_number(m, body);
    insert(body, body.ops.back(), false, m, [&](Builder &f) { emit_write(f, cell_of(slice, turn), v); });
    give_back(m, slice);
    return emit_read(b, cell_of(slice, m.backward->regions[0]->args[0]), v->type, v->name);
  }
  /// After the way back nobody needs it.
  void give_back(const Mirror &m, Value *slice) {
    insert(*region_of_.at(m.backward), m.backward, true, m,
           [&](Builder &f) { f.append(OpCode::dispose)->operands.push_back(slice); });
  }

  /// A `while` doesn't know its trip count: the slice is in a local and grows.
  Value *from_while(const Mirror &m, size_t side, Value *v, Builder &b) {
    if (!has_room(m, v)) return nullptr;
    const Type *i64 = module_.types.scalar(Scalar::i64), *type = module_.types.slice(v->type);
    Variable local;
    local.name = module_.keep("kept'" + std::to_string(module_.value_count));
    local.type = type;
    func_.locals.push_back(local);
    Location at = variable_location(Path::Base::local, local.name);
    Region &around = *region_of_.at(m.forward), &body = *m.forward->regions[side];
    insert(around, m.forward, false, m,
           [&](Builder &f) { emit_write(f, at, f.make_typed(OpCode::nil, {}, type)); });
    Value *slice = nullptr;
    insert(around, m.forward, true, m, [&](Builder &f) { slice = emit_read(f, at, type, "kept"); });
    // The turn's number: the second region reads it anew.
    Value *turn = m.counter;
    const Op *end = body.ops.back();
    if (side == 1)
      insert(body, body.ops.front(), false, m,
             [&](Builder &f) { turn = emit_read(f, location_of(*m.counter->def), i64, "turn"); });
    insert(body, end, false, m, [&](Builder &f) {
      Value *old = emit_read(f, at, type), *length = f.make(OpCode::slice_length, {old});
      Value *full = f.make(OpCode::ge, {turn, length});
      Op *grow = f.append(OpCode::if_);
      grow->operands.push_back(full);
      Region *here = f.region();
      f.set_region(module_.new_region(grow));
      Value *one = f.constant(i64, 1), *zero = f.constant(i64, 0);
      Value *larger = f.make(OpCode::add, {f.make(OpCode::add, {length, length}), f.constant(i64, 8)});
      Value *fresh = f.make_typed(OpCode::new_slice, {larger}, type);
      Value *highest = f.make(OpCode::sub, {length, one});
      Op *copy = f.append(OpCode::for_);
      copy->operands.push_back(zero);
      copy->operands.push_back(highest);
      copy->set(Attr::by, int64_t{1});
      Region *branch = f.region(), *inner = module_.new_region(copy);
      Value *i = module_.new_value(i64, "i");
      i->region = inner;
      inner->args.push_back(i);
      f.set_region(inner);
      emit_write(f, cell_of(fresh, i), emit_read(f, cell_of(old, i), v->type));
      f.append(OpCode::yield);
      f.set_region(branch);
      f.append(OpCode::dispose)->operands.push_back(old);
      emit_write(f, at, fresh);
      f.append(OpCode::yield);
      f.set_region(module_.new_region(grow));
      f.append(OpCode::yield);
      f.set_region(here);
      emit_write(f, cell_of(emit_read(f, at, type), turn), v);
    });
    give_back(m, slice);
    return emit_read(b, cell_of(slice, m.backward->regions[0]->args[0]), v->type, v->name);
  }
  /// The turn's number from 0, computed at the start of the forward body.
  Value *turn_number(const Mirror &m, Region &body) {
    const Type *i64 = module_.types.scalar(Scalar::i64);
    Region *front = module_.new_region();
    Builder f(module_, front);
    f.set_places(m.forward->places);
    auto wide = [&](Value *v) { return v->type == i64 ? v : f.make_typed(OpCode::cast, {v}, i64); };
    Value *here = wide(body.args[0]), *start = wide(m.forward->operands[0]);
    Value *turn =
        m.forward->flag(Attr::down) ? f.make(OpCode::sub, {start, here}) : f.make(OpCode::sub, {here, start});
    int64_t by = m.forward->integer(Attr::by);
    if (by != 1) turn = f.make(OpCode::div, {turn, f.constant(i64, by)});
    body.ops.insert(body.ops.begin(), front->ops.begin(), front->ops.end());
    return turn;
  }

  Module &module_;
  Func &func_;
  Diag &diag_;
  std::vector<std::string_view> &made_;
  std::map<const Op *, Region *> region_of_;
  std::map<const Op *, Value *> turn_of_;
};

} // namespace

bool keep_values(Module &module, Func &func, const std::vector<Region *> &roots,
                 const std::vector<Mirror> &mirrors, Diag &diag, std::vector<std::string_view> &made) {
  Keeper keeper(module, func, roots, diag, made);
  for (size_t i = mirrors.size(); i-- > 0;)
    if (!keeper.keep(mirrors[i])) return false;
  return true;
}

} // namespace mica::grad
