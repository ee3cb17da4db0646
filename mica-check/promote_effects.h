// What operations do to variables, for promote: places as roots with steps, effects of single operations, and
// for every function a summary over the call graph.
#pragma once
#include "spectra/build.h"
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace mica::check {

/// A place in memory: a unit variable ("@w") or a local of one function ("$x"), then fields and indices.
struct Location {
  std::string root;
  std::vector<int64_t> steps; ///< kAnyIndex: an index that is known at run time only
  static constexpr int64_t kAnyIndex = INT64_MIN;
  bool known() const { return !root.empty(); }
  bool exact() const;
  bool overlaps(const Location &) const; ///< one holds the other, or they may be the same
  bool operator<(const Location &o) const { return root != o.root ? root < o.root : steps < o.steps; }
  bool operator==(const Location &) const = default;
};

struct Access {
  Location at;
  bool writes = false;
  bool plain = false; ///< a `read` or `write` of just this place
};

/// What one operation, a region or a function may do to variables.
struct Effects {
  std::vector<Access> list;
  bool reads_through = false; ///< pointers that are not known: what has had its address given away
  bool writes_through = false;
  bool anything = false; ///< a call of what is not in this text
  void add(const Effects &);
};

class EffectTable {
public:
  explicit EffectTable(spectra::Module &);

  /// The place that the operation's path reaches; unknown behind pointers.
  Location location(const spectra::Func &, const spectra::Op &) const;
  Effects of(const spectra::Func &,
             const spectra::Op &) const; ///< of the operation alone, without its regions
  Effects inside(const spectra::Func &, const spectra::Region &) const;
  Effects inside(const spectra::Func &, const spectra::Op &) const; ///< the operation and its regions
  /// Whether a pointer to (a part of) the root may be anywhere.
  bool escaped(const spectra::Func &, const Location &) const;
  /// Whole values, scalars on the card, tracked scalars: what promote works on.
  static bool is_promoted_type(const spectra::Type *type);
  /// The type at the end of the path, tracked as declared.
  const spectra::Type *type_of(const spectra::Func &, const spectra::Op &) const;

private:
  void find_escapes(const spectra::Func &);
  Location pointee(const spectra::Func &, const spectra::Value *) const;
  static std::string root_key(const spectra::Func &, const std::string &root);

  spectra::Module &module_;
  std::unordered_map<std::string_view, const spectra::Func *> functions_;
  std::unordered_map<const spectra::Func *, Effects> summaries_;
  std::unordered_set<std::string> escaped_; ///< unit variables, and locals behind their function's name
};

} // namespace mica::check
