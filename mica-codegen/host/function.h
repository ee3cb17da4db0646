// One function being emitted. Its parts stand in files of their own: paths, control, calls, library.
#pragma once
#include "spectra/ops.h"
#include "unit.h"

namespace mica::codegen {

class FunctionEmitter {
public:
  FunctionEmitter(Unit &unit, const spectra::Func &func);
  void emit();

private:
  using LValue = llvm::Value *;

  // functions.cc
  void show_parameter(const Value &v, llvm::Argument *argument, unsigned number);
  void emit_locals();
  void show_local(const spectra::Variable &local, LValue address);
  // debug_frames.cc
  void show_fields(const spectra::Record &frame, LValue address, const std::vector<uint64_t> &way, bool own);
  void show_outer_frames(LValue frame);
  const spectra::Record *frame_of(std::string_view function) const;
  bool is_entry_copy(const Op &op) const;
  void emit_region(const spectra::Region &region);
  void emit_op(const Op &op);
  void set_location(const Op &op);
  LValue value(const Value *v) const { return values_[v->number]; }
  LValue arg(const Op &op, int i) const { return value(op.arg(i)); }
  void define(const Value *v, LValue l) { values_[v->number] = l; }
  LValue place_file(const Op &op) { return place_arguments(unit_, op.place()).first; }
  LValue place_line(const Op &op) { return place_arguments(unit_, op.place()).second; }
  bool terminated() const { return b_.GetInsertBlock()->getTerminator() != nullptr; }
  llvm::BasicBlock *block(const char *name) {
    return llvm::BasicBlock::Create(unit_.context, name, function_);
  }
  LValue entry_slot(llvm::Type *type, const char *name, uint64_t count = 1,
                    unsigned align = 8); ///< an alloca

  // paths.cc
  LValue path_address(const Op &op);
  const Type *path_end(const Op &op) const;
  LValue load(const Type *type, LValue address);
  void store(const Type *type, LValue v, LValue address);
  void tag(llvm::Instruction *access, const char *what);

  // control.cc
  void emit_if(const Op &op);
  void emit_switch(const Op &op);
  void emit_for(const Op &op);
  void emit_while(const Op &op);
  void emit_return(const Op &op);
  void emit_call(const Op &op);
  void emit_call_value(const Op &op);
  void emit_closure(const Op &op);

  // library.cc
  bool emit_library(const Op &op);
  bool emit_check(const Op &op);
  LValue call(const char *name, llvm::Type *result, llvm::ArrayRef<LValue> arguments);
  LValue first(LValue pair) { return b_.CreateExtractValue(pair, 0); }
  LValue second(LValue pair) { return b_.CreateExtractValue(pair, 1); }
  LValue int64(LValue v, const Type *type);
  LValue print_arguments(const Op &op);
  void emit_tensors(const Op &op, bool save);
  void emit_arena(const Op &op);

  struct Loop {
    llvm::BasicBlock *next, *after;
  };
  /// What the function returns to the runtime before it leaves.
  struct Arena {
    LValue memory, keeper; ///< keeper: where an arena waits for the next call; null: freed
    bool on_card;
  };

  Unit &unit_;
  const spectra::Func &func_;
  llvm::Function *function_;
  Builder b_;
  std::vector<LValue> &values_;
  std::map<std::string_view, LValue> locals_;
  std::vector<Loop> loops_;
  std::vector<Arena> arenas_;
  std::vector<const Op *> yields_; ///< of the regions being emitted
  llvm::DISubprogram *subprogram_ = nullptr;
};

} // namespace mica::codegen
