// What a window's memory is known to hold while it is walked in program order.
#pragma once
#include "location.h"

#include <map>
#include <set>
#include <string>

namespace mica::grad {

class State {
public:
  struct Known {
    Location location;
    spectra::Value *value;
  };

  spectra::Value *find(const Location &location) const {
    auto it = known_.find(location.key());
    return it == known_.end() ? nullptr : it->second.value;
  }
  void set(const Location &location, spectra::Value *value) { known_[location.key()] = {location, value}; }
  /// Forgets what a write to `location` may have changed. `exposed`: locals that a pointer may reach.
  void kill(const Location &location, const std::set<std::string_view> &exposed);
  /// Forgets what a write through an unknown pointer, or by a procedure, may have changed.
  void kill_reachable(const std::set<std::string_view> &exposed);
  void kill_variable(Location::Base base, std::string_view symbol);

  const std::map<std::string, Known> &known() const { return known_; }
  std::map<std::string, Known> &known() { return known_; }

private:
  std::map<std::string, Known> known_;
};

} // namespace mica::grad
