#include "spectra/ops.h"

#include <unordered_map>

namespace spectra {
namespace {

constexpr OpInfo kOps[] = {
#define SPECTRA_OP(id, name, min_args, max_args, min_results, max_results, min_regions, max_regions, path,   \
                   symbol, levels, effects, rule, role, gradient, kinds, attributes, summary, example)       \
  {OpCode::id,  name,        min_args,       max_args,   min_results,                                        \
   max_results, min_regions, max_regions,    path,       symbol,                                             \
   levels,      effects,     TypeRule::rule, Role::role, GradientKind::gradient,                             \
   kinds,       attributes,  summary,        example},
#include "spectra/ops.inc"
#undef SPECTRA_OP
};

constexpr const char *kAttrs[] = {
#define SPECTRA_ATTR(name) #name,
#include "spectra/ops.inc"
#undef SPECTRA_ATTR
};

template <class Entry>
std::unordered_map<std::string_view, size_t> index_of(const Entry &entry, size_t count) {
  std::unordered_map<std::string_view, size_t> index;
  for (size_t i = 0; i < count; ++i) index.emplace(entry(i), i);
  return index;
}

} // namespace

const OpInfo &info(OpCode code) { return kOps[static_cast<size_t>(code)]; }

const OpInfo *find_op(std::string_view name) {
  static const std::unordered_map<std::string_view, size_t> index =
      index_of([](size_t i) { return std::string_view(kOps[i].name); }, std::size(kOps));
  auto it = index.find(name);
  return it == index.end() ? nullptr : &kOps[it->second];
}

const char *attr_name(Attr key) { return kAttrs[static_cast<size_t>(key)]; }

std::optional<Attr> find_attr(std::string_view name) {
  static const std::unordered_map<std::string_view, size_t> index =
      index_of([](size_t i) { return std::string_view(kAttrs[i]); }, std::size(kAttrs));
  auto it = index.find(name);
  if (it == index.end()) return std::nullopt;
  return static_cast<Attr>(it->second);
}

} // namespace spectra
