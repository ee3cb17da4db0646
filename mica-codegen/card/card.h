// What the host side asks of the card's side: PTX of its kernels, and the host's part of launches and copies.
#pragma once
#include "host/unit.h"

namespace mica::codegen {

/// Lowers every `gpu` kernel to PTX sections of the module, and puts the table of `struct mica_kernel` into
/// `unit.card_kernels`. Called before the host's functions are emitted. False where an error was reported.
bool lower_card_kernels(Unit &unit, spectra::Diag &diag);

/// Emits the host's part of `launch`, `run`, `copy`, `wait` and `arena` where they work on the card: calls of
/// libmicart's card functions. Gives the operation's result, or null where it has none.
llvm::Value *emit_card_op(Unit &unit, Builder &b, const Op &op, llvm::ArrayRef<llvm::Value *> operands);

/// Whether an operation of level fused works on the card: a launch of a `gpu` kernel, an arena there, a copy
/// or a routine with a pointer to a value there, any wait of a text for the card.
bool is_card_op(const Unit &unit, const Op &op);

} // namespace mica::codegen
