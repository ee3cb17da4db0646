// What the host side asks of the card's side: PTX of its kernels, and the host's part of launches and copies.
#pragma once
#include "host/unit.h"

namespace mica::codegen {

/// Makes every `gpu` kernel in the card's module. Called before the host's functions are emitted. False where
/// an error was reported.
bool lower_card_kernels(Unit &unit, spectra::Diag &diag);

/// After the host's functions, which may have asked for routines: the PTX sections of the text, and the table
/// of `struct mica_kernel` into `unit.card_kernels`.
void finish_card(Unit &unit);

/// Emits the host's part of `launch`, `run`, `copy` and `wait` where they work on the card: calls of
/// libmicart's card functions. Gives the operation's result, or null where it has none.
llvm::Value *emit_card_op(Unit &unit, Builder &b, const Op &op, llvm::ArrayRef<llvm::Value *> operands);

/// Whether an operation of level fused works on the card: a launch of a `gpu` kernel, a copy or a routine
/// with a pointer to a value there, any wait of a text for the card.
bool is_card_op(const Unit &unit, const Op &op);

/// variables.cc: whether a variable of this type holds addresses of values on the card (in records and arrays
/// too), which get their memory when it comes to life.
bool has_card_parts(const Type *type);
/// Gives the card parts of `repeat` neighbours of `type` at `variable` zeroed memory, one range in all; the
/// address of that range, for mica_card_free. `repeat` is an i64.
llvm::Value *emit_card_place(Unit &unit, Builder &b, Place place, llvm::Value *variable, const Type *type,
                             llvm::Value *repeat);
/// Gives that memory back; `variable` may be null.
void emit_card_unplace(Unit &unit, Builder &b, llvm::Value *variable, const Type *type);
/// Copies one variable to another: the card parts' contents, and all else as it lies.
void emit_card_copy_value(Unit &unit, Builder &b, Place place, llvm::Value *to, llvm::Value *from,
                          const Type *type);
/// Before the program's work: the card is there, or the program ends; the unit's variables get their memory.
void emit_card_start(Unit &unit, Builder &b);

} // namespace mica::codegen
