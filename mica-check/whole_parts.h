// What the files of whole values share among themselves.
#pragma once
#include "whole.h"
#include <optional>

namespace mica::check {

struct WholeState {
  int windows = 0; ///< how many have been begun
  /// A tracked value stored into an untracked variable outside windows: wrong where a window reaches the
  /// function.
  struct Store {
    const spectra::Func *func;
    spectra::Place at;
    std::string message;
  };
  std::vector<Store> stores;
  std::unordered_set<const Node *> guarded; ///< `if`s inside an `if` over a bool on the card
  /// How many instances of open shapes have been made.
  int instances = 0;
};

WholeState &state(Checker &);

extern const char *const kDetachHint;

/// The expression as a value: variables are read, names that are no values are an error. Constants stay
/// constants.
Operand value_of(Checker &, const Node &node, const Type *expected = nullptr);
/// The operand after its kind is known to be a value: variables are read at once.
Operand as_value(Checker &, Operand operand);
/// "`w` is [4, 2]" for hints.
std::string describe(Checker &, const Operand &);
std::string shape(Checker &, const Type *);

/// An operation to be appended.
struct Making {
  spectra::OpCode code;
  std::vector<spectra::Value *> operands;
  std::vector<spectra::Attribute> attributes;
  const Type *stated = nullptr; ///< the result's type where it does not follow from the operands
  bool tracked = false;         ///< an operand is tracked
  std::string hint;             ///< where the operands don't fit
};
/// Appends it; where the operands don't fit it says why at `at` and gives poison.
Operand make(Checker &, Making making, spectra::Place at);

/// Gives all operands one cell type (literals adapt, the others widen without loss); false after an error.
bool unify_cells(Checker &, const std::vector<Operand *> &operands, std::string_view what, spectra::Place at);
/// Whether whole values of the host and values of the card are mixed: false after the error.
bool one_place(Checker &, const std::vector<const Operand *> &operands, std::string_view what,
               spectra::Place at);
/// Whether the shapes broadcast: false after an error that names both shapes and the rule.
bool shapes_fit(Checker &, const std::vector<const Operand *> &operands, std::string_view what,
                spectra::Place at);
/// Every cell in another type, in the same place; the operand is a value or a constant.
Operand cast_cells(Checker &, Operand operand, spectra::Scalar cell, spectra::Place at);
/// Copied to the card or to the host; nothing happens where it is there.
Operand to_card(Checker &, Operand operand, spectra::Place at);
Operand to_host(Checker &, Operand operand, spectra::Place at);

// ---- aggregates.cc
/// One tensor (or another leaf) of a variable, with its name below it: "layers.3.Wqkv", empty for the
/// variable itself.
struct Leaf {
  Operand operand;
  std::string name;
};
/// More leaves than this in one verb or assignment are refused: the text would grow without bound.
inline constexpr size_t kMostLeaves = 100000;
/// Whether a leaf of the type is whole, tracked or lives on the card.
bool has_whole_leaf(const Type *);
/// All leaves of a place in order; false after an error.
bool collect_leaves(Checker &, const Operand &place, std::vector<Leaf> &leaves);
/// An argument that stands for one or several tensors: a whole value, a variable, an aggregate, Gradient(x),
/// Matrices(x), Vectors(x). Operands are places where they are variables. False after an error.
bool tensor_list(Checker &, const Node &node, const std::string &purpose, std::vector<Leaf> &tensors);
/// The verb that a call node calls where its callee is a predeclared name that is not shadowed.
std::optional<Verb> verb_of(Checker &, const Node &node);
/// `target := value` for records and arrays with whole leaves.
void assign_aggregate(Checker &, const Operand &target, const Node &value, spectra::Place at);

// ---- verbs_*.cc
const Node &argument(const Node &call, uint32_t i); ///< from 1
std::string purpose_of(Verb verb, uint32_t i);
/// Makers: one leaf's value; `arguments` have been checked once for all leaves.
struct MakerArguments {
  std::vector<Operand> numbers;     ///< Filled: v; Normal: mean, deviation; Uniform: low, high
  spectra::Value *random = nullptr; ///< Normal, Uniform: a pointer to the state
};
bool maker_arguments(Checker &, Verb verb, const Node &call, MakerArguments &arguments);
Operand make_filled(Checker &, Verb verb, const MakerArguments &arguments, const Type *type,
                    spectra::Place at);
Operand check_maker(Checker &, Verb verb, const Node &call, const Type *expected);
Operand check_layout(Checker &, Verb verb, const Node &call, const Type *expected);
Operand check_cells(Checker &, Verb verb, const Node &call);
Operand check_reduction(Checker &, Verb verb, const Node &call);
Operand check_rows(Checker &, Verb verb, const Node &call);
Operand check_attention(Checker &, Verb verb, const Node &call);
/// `p, address r` of a verb that drops cells.
struct DropArguments {
  spectra::Value *chance = nullptr; ///< the probability, f64, checked to lie in 0..1
  spectra::Value *random = nullptr; ///< a pointer to the state
  bool never = false;               ///< it is the constant 0: nothing is dropped and nothing drawn
};
/// Arguments `first` and the one behind it; false after an error.
bool drop_arguments(Checker &, Verb verb, const Node &call, uint32_t first, DropArguments &arguments);
/// What so many cells draw; nothing where the probability is 0.
spectra::Value *reserve_draws(Checker &, const DropArguments &, int64_t cells, spectra::Place at);
Operand check_norms(Checker &, Verb verb, const Node &call);
Operand check_steps(Checker &, Verb verb, const Node &call);
Operand check_across(Checker &, Verb verb, const Node &call);
Operand check_window_verb(Checker &, Verb verb, const Node &call);
Operand check_sizes(Checker &, Verb verb, const Node &call);
Operand check_files(Checker &, Verb verb, const Node &call);
/// The gradient of one tracked place.
Operand gradient_of(Checker &, const Operand &place, spectra::Place at);

/// A place in memory as text, the same for the same variable wherever it is reached: "@w", "main$x",
/// "Outer.frame.w". Empty where it is not known (through a pointer). `exact` is false where an index is
/// dynamic.
std::string place_key(const spectra::Module &, const spectra::Func *, const spectra::Op &, bool &exact);

} // namespace mica::check
