// A module being made: LLVM's context and module, and what every part of the code generator asks of them. The
// host's is one; that of the card's kernels is another (card/device.h), so that the operations on scalars are
// written once.
#pragma once
#include "spectra/module.h"

#include <functional>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <map>
#include <set>

namespace mica::codegen {

using spectra::Op;
using spectra::OpCode;
using spectra::Place;
using spectra::Scalar;
using spectra::Type;
using spectra::TypeKind;
using spectra::Value;

struct Card;

struct Unit {
  explicit Unit(spectra::Module &spectra, bool for_card = false);
  ~Unit();

  spectra::Module &spectra;
  const bool for_card;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::DIBuilder> debug; ///< null in tier release
  llvm::DICompileUnit *compile_unit = nullptr;
  std::vector<llvm::DIFile *> debug_files;
  std::vector<llvm::Constant *> file_names; ///< of the sources, for failures

  // types.cc
  llvm::Type *type_of(const Type *type);     ///< of an SSA value; pairs are literal structs
  llvm::Type *memory_type(const Type *type); ///< of a scalar or pair in memory: bool is i8
  llvm::Type *scalar_type(Scalar scalar);    ///< bfloat16 is its bits, i16: see Note [bfloat16]
  llvm::Type *pair();                        ///< { ptr, i64 }
  llvm::PointerType *pointer() { return llvm::PointerType::get(context, 0); }
  llvm::IntegerType *i(unsigned bits) { return llvm::IntegerType::get(context, bits); }

  // debug_info.cc
  llvm::DIType *debug_type(const Type *type);
  llvm::DISubprogram *debug_function(llvm::Function *function, std::string_view name, Place place,
                                     llvm::ArrayRef<llvm::Metadata *> types, bool artificial);

  // constants.cc
  llvm::Constant *c_string(std::string_view text);     ///< zero-ended UTF-8
  llvm::Constant *utf32_string(std::string_view utf8); ///< a { ptr, i64 } constant
  llvm::Constant *constant(const spectra::AttrValue &value, const Type *type);
  llvm::Constant *int64s(const std::vector<int64_t> &values); ///< pointer to a constant array

  /// A function of libmicart or of the math library; declared at its first use.
  llvm::FunctionCallee runtime(const char *name, llvm::Type *result, llvm::ArrayRef<llvm::Type *> parameters);
  llvm::Function *function(const spectra::Func *func);
  llvm::GlobalVariable *variable(std::string_view name);

  std::map<const Type *, llvm::DIType *> debug_types;
  std::map<const spectra::Func *, llvm::Function *> functions;
  /// A kernel's function on the processor, with its items' count and grain.
  struct KernelBody {
    llvm::Function *function;
    int64_t count, grain;
  };
  std::map<std::string, KernelBody, std::less<>> bodies;
  std::map<const llvm::Function *, llvm::AllocaInst *> launch_words; ///< see launch.cc
  std::unique_ptr<Card> card;             ///< the kernels on the card; null where there are none
  llvm::Constant *card_kernels = nullptr; ///< table of `struct mica_kernel *`, made by card/
  uint64_t card_kernel_count = 0;
  /// On the card: where a failure of the kernel being made is put (libmicart/device/failure.cc).
  llvm::Value *failures = nullptr;
  std::map<std::string, llvm::GlobalVariable *, std::less<>> variables;
  std::map<std::string, llvm::Constant *, std::less<>> strings;
  std::map<std::string, llvm::Constant *, std::less<>> texts;
  std::map<std::string, llvm::MDNode *, std::less<>> access_kinds; ///< alias information, see paths.cc
  std::vector<llvm::Value *> values; ///< by Value::number, which counts over the whole text
};

using Builder = llvm::IRBuilder<>;

/// Arguments `const char *file, int32_t line` of a runtime call. On the card, where no message is printed,
/// the first is where the failure is put instead.
std::pair<llvm::Value *, llvm::Value *> place_arguments(Unit &unit, Place place);

/// libmicart's number of a cell type (enum mica_type).
int runtime_type(const Type *type);

// scalars.cc: one operation on scalars, inside a function or a kernel's body; shared by both, so that a value
// has the same bits wherever it is computed.
llvm::Value *emit_scalar(Unit &unit, Builder &b, const Op &op, llvm::ArrayRef<llvm::Value *> operands);
/// Dropout of one cell, the `position`th of all (dropout.cc).
llvm::Value *emit_dropout(Unit &unit, Builder &b, const Op &op, llvm::ArrayRef<llvm::Value *> operands,
                          llvm::Value *position);
/// Whether the operation is a call of the math library.
bool is_math_call(OpCode code);
// casts.cc: `as`
llvm::Value *emit_cast(Unit &unit, Builder &b, llvm::Value *value, const Type *from, const Type *to,
                       Place place);

// casts.cc
/// A half as the float32 that it computes in; anything else as it is.
llvm::Value *widen_half(Builder &b, llvm::Value *v, const Type *type);
/// A float32 rounded to `type` where that is a half; anything else as it is.
llvm::Value *narrow_half(Unit &unit, Builder &b, llvm::Value *v, const Type *type);

/// Ends the block where `condition` holds with a call that does not return; goes on in a new block. On the
/// card the call does return: the failure waits for the host, and what follows must be harmless.
void emit_failure(Unit &unit, Builder &b, llvm::Value *condition, const llvm::Twine &name,
                  const std::function<void(Builder &)> &fail);

// functions.cc
void emit_function(Unit &unit, const spectra::Func &func);

// kernels*.cc
/// Emits the launch of `op`'s kernel: arguments in, pointers to results.
void emit_launch(Unit &unit, Builder &b, const Op &op, llvm::ArrayRef<llvm::Value *> operands);
/// Stops the program where `count` from `from` on do not lie within 0..size-1.
void emit_check_from(Unit &unit, Builder &b, Place place, llvm::Value *from, int64_t size, int64_t count);
/// Emits a `run` of a library routine.
void emit_run(Unit &unit, Builder &b, const Op &op, llvm::ArrayRef<llvm::Value *> operands);

// program.cc
void emit_variables(Unit &unit);
void emit_program_entry(Unit &unit);
bool check_static_storage(const spectra::Module &module, spectra::Diag &diag);

// emit.cc
/// Links the math library, optimizes by tier, and gives the assembly text.
std::string emit_assembly(Unit &unit);

} // namespace mica::codegen
