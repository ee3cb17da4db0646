#pragma once
#include "passes/reverse.h"

namespace mica::grad {

/// One window from one loss: what is walked.
struct Pair {
  Window *window = nullptr;
  Location loss;
  Activity activity;
  std::map<const Recursion *, Activity> deep; ///< of the window's twins
  Descents descents;
  std::vector<Walk *> walks;         ///< every Backward that may walk it
  spectra::Func *backward = nullptr; ///< the function that walks it, where a walk is not spliced
  std::map<std::string, std::string_view>
      reread;           ///< unit variables that the function reads again: name, hidden word
  bool counted = false; ///< a hidden state says whether it may be walked
  std::string name;     ///< of its hidden variables: `w0`, or `w0'loss` where the window has several losses
};

/// The adjoint code of one walk, not yet in its place.
struct Code {
  Pair *pair = nullptr;
  Walk *walk = nullptr; ///< the spliced walk; null: the function's
  spectra::Region *region = nullptr;
  std::vector<Mirror> mirrors;
  const Recursion *recursion = nullptr; ///< the code walks this twin back, not the window itself
  spectra::Func &forward() const { return recursion ? *recursion->forward : *pair->window->func; }
};

/// Puts the adjoint code where it belongs and takes away tapes, walks and asks: see place.cc.
class Placer {
public:
  Placer(spectra::Module &module, Tapes &tapes) : module_(module), tapes_(tapes) {}

  /// The hidden variable of the gradient of a variable, made where it is not there yet.
  void need_shadow(const Location &shadow, const spectra::Type *type);
  /// Finds the pairs and gives them names, states and functions.
  void find_pairs();
  std::vector<std::unique_ptr<Pair>> &pairs() { return pairs_; }

  void place(const Code &code);
  void dispatch(Walk &walk);
  void record(Pair &pair);
  void answer(Ask &ask, spectra::Value *direct, const Location &shadow);
  void remove_tapes();
  /// Assignments of what a function reads again say which they were, so that its Backward can name them.
  void watch_assignments();

private:
  struct Site {
    spectra::Op *op;
    spectra::Region *region;
  };
  std::vector<Site> sites_of(const Pair &pair, std::string_view variable);
  std::string_view variable(const std::string &name, const spectra::Type *type);
  void check_state(spectra::Builder &b, const Pair &pair);
  void check_assigned(spectra::Builder &b, const Pair &pair);
  void fail_unless(spectra::Builder &b, spectra::Value *condition, const std::string &message);
  void carry_over(const Code &code);
  /// What `code` reads of the forward code, made anew where that costs nothing; the rest by number.
  std::map<uint32_t, spectra::Value *> crossing(const Code &code, spectra::Region &front);
  // recursion.cc
  void find_descents(Pair &pair);
  void push_and_pop(const Code &code);
  void reset_stacks(const Pair &pair);
  spectra::Func *function(const Code &code) const;
  Pair *pair_of(const Walk &walk, int64_t window);

  spectra::Module &module_;
  Tapes &tapes_;
  std::vector<std::unique_ptr<Pair>> pairs_;
};

} // namespace mica::grad
