// A reference evaluator of Spectra, levels checked, grad: what a program computes, operation by operation,
// over small shapes.
//
// It is for tests alone and shares no code with the stages: gradients are held against central differences of
// it, and a stage's output against its input. Every operation rounds once in its type, sums and products add
// in the order of docs/numerics (4, 5), so on the processor its bits are the program's, but for functions
// within an ulp.
//
//   mica::eval::Program p(module);  p.set("x", {1, 2});  p.run();  p.get("loss")
#pragma once
#include "spectra/ops.h"

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace mica::eval {

struct Place; // of memory
using Memory = std::shared_ptr<Place>;

/// A value: cells of a scalar or whole type (floats in `f`, all others in `i`), or what its type says.
struct Datum {
  std::vector<double> f;
  std::vector<int64_t> i;
  Memory memory;    ///< pointer, slice, frame: what it points to; null is nil
  std::string text; ///< string (UTF-8); a procedure value's function
};

/// Memory of a type: one value, or the parts of a record, an array, a slice.
struct Place {
  const spectra::Type *type = nullptr;
  Datum value;
  std::vector<Memory> parts;
};

/// The program stopped: a failed check, assert or panic.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Program {
public:
  explicit Program(spectra::Module &module);

  /// A unit variable's cells, by a path of fields and indices: "w", "model.layers[2].W".
  void set(const std::string &path, const std::vector<double> &cells);
  std::vector<double> get(const std::string &path);
  /// Runs a function without parameters; unit variables keep their values between runs.
  void run(std::string_view func = "program.main");
  /// What `print` wrote.
  const std::string &output() const { return output_; }
  /// How many operations a run may take before it counts as endless.
  uint64_t budget = 50'000'000;

private:
  enum class Exit { none, yield, break_, continue_, return_ };
  struct Frame {
    const spectra::Func *func;
    std::map<std::string_view, Memory> locals;
    std::map<const spectra::Value *, Datum> values;
    Datum answer;
    std::vector<Datum> yielded;
  };

  Datum call(const spectra::Func &func, const std::vector<Datum> &arguments);
  Exit region(Frame &frame, const spectra::Region &region);
  Exit operation(Frame &frame, const spectra::Op &op);
  Exit for_loop(Frame &frame, const spectra::Op &op);
  Exit while_loop(Frame &frame, const spectra::Op &op);
  void memory_operation(Frame &frame, const spectra::Op &op);
  void check(Frame &frame, const spectra::Op &op);
  void in_place(Frame &frame, const spectra::Op &op);
  /// The place that the operation's path reaches; a cell or row of a whole value is given by its place and
  /// `first`, `count`.
  struct Reached {
    Memory place;
    bool part = false;
    size_t first = 0, count = 0;
    const spectra::Type *type = nullptr;
  };
  Reached reach(Frame &frame, const spectra::Op &op);
  Memory by_path(const std::string &path);
  const Datum &value(Frame &frame, const spectra::Value *v);
  [[noreturn]] void fail(const spectra::Op &op, const std::string &why);

  spectra::Module &module_;
  std::map<std::string, Memory> variables_;
  std::string output_;
  uint64_t steps_ = 0;
};

Memory new_place(const spectra::Type *type);
void copy_place(Place &to, const Place &from);
Datum zero_of(const spectra::Type *type);

/// `value` as a float type holds it.
double round_to(spectra::Scalar type, double value);
/// `value` as an integer type holds it.
int64_t wrap_to(spectra::Scalar type, int64_t value);
/// The sum of `n` cells in the order of numerics.md 4; `at(k)` gives the k-th. Halves sum in float32.
double ordered_sum(spectra::Scalar type, size_t n, const std::function<double(size_t)> &at);

/// The result of a pure operation over scalars or whole values; false where it is none of these.
bool cells_operation(const spectra::Op &op, const std::vector<const Datum *> &operands, Datum &result);
bool whole_operation(const spectra::Op &op, const std::vector<const Datum *> &operands, Datum &result,
                     std::string &failure);

/// Operations of several results; false where it is none of these.
bool attention_operation(const spectra::Op &op, const std::vector<const Datum *> &operands,
                         std::vector<Datum> &results);

} // namespace mica::eval
