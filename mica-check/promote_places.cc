// promote: which places become values. Locals altogether, unit variables within a loop; and what they must
// not cross.
#include "promoter.h"

namespace mica::check {

bool only_guards(const Op &op) {
  return op.code == OpCode::switch_ || (op.code == OpCode::if_ && op.operands[0]->type->gpu);
}
bool is_loop(const Op &op) { return op.code == OpCode::for_ || op.code == OpCode::while_; }
bool has_jumps(const Op &loop) {
  struct Search {
    bool in(const Region &region, bool own) {
      for (const Op *op : region.ops) {
        if (op->code == OpCode::return_) return true;
        if (own && (op->code == OpCode::break_ || op->code == OpCode::continue_)) return true;
        for (const Region *inner : op->regions)
          if (in(*inner, own && !is_loop(*op))) return true;
      }
      return false;
    }
  } search;
  for (const Region *region : loop.regions)
    if (search.in(*region, true)) return true;
  return false;
}

bool Promoter::left_by_jumps(const Op &loop) {
  auto [known, fresh] = jumps_.try_emplace(&loop, false);
  if (fresh) known->second = has_jumps(loop);
  return known->second;
}

void Promoter::classify() {
  std::map<Location, bool> candidates;
  std::vector<Access> all;
  std::vector<const Op *> chain;
  scan(*func_.body, chain, candidates, all);
  for (auto &[at, good] : candidates) {
    if (!good || effects_.escaped(func_, at) || enters_window(*func_.body, at)) continue;
    bool alone = true;
    for (const Access &a : all)
      if (a.at.overlaps(at) && !(a.plain && a.at == at)) alone = false;
    if (alone) values_.insert(at);
  }
}

void Promoter::scan(const Region &region, std::vector<const Op *> &chain,
                    std::map<Location, bool> &candidates, std::vector<Access> &all) {
  for (const Op *op : region.ops) {
    Effects e = effects_.of(func_, *op);
    if (op->code == OpCode::read && !e.list.empty()) ++reads_[e.list[0].at];
    for (const Access &a : e.list) {
      if (a.plain && a.at.exact()) representative_.try_emplace(a.at, op);
      if (a.at.root[0] != '$') continue;
      if (!a.plain || all_seen_.insert(a.at).second) all.push_back(a);
      if (!a.plain || !a.at.exact()) continue;
      const spectra::Type *type = effects_.type_of(func_, *op);
      if (!type || !EffectTable::is_promoted_type(type) || a.at.root == "$'frame") continue;
      if (type->tracked) tracked_.insert(a.at);
      bool &good = candidates.try_emplace(a.at, true).first->second;
      if (!a.writes) continue;
      for (const Op *outer : chain)
        if (only_guards(*outer) || (is_loop(*outer) && left_by_jumps(*outer))) good = false;
    }
    // The gradient's or the walk's place must stay a place.
    if (op->path && op->code != OpCode::read && op->code != OpCode::write) {
      Location at = effects_.location(func_, *op);
      if (at.known() && at.root[0] == '$') all.push_back({at, true, false});
    }
    chain.push_back(op);
    for (const Region *inner : op->regions) scan(*inner, chain, candidates, all);
    chain.pop_back();
  }
}

bool Promoter::enters_window(const Region &region, const Location &at) {
  if (!tracked_.count(at)) return false;
  for (const Op *op : region.ops) {
    if (op->code == OpCode::tape && reads_inside(*op).count(at) && exposed(*op, at)) return true;
    for (const Region *inner : op->regions)
      if (enters_window(*inner, at)) return true;
  }
  return false;
}

std::map<Location, int> Promoter::reads_inside(const Op &op) {
  std::map<Location, int> counts;
  for (Region *region : op.regions)
    spectra::walk(*region, [&](Op *inner) {
      if (inner->code != OpCode::read) return;
      Location at = effects_.location(func_, *inner);
      if (at.known()) ++counts[at];
    });
  return counts;
}

bool Promoter::read_outside(const std::map<Location, int> &inside, const Location &at) {
  std::map<Location, int>::const_iterator all = reads_.find(at), in = inside.find(at);
  return all != reads_.end() && all->second > (in == inside.end() ? 0 : in->second);
}

std::set<Location> Promoter::carried_places(const Op &op, const Effects &e) {
  std::set<Location> places;
  if (e.anything || has_jumps(op)) return places;
  std::map<Location, std::pair<bool, bool>> seen; // read, written
  for (const Access &a : e.list) {
    std::pair<bool, bool> &s = seen[a.at];
    (a.writes ? s.second : s.first) = true;
  }
  for (auto &[at, s] : seen) {
    if (!s.first || !s.second || !at.exact() || values_.count(at) || sunk_.count(at)) continue;
    if ((e.reads_through || e.writes_through) && effects_.escaped(func_, at)) continue;
    bool alone = true;
    for (const Access &a : e.list)
      if (a.at.overlaps(at) && !(a.plain && a.at == at)) alone = false;
    if (!alone || !exposed(op, at)) continue;
    if (auto one = representative_.find(at); one != representative_.end()) {
      const spectra::Type *type = effects_.type_of(func_, *one->second);
      if (!type || !EffectTable::is_promoted_type(type)) continue;
      if (type->tracked && type->is_scalar()) continue; // a window's loss is where Backward starts
      if (type->tracked) tracked_.insert(at);
      if (crosses(op, at)) continue;
      bool enters = false;
      for (const Region *region : op.regions) enters = enters || enters_window(*region, at);
      if (enters) continue;
      places.insert(at);
    }
  }
  return places;
}

bool Promoter::crosses(const Op &op, const Location &at) {
  bool found = false;
  for (Region *region : op.regions)
    spectra::walk(*region, [&](Op *inner) {
      if (only_guards(*inner) && written(*inner, at)) found = true;
      if (is_loop(*inner) && has_jumps(*inner) && written(*inner, at)) found = true;
    });
  return found;
}

bool Promoter::exposed(const Op &op, const Location &at) {
  auto [found, fresh] = exposures_.try_emplace(&op);
  if (fresh) {
    std::map<Location, bool> answer;
    for (const Region *region : op.regions) {
      std::map<Location, bool> first; // of this region: whether it may read first
      for (const Op *inner : region->ops)
        for (const Access &a : effects_.inside(func_, *inner).list)
          if (!first.count(a.at))
            first[a.at] = inner->code == OpCode::tape ? exposed(*inner, a.at) : inner->code != OpCode::write;
      for (const auto &[place, reads] : first) answer[place] = answer[place] || reads;
    }
    found = exposures_.find(&op); // the map may have grown
    found->second = std::move(answer);
  }
  auto place = found->second.find(at);
  return place != found->second.end() && place->second;
}

} // namespace mica::check
