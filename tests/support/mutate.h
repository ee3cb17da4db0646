// Texts with something changed, and running on them what must never crash or hang.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace mica::fuzz {

/// The `number`th change of a text: the same every time. A character changed, missing or doubled; a word of
/// the text in another's place; a number at the edge of its type; a line missing, doubled or exchanged; a
/// cut.
std::string mutated(const std::string &text, uint32_t number);

/// What the trial of one change gives: empty where the laws hold, else what broke them.
using Trial = std::function<std::string(uint32_t number)>;

/// Tries `from` to `to` (excluded), in processes of their own, since what is looked for is a crash. The
/// result is empty, or what the first few changes that broke something did: `crash of 17: signal 11`.
std::string tried(uint32_t from, uint32_t to, const Trial &trial, unsigned seconds_each = 20);

} // namespace mica::fuzz
