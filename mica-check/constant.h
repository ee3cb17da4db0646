// Values known while compiling, with the bits that the program would compute.
#pragma once
#include "types.h"
#include <cstdint>
#include <string>

namespace mica::check {

/// One constant. Integers, bool, unicode, enumerations: `integer`; floats: `real` (already rounded to the
/// type); strings: `text` (UTF-8).
struct Constant {
  const Type *type = nullptr; ///< null: no constant
  /// A literal, or computed from such alone: it has no type of its own yet and adapts to the type beside it.
  /// Integers are then exact, floats are float64. `type` is what it has where nothing is beside it.
  bool adapts = false;
  __int128 integer = 0;
  double real = 0;
  std::string text;
  explicit operator bool() const { return type != nullptr; }
};

/// The type of an integer literal: int32 where it fits, else int64, uint64, int128.
const Type *type_of_integer(Types &types, __int128 value);
/// `value` as a float of the given width: one rounding, to nearest even.
double round_to(spectra::Scalar type, double value);
/// An integer as a float of the given width: one rounding, to nearest even.
double integer_to_float(spectra::Scalar type, __int128 value);
/// The bits that a conversion to an integer type of that width keeps.
__int128 wrap_to(spectra::Scalar type, __int128 value);
/// `as` from a float: truncates, saturates; NaN gives 0.
__int128 saturate_to(spectra::Scalar type, double value);
/// As messages show it: "300", "1.5", "'a'", "red".
std::string text_of(const Constant &constant);
std::string text_of(__int128 value);
/// One code point as UTF-8.
void append_utf8(std::string &text, uint32_t code);

} // namespace mica::check
