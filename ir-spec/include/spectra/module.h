// A Spectra text in memory: module, functions, kernels, regions, operations, values.
//
// Everything lives in the module's arena and is never freed singly: a pass unlinks an Op from its Region's
// list. Values have dense numbers so that passes keep side tables in vectors.
#pragma once
#include "spectra/diag.h"
#include "spectra/types.h"
#include <memory>
#include <memory_resource>
#include <optional>
#include <unordered_map>
#include <variant>

namespace spectra {

enum class Level : uint8_t { parsed, checked, grad, fused, target };
const char *level_name(Level);

/// One enumerator an operation of ops.yaml, in the table's order.
enum class OpCode : uint16_t {
#define SPECTRA_OP(name, ...) name,
#include "spectra/ops.inc"
#undef SPECTRA_OP
};

/// One enumerator an attribute name of ops.yaml.
enum class Attr : uint8_t {
#define SPECTRA_ATTR(name) name,
#include "spectra/ops.inc"
#undef SPECTRA_ATTR
};

template <class T> using List = std::pmr::vector<T>;

struct Op;
struct Region;
struct Func;

struct Value {
  const Type *type = nullptr; ///< never tracked
  std::string_view name;      ///< without `%`; unique in its function once printed (see unique_names)
  Op *def = nullptr;          ///< null for a region's argument
  Region *region = nullptr;   ///< the region whose argument it is
  uint32_t number = 0;        ///< dense in the module
};

/// A flag's value is `true`. Floats are kept as bits so that every NaN survives.
struct FloatBits {
  uint64_t bits = 0; ///< of a float64
  friend bool operator==(FloatBits, FloatBits) = default;
};
using AttrValue = std::variant<bool, int64_t, FloatBits, std::string, const Type *, std::vector<int64_t>,
                               std::vector<std::string>>;

struct Attribute {
  Attr key;
  AttrValue value;
};

/// Where `read`, `write`, `address` and their like reach: a base, then steps. Text:
/// `@model.layers[%i].Wqkv[3]`,
/// `$x`, `%p^.left`. Values inside it are the operation's first operands, in order.
struct Path {
  enum class Base : uint8_t { none, global, local, pointer };
  struct Step {
    enum class Kind : uint8_t { field, constant, dynamic } kind;
    int64_t index =
        0; ///< field: its number; constant: the index as the program counts; dynamic: which operand
  };
  Base base = Base::none;
  std::string_view symbol; ///< global, local: the variable's name without its sign
  List<Step>
      steps; ///< an index step peels an array's element, a slice's cell, or a whole value's leading dimension
  int operands = 0; ///< how many leading operands belong to the path (a pointer base is operand 0)
  explicit Path(std::pmr::memory_resource *memory) : steps(memory) {}
};

struct Op {
  OpCode code;
  List<Value *> operands; ///< the path's first, then the others
  List<Value *> results;
  List<Attribute> attributes; ///< at most one a key, printed in table order
  List<Region *> regions;
  List<Place> places; ///< where in the source it comes from; a fused operation carries all
  Path *path = nullptr;
  std::string_view symbol; ///< call, closure, launch: the callee's name without `@`
  uint32_t text_line =
      0; ///< where the text that was read has it, for messages about the text; 0: made by a pass
  uint32_t text_column = 0;

  explicit Op(OpCode c, std::pmr::memory_resource *m)
      : code(c), operands(m), results(m), attributes(m), regions(m), places(m) {}

  int path_operands() const { return path ? path->operands : 0; }
  int arg_count() const { return static_cast<int>(operands.size()) - path_operands(); }
  Value *arg(int i) const {
    return operands[static_cast<size_t>(path_operands() + i)];
  } ///< i-th operand after the path's
  Value *result() const { return results.empty() ? nullptr : results[0]; }
  Place place() const { return places.empty() ? Place{} : places[0]; }

  const AttrValue *find(Attr key) const;
  bool flag(Attr key) const;
  int64_t integer(Attr key, int64_t otherwise = 0) const;
  std::string text(Attr key) const;
  double real(Attr key, double otherwise = 0) const;
  const std::vector<int64_t> *integers(Attr key) const;
  const std::vector<std::string> *texts(Attr key) const;
  void set(Attr key, AttrValue value);
  void remove(Attr key);
};

struct Region {
  List<Value *> args;
  List<Op *> ops;
  Op *parent = nullptr; ///< null for a function's or kernel's body
  explicit Region(std::pmr::memory_resource *m) : args(m), ops(m) {}
};

/// A unit variable or a function's local.
struct Variable {
  std::string_view name;
  const Type *type = nullptr; ///< may be tracked
  Place place;
  std::optional<AttrValue> first; ///< a first value (scalars and strings), else zero
};

struct Func {
  std::string_view name;
  const Type *result = nullptr; ///< null for a procedure
  List<Variable> locals;        ///< zero at every entry
  Region *body = nullptr;       ///< its arguments are the parameters
  Place place;
  bool exported = false;
  bool external = false; ///< a C function or another unit's: no body
  uint32_t text_line = 0;
  explicit Func(std::pmr::memory_resource *m) : locals(m) {}
};

enum class KernelForm : uint8_t { map, rows, reduce, product, multi };
const char *form_name(KernelForm);

/// A kernel of level `fused`: a body that is run for every item of a space. SPECTRA.md "Kernels" defines the
/// forms.
struct Kernel {
  std::string_view name;
  KernelForm form = KernelForm::map;
  bool gpu = false;
  std::vector<int64_t>
      space; ///< map, reduce: the sizes of the cells; rows: of the rows; product: batch.., m, n
  List<Attribute> attributes; ///< product: k, transpose_a, transpose_b; reduce: kind; multi: groups
  List<const Type *> params;  ///< full types of what a launch passes in; body->args have the item types
  List<const Type *> results; ///< full types of what it writes, in the order of the body's yield
  Region *body = nullptr;
  List<Place> places;
  uint32_t text_line = 0;
  explicit Kernel(std::pmr::memory_resource *m) : attributes(m), params(m), results(m), places(m) {}
};

/// A section of level `target`: assembly, PTX or a table, line by line.
struct Section {
  std::string kind; ///< "host", "ptx", "kernels", ...
  std::string name; ///< "x86-64", "sm_80", ...
  std::vector<std::string> lines;
};

struct Options {
  std::string device = "cpu"; ///< cpu or gpu
  std::string tier = "debug"; ///< debug checked O1 O2 O3 release
  bool fp_tensor_float32 = false;
  bool fp_half_intermediates = false;
  bool optimizes() const { return tier != "debug" && tier != "checked"; }
};

struct Module {
  Level level = Level::checked;
  Options options;
  std::string name;                ///< the program's or unit's name
  std::vector<SourceFile> sources; ///< with their lines where the text carries them
  TypeTable types;
  std::vector<Variable> variables;
  std::vector<Func *> funcs;
  std::vector<Kernel *> kernels;
  std::vector<Section> sections; ///< level target only

  Module() : memory(std::make_unique<std::pmr::monotonic_buffer_resource>()) {}
  std::unique_ptr<std::pmr::monotonic_buffer_resource> memory;
  uint32_t value_count = 0;

  std::string_view keep(std::string_view text); ///< a copy that lives as long as the module
  Value *new_value(const Type *type, std::string_view name);
  Op *new_op(OpCode code, Place place = {});
  Region *new_region(Op *parent = nullptr);
  Path *new_path();
  Func *new_func(std::string_view name); ///< appended to funcs, with an empty body
  Kernel *new_kernel(std::string_view name);
  Func *find_func(std::string_view name) const;
  Kernel *find_kernel(std::string_view name) const;
  const Variable *find_variable(std::string_view name) const;

private:
  // Names to positions, brought up to date where the lists have grown since; a removed entry is found by its
  // name check.
  mutable std::unordered_map<std::string_view, size_t> func_index_, kernel_index_, variable_index_;
  mutable size_t func_indexed_ = 0, kernel_indexed_ = 0, variable_indexed_ = 0;
};

/// The type at the end of `op`'s path inside `func`, tracked as declared; null where the path is wrong, then
/// `*why` says so.
const Type *path_type(const Module &module, const Func *func, const Op &op, std::string *why = nullptr);

/// Gives every value of the function or kernel a name that no other has: `x`, `x.1`, `x.2` in order of
/// appearance.
void unique_names(Module &module, Region &body);

} // namespace spectra
