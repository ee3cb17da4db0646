// The plan of one function: its regions' nodes in order, when each runs, how long each whole value lives.
#pragma once
#include "group.h"
#include <unordered_map>

namespace mica::fuse {

struct Plan {
  std::map<const Region *, std::vector<Node>> regions;

  /// One act that changes memory: when, and what ("" where anything may change).
  struct Event {
    int time;
    std::string location;
    bool reads_too; ///< a call: also sees memory as it is then
  };
  std::vector<Event> events;
  std::unordered_map<const Value *, int> born, last_use;  ///< by root value, in times
  std::unordered_map<const Value *, const Value *> alias; ///< reshape and its like: the same memory

  const Value *root(const Value *v) const {
    auto it = alias.find(v);
    return it == alias.end() ? v : root(it->second);
  }
  /// Whether anything may change `location` in (from, to].
  bool changes(const std::string &location, int from, int to) const;
  std::vector<int> calls;  ///< times at which other functions run
  std::vector<int> leaves; ///< times at which a region may be left early
  int end = 0;             ///< the last time
};

/// A variable and the constant steps of a path: "@model.layers[2].W"; "" where the base is unknown.
std::string location_of(const spectra::Module &module, const Op &op);
std::string location_of_pointer(const spectra::Module &module, const Value *pointer);
/// Whether two locations may share memory: one is a prefix of the other, or one is unknown.
bool overlap(const std::string &a, const std::string &b);

Plan make_plan(spectra::Module &module, const spectra::Func &func, const WriteSummary &writes,
               const Options &options);

/// Packs intervals of bytes by time: each gets the lowest offset that is free while it lives. Gives the
/// total.
struct Interval {
  int from, to;
  int64_t bytes;
  int64_t offset = 0;
};
int64_t pack(std::vector<Interval> &intervals);

} // namespace mica::fuse
