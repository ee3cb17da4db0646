// A tracked variable assigned between its window and a Backward elsewhere (language.md 8.5).
//
// The function that walks reads such variables again, so an assignment in between is an error. Each one
// writes its number to a word of the window's, the window clears it, and the Backward names the place where
// it is set.
#include "passes/place.h"
#include "spectra/ops.h"

#include <algorithm>

namespace mica::grad {
using namespace spectra;

/// Where the variable may be assigned outside the window: writes, and verbs that are given its address.
std::vector<Placer::Site> Placer::sites_of(const Pair &pair, std::string_view variable) {
  std::vector<Site> sites;
  auto is = [&](const Op &op) {
    return op.path && op.path->base == Path::Base::global && op.path->symbol == variable;
  };
  auto look = [&](auto &self, Region &r) -> void {
    for (Op *op : r.ops) {
      if (op == pair.window->tape) continue;
      for (Region *inner : op->regions) self(self, *inner);
      bool assigns = op->code == OpCode::write && is(*op);
      bool in_place =
          (info(op->code).effects & kWrites) != 0 && op->code != OpCode::call && op->regions.empty();
      for (size_t i = static_cast<size_t>(op->path_operands()); in_place && i < op->operands.size(); ++i) {
        const Op *def = op->operands[i]->def;
        assigns |= def && def->code == OpCode::address && is(*def);
      }
      if (assigns) sites.push_back({op, &r});
    }
  };
  for (Func *func : module_.funcs) {
    bool hidden = func == pair.backward;
    for (const auto &r : *pair.window->recursions) hidden |= r->forward == func;
    if (!hidden && func->body) look(look, *func->body);
  }
  return sites;
}

void Placer::watch_assignments() {
  const Type *i32 = module_.types.scalar(Scalar::i32);
  for (auto &pair : pairs_) {
    if (!pair->backward) continue;
    for (auto &[name, word] : pair->reread) {
      std::vector<Site> sites = sites_of(*pair, name);
      if (sites.empty()) continue;
      word = variable(pair->name + "'" + name + "'assigned", i32);
      Location at = variable_location(Path::Base::global, word);
      auto emit = [&](Region &into, size_t position, const List<Place> &places, int64_t value) {
        Region *made = module_.new_region();
        Builder b(module_, made);
        b.set_places(places);
        emit_write(b, at, b.constant(i32, value));
        into.ops.insert(into.ops.begin() + static_cast<long>(position), made->ops.begin(), made->ops.end());
      };
      int64_t line = 0;
      for (const Site &site : sites) {
        auto found = std::find(site.region->ops.begin(), site.region->ops.end(), site.op);
        line = site.op->place().line;
        emit(*site.region, static_cast<size_t>(found - site.region->ops.begin()) + 1, site.op->places,
             line ? line : -1);
      }
      emit(pair->window->body(), 0, pair->window->tape->places, 0);
    }
  }
}

void Placer::check_assigned(Builder &b, const Pair &pair) {
  const Type *i32 = module_.types.scalar(Scalar::i32);
  std::string loss = source_text(module_, pair.window->func, pair.loss);
  for (const auto &[name, word] : pair.reread) {
    if (word.empty()) continue;
    Value *site = emit_read(b, variable_location(Path::Base::global, word), i32, "site");
    std::set<int64_t> lines;
    for (const Site &s : sites_of(pair, name)) lines.insert(s.op->place().line ? s.op->place().line : -1);
    for (int64_t line : lines)
      fail_unless(b, b.make(OpCode::ne, {site, b.constant(i32, line)}),
                  name + " was assigned" + (line > 0 ? " in line " + std::to_string(line) : std::string()) +
                      " between the window of line " + std::to_string(pair.window->tape->place().line) +
                      " and Backward(" + loss + ")");
  }
}

} // namespace mica::grad
