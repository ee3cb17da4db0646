// The pass over one function, as promote.cc and promote_places.cc share it.
#pragma once
#include "promote_effects.h"

#include "spectra/ops.h"

namespace mica::check {

using spectra::Builder;
using spectra::Func;
using spectra::Op;
using spectra::OpCode;
using spectra::Region;
using spectra::Value;

/// What places hold, as values that are visible here.
using Known = std::map<Location, Value *>;

/// Where control parts without giving results: `switch`, and an `if` over a bool on the card, which guards
/// launches.
bool only_guards(const Op &);
bool is_loop(const Op &);
/// Whether `break`, `continue` or `return` would leave a turn of this loop, which then can't carry values.
bool has_jumps(const Op &loop);

class Promoter {
public:
  Promoter(spectra::Module &module, const EffectTable &effects, Func &func)
      : module_(module), effects_(effects), func_(func), keep_writes_(!module.options.optimizes()) {}

  void run();

private:
  // ---- which locals become values altogether
  void classify();
  bool left_by_jumps(const Op &loop); ///< has_jumps, remembered

  void scan(const Region &region, std::vector<const Op *> &chain, std::map<Location, bool> &candidates,
            std::vector<Access> &all);

  /// Whether a tracked place is read in a window that it comes into from outside: that read must stay, since
  /// the tape follows values only as far as their window.
  bool enters_window(const Region &region, const Location &at);

  /// How often the operation's regions read each place.
  std::map<Location, int> reads_inside(const Op &op);
  /// Whether the place is read anywhere but inside: where not, nobody wants what it holds afterwards.
  bool read_outside(const std::map<Location, int> &inside, const Location &at);

  // ---- values
  Value *now(Value *v);
  void replace(Value *old, Value *by);

  Value *zero(const Location &at, const spectra::Type *type);

  /// What the place holds here: known, or for a local that becomes values its zero; else null.
  Value *held(const Location &at, const Known &known, const spectra::Type *type);

  // ---- effects
  void forget(const Effects &e, Known &known, bool plain_too);

  void process(Region &region, Known &known);

  bool read(Op &op, Known &known);

  bool write(Op &op, Known &known);

  // ---- if
  void branch(Op &op, Known &known);

  static bool writes(const Effects &e, const Location &at);
  bool written(const Op &op, const Location &at) { return writes(effects_.inside(func_, op), at); }

  Value *result(Op &op, const spectra::Type *type, std::string_view name);

  // ---- loops
  /// The unit variables that become values within the loop: read before they are written in a turn, and all
  /// uses plain.
  std::set<Location> carried_places(const Op &op, const Effects &e);

  /// Whether carrying would take the place into a window that must read it, or a switch writes it.
  bool crosses(const Op &op, const Location &at);

  /// Whether a region of the operation may read the place before it writes it: not where its first use is a
  /// write of its own. The two regions of a `while` see each other's values only as carried ones.
  bool exposed(const Op &op, const Location &at);

  void loop(Op &op, Known &known, spectra::List<Op *> &out);

  /// Exact paths have no operands.
  void copy_path(const Op &from, Op &to);

  spectra::Module &module_;
  const EffectTable &effects_;
  Func &func_;
  const bool keep_writes_;
  std::set<Location> values_;        ///< locals that become values altogether
  std::set<Location> sunk_;          ///< places that are values within the loops being processed
  std::multiset<Location> carrying_; ///< what the loops around carry
  std::set<Location> tracked_;       ///< places of tracked variables
  std::set<Location> all_seen_;
  std::map<Location, const Op *> representative_; ///< one operation with each path
  std::unordered_map<const Op *, bool> jumps_;
  std::unordered_map<const Op *, std::map<Location, bool>> exposures_; ///< see exposed
  std::map<Location, int> reads_; ///< how often the function reads each place
  std::map<Location, Value *> zeros_;
  std::vector<Op *> entry_;
  std::vector<Value *> replaced_;
};

} // namespace mica::check
