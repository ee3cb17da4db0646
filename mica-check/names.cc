// The table of provided names.
#include "names.h"

namespace mica::check {

const std::vector<BuiltinName> &builtin_names() {
  static const std::vector<BuiltinName> names = [] {
    static std::vector<std::string> single; // libm's names with `f`
    std::vector<BuiltinName> all;
    single.reserve(64);
#define MICA_VERB(id, text, library)                                                                         \
  all.push_back({text, {Verb::id, Library::library, spectra::Scalar::f64}});
#include "names.inc"
#undef MICA_VERB
    size_t count = all.size();
    for (size_t i = 0; i < count; ++i) {
      if (all[i].builtin.library != Library::libm) continue;
      single.push_back(std::string(all[i].name) + "f");
      all.push_back({single.back().c_str(), {all[i].builtin.verb, Library::libm, spectra::Scalar::f32}});
    }
    return all;
  }();
  return names;
}

const char *library_name(Library library) {
  switch (library) {
  case Library::predeclared: return "";
  case Library::std: return "std";
  case Library::libm: return "libm";
  }
  return "";
}

const char *verb_name(Verb verb) {
  switch (verb) {
#define MICA_VERB(id, text, library)                                                                         \
  case Verb::id:                                                                                             \
    return text;
#include "names.inc"
#undef MICA_VERB
  }
  return "";
}

bool is_whole_verb(Verb verb) { return verb < Verb::New; }

} // namespace mica::check
