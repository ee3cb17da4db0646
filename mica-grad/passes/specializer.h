// The walk that writes a window anew: see specialize.cc. Its control is in specialize_control.cc, its calls
// in specialize_calls.cc.
#pragma once
#include "passes/state.h"
#include "window.h"

#include <unordered_map>
#include <unordered_set>

namespace mica::grad {

/// An error was reported; the window is given up.
struct Reported {};

/// A recursion whose depth the constants don't decide: the window is begun anew, with a twin for `callee`.
struct Deep {
  const spectra::Func *callee;
};

inline constexpr uint64_t kUnrollBudget = 4096;

/// A callee whose exits are lowered, ready to be walked as often as it is called.
struct Prepared {
  spectra::Region *body = nullptr;
  std::vector<spectra::Variable> locals;
  std::string_view answer; ///< the local that holds it; empty: the return at the end says it
};

class Specializer {
public:
  Specializer(spectra::Module &module, spectra::Func &func, spectra::Diag &diag,
              std::vector<std::string_view> &made, std::set<const spectra::Func *> &inlined,
              const Recursions &recursions)
      : module_(module), func_(func), diag_(diag), made_(made), inlined_(inlined), recursions_(recursions),
        builder_(module, nullptr) {
    expose(*func.body);
  }

  /// `flags`: the locals that its exits became.
  bool window(spectra::Op &tape, const std::vector<spectra::Variable> &flags);

private:
  // ---- values ----
  spectra::Value *mapped(spectra::Value *v) const {
    return v->number < map_.size() && map_[v->number] ? map_[v->number] : v;
  }
  void set(spectra::Value *from, spectra::Value *to);
  [[noreturn]] void fail(const spectra::Op &op, const std::string &message, const std::string &hint = {});
  spectra::Value *constant(const spectra::Type *type, int64_t value) {
    return builder_.constant(type, value);
  }

  // ---- locals of inlined procedures ----
  void add_local(spectra::Variable v);
  bool has_local(const std::string &name) const;
  /// A procedure's variables are zero at every entry.
  void zero_local(std::string_view name, const spectra::Type *type);
  /// Locals whose address is taken: a pointer may reach them.
  void expose(spectra::Region &region);

  // ---- memory ----
  /// The operation's path in the window's own terms: inlined locals renamed, known addresses and indices put
  /// in.
  Location canonical(const spectra::Op &op);
  spectra::Value *read(const Location &at, const spectra::Type *type, std::string_view name);
  void write(const Location &at, spectra::Value *value);

  // ---- operations ----
  /// Walks a region up to its last operation, which it gives back.
  const spectra::Op *body(const spectra::Region &region);
  void operation(const spectra::Op &op);
  void written_through(spectra::Value *pointer);
  /// The operation with its operands mapped, without its regions.
  spectra::Op *shallow(const spectra::Op &op);
  void address(const spectra::Op &op);
  /// A record or an array with tracked leaves is copied leaf by leaf, so that gradients pass.
  void copy_value(const spectra::Op &op);

  // ---- control ----
  spectra::Value *result_of(spectra::Op &op, const spectra::Type *type, std::string_view name);
  void branch(const spectra::Op &op);
  /// After a branch: what both sides agree on stays known; two values become a result of the branch.
  void join(spectra::Op &branch, spectra::Op *ends[2], const State &before, State after[2]);
  /// `switch` becomes a chain of `if`.
  void choose(const spectra::Op &op);
  void chain(const spectra::Op &op, spectra::Value *x, const std::vector<int64_t> &labels, size_t region);
  spectra::Value *test(spectra::OpCode code, spectra::Value *x, int64_t with) {
    return folded(code, x, constant(x->type, with));
  }
  spectra::Value *both(spectra::OpCode code, spectra::Value *a, spectra::Value *b) {
    return folded(code, a, b);
  }
  spectra::Value *folded(spectra::OpCode code, spectra::Value *a, spectra::Value *b);
  void count(const spectra::Op &op);
  void unroll(const spectra::Op &op, int64_t low, uint64_t turns);

  /// A loop that stays: what it may write is unknown inside it and after it.
  void loop(const spectra::Op &op);
  void kill_written(const spectra::Op &op);
  void kill_written(const spectra::Region &region, std::set<const spectra::Func *> &seen, bool in_callee);

  // ---- calls ----
  void call(const spectra::Op &op, const spectra::Func *callee,
            const std::vector<spectra::Value *> &operands);
  static const spectra::List<spectra::Value *> &callee_args(const Prepared &p) { return p.body->args; }
  void call_value(const spectra::Op &op);
  /// Each depth of a recursion has a copy of its own: the values of the outer one are still in use.
  Prepared &prepare(const spectra::Func &callee, size_t depth);

  /// Whether a procedure touches tracked places, so that the window must see its operations.
  bool relevant(const spectra::Func &func);
  bool takes_tracked(const std::vector<spectra::Value *> &operands) const;
  bool holds_tracked(const spectra::Type *type);
  /// Whether a loop's body computes with whole values or on the card, itself or through calls.
  bool holds_whole(const spectra::Region &region);
  bool holds_whole(const spectra::Region &region, std::set<const spectra::Func *> &seen);

  spectra::Module &module_;
  spectra::Func &func_;
  spectra::Diag &diag_;
  std::vector<std::string_view> &made_;
  std::set<const spectra::Func *> &inlined_;
  const Recursions &recursions_;
  spectra::Builder builder_;
  spectra::List<spectra::Place> no_places_{module_.memory.get()};
  State state_;
  std::vector<spectra::Value *> map_;
  std::unordered_set<const spectra::Value *> tracked_; ///< values that may depend on a tracked place
  std::unordered_map<spectra::Value *, Location> addresses_;
  std::set<std::string_view> exposed_;
  std::vector<std::map<std::string_view, std::string_view>> frames_; ///< local names of what is being inlined
  std::set<std::string> local_names_;
  std::vector<const spectra::Func *> inlining_;
  std::map<std::pair<const spectra::Func *, size_t>, Prepared> prepared_;
  std::map<const spectra::Func *, bool> relevant_;
  const spectra::Op *unrolling_ = nullptr, *recursing_ = nullptr;
  const spectra::Func *recursing_into_ = nullptr;
  uint64_t unrolling_from_ = 0, recursing_from_ = 0, emitted_ = 0;
};

} // namespace mica::grad
