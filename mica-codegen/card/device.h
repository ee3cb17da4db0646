// The kernels on the card as they are made: a module of their own beside the host's, and for each what a
// launch needs to know.
#pragma once
#include "host/kernel.h"
#include "host/unit.h"

namespace mica::codegen {

/// A function of the PTX text, as the host launches it.
struct CardEntry {
  llvm::GlobalVariable *table = nullptr; ///< its struct mica_kernel, in the host's module
  int64_t blocks = 0;                    ///< 0: there is nothing to compute
  int64_t threads = 0;                   ///< a block
};

/// A kernel of level fused: one entry or several, launched one after the other with the same arguments: the
/// operands, then `scratch` where it has some, then the failure slot and the launch's number where it may
/// fail.
struct CardKernel {
  std::vector<CardEntry> entries;
  int64_t scratch = 0; ///< bytes of memory that the entries share
  bool fails = false;
};

struct Card {
  explicit Card(spectra::Module &spectra);

  Unit device;
  /// Every pointer to a whole value that a launch passes is aligned to a vector.
  bool aligned = true;
  std::map<std::string, CardKernel, std::less<>> kernels;
  std::set<std::string, std::less<>> names;    ///< of functions in the PTX text
  std::set<std::string, std::less<>> routines; ///< those of libmicart/device that are asked for
  std::vector<llvm::Constant *> tables;        ///< every struct mica_kernel
  std::vector<std::string> places;             ///< lines of the section `kernels`
};

constexpr int64_t kBlockThreads = 256;

/// names.cc: what a profiler calls the kernel, `k3_train_mica_42_layernorm`; unique in the text.
std::string card_name(Card &card, const spectra::Kernel &kernel, const char *suffix);
/// A file's name without its folder, or another name: letters, digits and `_` stay, all else becomes `_`.
std::string plain_name(std::string_view text);

/// Whether a body has an operation that may stop the program: its kernel takes the failure slot.
bool may_fail(const spectra::Module &module, const spectra::Kernel &kernel);

/// One function of the PTX text: its parameters are the kernel's, the results' pointers, the scratch memory
/// and the failure slot.
class CardFunction {
public:
  CardFunction(Unit &host, Card &card, const spectra::Kernel &kernel, const char *suffix, bool scratch);
  /// The arguments, and the failure slot, as words in memory: what a skeleton hands to its hooks.
  llvm::Value *context();
  /// In a hook: those words again.
  std::vector<llvm::Value *> read_context(Builder &at, llvm::Value *context);
  /// Ends it, and makes the entry that a launch needs.
  CardEntry finish(int64_t blocks, int64_t threads, int32_t shared = 0);

  using LValue = llvm::Value *;
  llvm::Function *function;
  Builder b;
  std::vector<LValue> arguments; ///< parameters (pointers, or scalars by value), then the results' pointers
  LValue scratch = nullptr;

  LValue int64(int64_t v) { return b.getInt64(static_cast<uint64_t>(v)); }
  LValue int32(int64_t v) { return b.getInt32(static_cast<uint32_t>(v)); }
  LValue thread();        ///< in its block, i32
  LValue block();         ///< i32
  LValue global_thread(); ///< i64
  /// Says which cell a failure that follows is about.
  void failing_cell(LValue cell);
  /// if (condition) body();
  void when(LValue condition, const std::function<void()> &body);

private:
  Unit &host_;
  Card &card_;
  const spectra::Kernel &kernel_;
  LValue cell_slot_ = nullptr;
};

/// A kernel's scalar body for a few cells that follow each other: loads, operations, stores. What is
/// contiguous moves in vectors of 128 bits.
class CellGroup {
public:
  using LValue = llvm::Value *;
  /// `results`: full types of what the yield writes; `acc`: the body's last argument is given.
  CellGroup(Card &card, const spectra::Kernel &kernel, const std::vector<int64_t> &space,
            const std::vector<const Type *> &results, bool acc);
  int64_t cells() const { return cells_; }
  /// How many cells a group may have: the most that the space, the types and the alignment allow.
  int64_t width() const { return width_; }
  /// Cells width*group .. (of `count`, which is width() or 1) into memory; `acc` are their sums. `arguments`:
  /// parameters, then the results' pointers.
  void emit(Builder &b, llvm::ArrayRef<LValue> arguments, LValue group, int64_t count,
            llvm::ArrayRef<LValue> acc, CardFunction *failing);
  /// The same without the stores: what the body yields, by result and cell.
  std::vector<std::vector<LValue>> compute(Builder &b, llvm::ArrayRef<LValue> arguments, LValue group,
                                           int64_t count, llvm::ArrayRef<LValue> acc, CardFunction *failing);

private:
  std::vector<LValue> offsets(Builder &b, LValue group, int64_t count);
  std::vector<std::vector<LValue>> compute_at(Builder &b, llvm::ArrayRef<LValue> arguments,
                                              const std::vector<LValue> &at, LValue group, int64_t count,
                                              llvm::ArrayRef<LValue> acc, CardFunction *failing);
  LValue cell_address(Builder &b, LValue base, LValue at, const Type *type, size_t v, int64_t i);
  bool is_vector(size_t v, int64_t count) const;
  Card &card_;
  const spectra::Kernel &kernel_;
  std::vector<const Type *> results_;
  bool acc_;
  int64_t cells_ = 1, width_ = 1;
  Collapsed flat_;
};

/// A multi kernel's parameters: scalars, then the members of one group.
struct MultiShape {
  size_t scalars = 0, members = 0;
  std::vector<int64_t> writes;
};
MultiShape multi_shape(const spectra::Kernel &kernel);
/// Blocks that a tensor of so many cells takes.
int64_t multi_pieces(int64_t cells);

// forms
CardKernel card_map(Unit &host, Card &card, const spectra::Kernel &kernel);
CardKernel card_rows(Unit &host, Card &card, const spectra::Kernel &kernel);
CardKernel card_reduce(Unit &host, Card &card, const spectra::Kernel &kernel);
CardKernel card_multi(Unit &host, Card &card, const spectra::Kernel &kernel);
CardKernel card_product(Unit &host, Card &card, const spectra::Kernel &kernel);

/// function.cc: a routine of libmicart/device, as this operation launches it.
CardEntry card_routine(Unit &host, const std::string &symbol, const Op &op, bool fails);
/// card_ops.cc: the address on the card of these words, which are brought there where they are not yet.
llvm::Value *emit_card_table(Unit &unit, Builder &b, Place place, llvm::ArrayRef<llvm::Value *> words);
/// Launches an entry with these arguments, then, where it may fail, the failure slot's.
void emit_card_launch(Unit &unit, Builder &b, Place place, const CardEntry &entry,
                      llvm::ArrayRef<llvm::Value *> arguments, bool fails);
/// run.cc: `run` of a routine.
void emit_card_run(Unit &unit, Builder &b, const Op &op, llvm::ArrayRef<llvm::Value *> operands);

/// limits.cc: what no kernel on the card can do yet; null where it can.
const char *card_cannot(const spectra::Kernel &kernel);
bool card_can_run(const Op &op);

/// ptx.cc: links what the kernels call, optimizes, and prints a text for each family.
void append_ptx(Card &card, std::vector<spectra::Section> &sections);
/// A skeleton of libmicart/device, brought into the module at its first use.
llvm::Function *skeleton(Card &card, const std::string &name);
/// skeleton.cc: a copy of it for one kernel: mica_constant(i) is constants[i], a hook the function given.
llvm::Function *specialize(Card &card, const std::string &name, const std::vector<int64_t> &constants,
                           const std::map<std::string, llvm::Function *> &hooks);
/// A function, to be filled, that can stand for the hook `like` of the skeletons.
llvm::Function *make_hook(Card &card, const std::string &name, const std::string &like);

} // namespace mica::codegen
