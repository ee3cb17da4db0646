// What names need of Unicode: UTF-8, identifier characters (UAX #31), normalization form C (UAX #15).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace spectra {

/// Decodes the code point at `at` and moves past it. 0xFFFFFFFF where the bytes are no well-formed UTF-8
/// (overlong forms, surrogates and values past 10FFFF included); `at` is then unchanged.
inline constexpr uint32_t kBadUtf8 = 0xFFFFFFFF;
uint32_t decode_utf8(std::string_view text, size_t &at);
void append_utf8(std::string &text, uint32_t code);

bool is_name_start(uint32_t code);    ///< XID_Start
bool is_name_continue(uint32_t code); ///< XID_Continue

/// The text in normalization form C. Text that is not well-formed UTF-8 comes back unchanged.
std::string to_nfc(std::string_view text);

} // namespace spectra
