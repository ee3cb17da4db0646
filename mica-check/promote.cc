// promote: whole values of variables become values.
//
//   write @h, %a                        %b = relu %a
//   %h = read @h                  ->    write @h, %b        (gone too where nobody reads @h)
//   %b = relu %h
//   write @h, %b
//
// Reads are forwarded through straight lines and windows, through `if` (as results) and loops (as carried
// values). A local whose every use is a read or a write becomes values altogether; a unit variable does so
// within a loop whose calls don't touch it. The debug and checked tiers keep every write, for the debugger;
// the values computed are the same in all tiers. Paths with constant steps are places of their own; an index
// at run time conflicts with all below the same root.
#include "promote.h"
#include "promoter.h"

namespace mica::check {

void remove_dead_writes(spectra::Module &); // promote_dead.cc

namespace {

bool falls_through(const Region &region) {
  return !region.ops.empty() && region.ops.back()->code == OpCode::yield;
}

} // namespace

void Promoter::run() {
  classify();
  Known known;
  process(*func_.body, known);
  // Zeros that locals start with, where they are read before they are written.
  func_.body->ops.insert(func_.body->ops.begin(), entry_.begin(), entry_.end());
}

Value *Promoter::now(Value *v) {
  while (v->number < replaced_.size() && replaced_[v->number]) v = replaced_[v->number];
  return v;
}

void Promoter::replace(Value *old, Value *by) {
  if (replaced_.size() <= old->number) replaced_.resize(module_.value_count, nullptr);
  replaced_[old->number] = by;
}

Value *Promoter::zero(const Location &at, const spectra::Type *type) {
  Value *&value = zeros_[at];
  if (value) return value;
  Region scratch(module_.memory.get());
  Builder b(module_, &scratch);
  const spectra::Type *plain = module_.types.untracked(type);
  if (plain->is_whole()) {
    value = b.make_typed(OpCode::zeros, {}, plain);
  } else {
    const spectra::Type *host = module_.types.scalar(plain->scalar);
    value = plain->is_float() ? b.constant_float(host, 0) : b.constant(host, 0);
    if (plain->gpu) value = b.make(OpCode::to_gpu, {value});
  }
  entry_.insert(entry_.end(), scratch.ops.begin(), scratch.ops.end());
  return value;
}

Value *Promoter::held(const Location &at, const Known &known, const spectra::Type *type) {
  auto it = known.find(at);
  if (it != known.end()) return it->second;
  return values_.count(at) ? zero(at, type) : nullptr;
}

void Promoter::forget(const Effects &e, Known &known, bool plain_too) {
  if (e.list.empty() && !e.writes_through && !e.anything) return;
  for (auto it = known.begin(); it != known.end();) {
    bool lost = false;
    if (!values_.count(it->first)) {
      const bool far = (e.writes_through || e.anything) && effects_.escaped(func_, it->first);
      lost = (e.writes_through && far) || (e.anything && (far || it->first.root[0] == '@'));
      for (const Access &a : e.list)
        if (a.writes && (plain_too || !a.plain) && a.at.overlaps(it->first)) lost = true;
    }
    it = lost ? known.erase(it) : std::next(it);
  }
}

void Promoter::process(Region &region, Known &known) {
  spectra::List<Op *> out(module_.memory.get());
  for (Op *op : region.ops) {
    for (Value *&v : op->operands) v = now(v);
    switch (op->code) {
    case OpCode::read:
      if (read(*op, known)) continue;
      break;
    case OpCode::write:
      if (write(*op, known)) continue;
      break;
    case OpCode::tape: {
      // A tracked variable is read inside the window, where the tape meets it.
      for (auto it = known.begin(); it != known.end();) {
        const bool leaf = tracked_.count(it->first) && !values_.count(it->first) && !sunk_.count(it->first);
        it = leaf ? known.erase(it) : std::next(it);
      }
      process(*op->regions[0], known);
      break;
    }
    case OpCode::if_:
      if (!only_guards(*op)) {
        branch(*op, known);
        break;
      }
      [[fallthrough]];
    case OpCode::switch_: {
      Known before = known;
      for (Region *inner : op->regions) {
        Known own = before;
        process(*inner, own);
      }
      for (Region *inner : op->regions) forget(effects_.inside(func_, *inner), known, true);
      break;
    }
    case OpCode::for_:
    case OpCode::while_: loop(*op, known, out); continue;
    default: forget(effects_.of(func_, *op), known, true); break;
    }
    out.push_back(op);
  }
  region.ops.assign(out.begin(), out.end());
}

bool Promoter::read(Op &op, Known &known) {
  Location at = effects_.location(func_, op);
  if (!at.exact()) return false;
  const spectra::Type *type = effects_.type_of(func_, op);
  if (!type || !EffectTable::is_promoted_type(type)) return false;
  if (type->tracked) tracked_.insert(at);
  if (Value *value = held(at, known, type)) {
    replace(op.result(), value);
    return true;
  }
  known[at] = op.result();
  return false;
}

bool Promoter::write(Op &op, Known &known) {
  Effects e = effects_.of(func_, op);
  forget(e, known, true);
  Location at = effects_.location(func_, op);
  const spectra::Type *type = at.exact() ? effects_.type_of(func_, op) : nullptr;
  if (!type || !EffectTable::is_promoted_type(type)) return false;
  if (type->tracked) tracked_.insert(at);
  known[at] = op.operands.back();
  return (values_.count(at) || sunk_.count(at)) && !keep_writes_;
}

void Promoter::branch(Op &op, Known &known) {
  Region &first = *op.regions[0], &second = *op.regions[1];
  const Effects e = effects_.inside(func_, op); // before reads and writes go
  const std::map<Location, int> reads = reads_inside(op);
  Known before = known, ends[2] = {known, known};
  process(first, ends[0]);
  process(second, ends[1]);
  const bool falls[2] = {falls_through(first), falls_through(second)};
  if (!falls[0] && !falls[1]) return;
  // What either branch changed is known after it where both ends know it.
  std::set<Location> changed;
  for (const Known &end : ends)
    for (const auto &[at, value] : end) {
      auto it = before.find(at);
      if (it == before.end() || it->second != value) changed.insert(at);
    }
  known.clear();
  for (const auto &[at, value] : before) {
    bool same = true;
    for (int i = 0; i < 2; ++i)
      if (falls[i]) {
        auto it = ends[i].find(at);
        same = same && it != ends[i].end() && it->second == value;
      }
    if (same) known[at] = value;
  }
  for (const Location &at : changed) {
    if (known.count(at) || !(carrying_.count(at) || read_outside(reads, at))) continue;
    auto a = ends[0].find(at), b = ends[1].find(at);
    Value *some = a != ends[0].end() ? a->second : b->second;
    const spectra::Type *type = some->type;
    Value *left = falls[0] ? held(at, ends[0], type) : nullptr;
    Value *right = falls[1] ? held(at, ends[1], type) : nullptr;
    if ((falls[0] && !left) || (falls[1] && !right)) continue;
    // A value that was only read inside stays inside: it can be read again.
    if (!values_.count(at) && !sunk_.count(at) && !writes(e, at)) continue;
    if (left && left == right) {
      known[at] = left;
      continue;
    }
    if (falls[0]) first.ops.back()->operands.push_back(left);
    if (falls[1]) second.ops.back()->operands.push_back(right);
    known[at] = result(op, type, some->name);
  }
}

bool Promoter::writes(const Effects &e, const Location &at) {
  for (const Access &a : e.list)
    if (a.writes && a.at == at) return true;
  return false;
}

Value *Promoter::result(Op &op, const spectra::Type *type, std::string_view name) {
  Value *v = module_.new_value(type, name);
  v->def = &op;
  op.results.push_back(v);
  return v;
}

void Promoter::loop(Op &op, Known &known, spectra::List<Op *> &out) {
  const Effects e = effects_.inside(func_, op);
  std::set<Location> carried = carried_places(op, e), own;
  const std::map<Location, int> reads = reads_inside(op);
  for (const Access &a : e.list)
    if (a.writes && values_.count(a.at) &&
        (carrying_.count(a.at) || read_outside(reads, a.at) || exposed(op, a.at)))
      carried.insert(a.at);
  for (const Access &a : e.list)
    if (a.writes && sunk_.count(a.at)) carried.insert(a.at);

  // Where each starts.
  std::vector<Location> places(carried.begin(), carried.end());
  std::vector<Value *> starts;
  for (const Location &at : places) {
    const Op *like = representative_[at];
    const spectra::Type *type = effects_.type_of(func_, *like);
    Value *start = held(at, known, type);
    if (!start) {
      Op *read = module_.new_op(OpCode::read);
      read->places.assign(op.places.begin(), op.places.end());
      copy_path(*like, *read);
      start = result(*read, module_.types.untracked(type), like->path->symbol);
      out.push_back(read);
    }
    starts.push_back(start);
  }
  forget(e, known, true);
  Known inside = known;
  for (const Location &at : places) {
    known.erase(at);
    inside.erase(at);
    if (!values_.count(at) && sunk_.insert(at).second) own.insert(at);
  }
  auto enter = [&](Region &region, Known &start) {
    for (size_t i = 0; i < places.size(); ++i) {
      Value *argument = module_.new_value(starts[i]->type, starts[i]->name);
      argument->region = &region;
      region.args.push_back(argument);
      start[places[i]] = argument;
    }
  };
  auto leave = [&](Region &region, const Known &end) {
    for (const Location &at : places) region.ops.back()->operands.push_back(end.at(at));
  };
  for (Value *start : starts) op.operands.push_back(start);
  carrying_.insert(places.begin(), places.end());
  Known first = inside;
  enter(*op.regions[0], first);
  process(*op.regions[0], first);
  if (falls_through(*op.regions[0])) leave(*op.regions[0], first);
  if (op.code == OpCode::while_) {
    Known second = inside;
    enter(*op.regions[1], second);
    process(*op.regions[1], second);
    if (falls_through(*op.regions[1])) leave(*op.regions[1], second);
  }
  for (const Location &at : places) carrying_.erase(carrying_.find(at));
  out.push_back(&op);
  for (size_t i = 0; i < places.size(); ++i) {
    known[places[i]] = result(op, starts[i]->type, starts[i]->name);
    if (!own.count(places[i])) continue;
    sunk_.erase(places[i]);
    if (keep_writes_) continue;
    Op *store = module_.new_op(OpCode::write);
    store->places.assign(op.places.begin(), op.places.end());
    copy_path(*representative_[places[i]], *store);
    store->operands.push_back(known[places[i]]);
    out.push_back(store);
  }
}

void Promoter::copy_path(const Op &from, Op &to) {
  to.path = module_.new_path();
  const Op *source = &from;
  std::vector<const Op *> chain;
  while (source->path->base == spectra::Path::Base::pointer) {
    chain.push_back(source);
    source = source->operands[0]->def;
    while (source->code == OpCode::check_nil) source = source->operands[0]->def;
  }
  to.path->base = source->path->base;
  to.path->symbol = source->path->symbol;
  to.path->steps.assign(source->path->steps.begin(), source->path->steps.end());
  for (size_t i = chain.size(); i-- > 0;)
    to.path->steps.insert(to.path->steps.end(), chain[i]->path->steps.begin(), chain[i]->path->steps.end());
}

void promote(spectra::Module &module) {
  EffectTable effects(module);
  for (Func *f : module.funcs)
    if (!f->external) Promoter(module, effects, *f).run();
  if (module.options.optimizes()) remove_dead_writes(module);
}

} // namespace mica::check
