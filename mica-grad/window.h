// What the passes know of a window and of its walks.
#pragma once
#include "location.h"

#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace mica::grad {

/// A `backward` operation and where it stands.
struct Walk {
  spectra::Op *op = nullptr;
  spectra::Func *func = nullptr;
  spectra::Region *region = nullptr;
  Location loss;
  std::vector<int64_t> windows;
  /// Its only window stands before it in the same region (or around its branches): the adjoint code is put in
  /// its place.
  bool spliced = false;
};

/// A `gradient` operation and where it stands.
struct Ask {
  spectra::Op *op = nullptr;
  spectra::Func *func = nullptr;
  spectra::Region *region = nullptr;
  Location of;
  Walk *walk = nullptr; ///< the spliced walk whose value it takes; null: it reads the hidden variable
};

/// A procedure that a window calls to a depth that only the run knows: a forward twin of its own, which
/// pushes what the way back reads (recursion.cc).
struct Recursion {
  const spectra::Func *source = nullptr;
  spectra::Func *forward = nullptr;
  spectra::Op *tape = nullptr;      ///< around the twin's whole body
  spectra::Value *answer = nullptr; ///< null for a procedure
  spectra::Region &body() const { return *tape->regions[0]; }
};
/// By the forward twin's name, in the order that they were found in.
using Recursions = std::vector<std::shared_ptr<Recursion>>;

struct Window {
  int64_t id = 0;
  spectra::Op *tape = nullptr;
  spectra::Func *func = nullptr;
  spectra::Region *region = nullptr; ///< where the tape stands
  std::shared_ptr<Recursions> recursions = std::make_shared<Recursions>();
  spectra::Region &body() const { return *tape->regions[0]; }
  const Recursion *recursion(const spectra::Op &op) const {
    if (op.code == spectra::OpCode::call)
      for (const auto &r : *recursions)
        if (r->forward->name == op.symbol) return r.get();
    return nullptr;
  }
};

/// What of a window depends on what is asked for (activity.cc).
struct Activity {
  std::unordered_set<const spectra::Value *> varied;
  bool has(const spectra::Value *v) const { return varied.count(v) > 0; }
  /// Variables whose gradients live in memory, since an index or an overlap hides which place is meant.
  std::set<std::string> in_memory; ///< variable keys
};

/// All windows, walks and asks of a text (collect.cc).
struct Tapes {
  std::map<int64_t, Window> windows;
  std::vector<std::unique_ptr<Walk>> walks;
  std::vector<std::unique_ptr<Ask>> asks;
};

} // namespace mica::grad
