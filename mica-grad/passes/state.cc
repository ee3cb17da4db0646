#include "passes/state.h"

namespace mica::grad {

void State::kill(const Location &location, const std::set<std::string_view> &exposed) {
  if (!location.is_variable()) kill_reachable(exposed);
  std::erase_if(known_, [&](const auto &entry) {
    const Location &known = entry.second.location;
    if (!known.is_variable() && location.is_variable() && location.base == Location::Base::local)
      return exposed.count(location.symbol) > 0;
    return overlap(known, location) != Overlap::none;
  });
}

void State::kill_reachable(const std::set<std::string_view> &exposed) {
  std::erase_if(known_, [&](const auto &entry) {
    const Location &known = entry.second.location;
    return known.base != Location::Base::local || exposed.count(known.symbol) > 0;
  });
}

void State::kill_variable(Location::Base base, std::string_view symbol) {
  std::erase_if(known_, [&](const auto &entry) {
    const Location &known = entry.second.location;
    return !known.is_variable() || (known.base == base && known.symbol == symbol);
  });
}

} // namespace mica::grad
