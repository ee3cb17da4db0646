// The names that the language provides: predeclared verbs, and what std and libm export.
#pragma once
#include "spectra/module.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mica::check {

enum class Library : uint8_t { predeclared, std, libm };

/// One enumerator a verb; libm's float32 forms share it with the float64 form.
enum class Verb : uint16_t {
#define MICA_VERB(id, name, library) id,
#include "names.inc"
#undef MICA_VERB
};

struct Builtin {
  Verb verb{};
  Library library = Library::predeclared;
  spectra::Scalar real = spectra::Scalar::f64; ///< libm: the function's float type
};

struct BuiltinName {
  const char *name;
  Builtin builtin;
};

/// All of them: verbs, std, libm (each with its float32 form).
const std::vector<BuiltinName> &builtin_names();
/// "std", "libm"; "" for predeclared.
const char *library_name(Library);
const char *verb_name(Verb);
/// Whether the verb is a whole-value verb or one of the tape's: check_verb_call (whole.h) handles it.
bool is_whole_verb(Verb);

} // namespace mica::check
