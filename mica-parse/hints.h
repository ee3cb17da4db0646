// What a message adds for habits of other languages.
#pragma once
#include <string_view>

namespace mica::parse {

/// Two operators without a blank between them that other languages write as one; null where the pair is none.
struct ForeignOperator {
  std::string_view first, second;
  const char *message;
  const char *hint;
};
const ForeignOperator *find_foreign_operator(std::string_view first, std::string_view second);

/// The way out where `name` stands in a place for Mica's own words: capitals, `elsif`, `return`; empty: none
/// is known.
std::string_view word_hint(std::string_view name);

} // namespace mica::parse
