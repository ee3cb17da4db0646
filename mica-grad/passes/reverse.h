// The reversal of one window from one loss: see reverse.cc.
#pragma once
#include "window.h"

#include <functional>

namespace mica::grad {

/// A forward operation with regions and what walks it back: values of the one that the other reads have to be
/// kept (save.cc).
struct Mirror {
  spectra::Op *forward;
  spectra::Op *backward;
  std::vector<spectra::Region *> regions; ///< the backward region of each forward region
  spectra::Value *turns;                  ///< a loop's trip count, visible around the forward loop
  spectra::Value *counter; ///< a `while`: the number of its turn, in the forward loop's first region
};

/// How a twin is walked back: its seed and its arguments' adjoints cross in hidden variables.
struct Descent {
  spectra::Func *backward = nullptr;
  Location seed;
  std::vector<std::optional<Location>> arguments; ///< none where no gradient flows
};
using Descents = std::map<const Recursion *, Descent>;

class Reverse {
public:
  Reverse(spectra::Module &module, const Window &window, const Activity &activity, const Descents &descents,
          spectra::Diag &diag)
      : module_(module), window_(window), activity_(activity), descents_(descents), diag_(diag),
        builder_(module, nullptr) {}

  /// Appends the adjoint code to `into`. False where errors were reported.
  bool run(spectra::Region &into, const Location &loss, spectra::Place place);

  /// The same for a twin.
  bool run(spectra::Region &into, const Recursion &recursion, spectra::Place place);

  /// After run(): the gradient of a static place or one in memory, made in `into`.
  spectra::Value *gradient(spectra::Builder &builder, const Location &at, const spectra::Type *type);

  const std::vector<Mirror> &mirrors() const { return mirrors_; }

  // For the rules.
  bool active(const spectra::Value *v) const { return activity_.has(v); }
  /// The cell type of a value's gradient: its own; but what a value was narrowed from gets its gradient
  /// unrounded (language.md 8.8), so a narrowed value's gradient, also through moves of its cells, has the
  /// wide type.
  spectra::Scalar gradient_type(const spectra::Value *v) const;
  void contribute(spectra::Value *to, spectra::Value *contribution);
  spectra::Builder &builder() { return builder_; }

private:
  Location shadow(const Location &at) const { return shadow_of(module_, window_.func, at); }
  struct Env {
    std::map<uint32_t, std::pair<spectra::Value *, spectra::Value *>>
        values; ///< by number: the value, its adjoint
    std::map<std::string, std::pair<Location, spectra::Value *>> places;
  };

  void region(spectra::Region &region);
  void operation(spectra::Region &region, size_t index);
  void read(const spectra::Op &op);
  void write(const spectra::Op &op);
  void call(const spectra::Op &op, const Recursion &recursion);
  void branch(spectra::Op &op);
  spectra::Op *either(spectra::Value *condition, const spectra::List<spectra::Place> &places,
                      const std::function<void(size_t)> &emit);
  /// What a loop's body may add to: active values from outside it, and static places.
  struct Touched {
    std::map<uint32_t, spectra::Value *> values;
    std::map<std::string, Location> places;
    bool flows = false; ///< whether an adjoint can reach it at all
  };
  Touched touched_by(const spectra::Op &op);
  void loop(spectra::Region &region, size_t index);
  void counted(spectra::Region &region, size_t index, const std::vector<spectra::Value *> &seeds,
               const Touched &touched);
  void conditional(spectra::Region &region, size_t index, const std::vector<spectra::Value *> &seeds,
                   const Touched &touched);
  /// The backward loop from turn `last` down to 0: see reverse_loops.cc.
  std::vector<spectra::Value *>
  turns_back(const spectra::Op &op, spectra::Value *last, const std::vector<spectra::Value *> &arguments,
             const std::vector<spectra::Value *> &seeds, const Touched &touched,
             const std::function<void(spectra::Op &back, spectra::Value *turn,
                                      const std::vector<spectra::Value *> &in)> &emit);
  spectra::Value *take(const spectra::Value *v);
  spectra::Value *settle(spectra::Value *value, const spectra::Type *type);
  const spectra::Type *gradient_value_type(const spectra::Value *v);
  const spectra::Type *place_type(const Location &at);
  bool in_memory(const Location &at) const { return activity_.in_memory.count(at.variable_key()) > 0; }
  spectra::Value *final_value(const Location &at) const;

  spectra::Module &module_;
  const Window &window_;
  const Activity &activity_;
  const Descents &descents_;
  spectra::Diag &diag_;
  spectra::Builder builder_;
  Env env_;
  std::map<uint32_t, spectra::Value *> finished_; ///< adjoints of the window's own values, once complete
  std::vector<Mirror> mirrors_;
  int depth_ = 0;
  bool good_ = true;
};

} // namespace mica::grad
