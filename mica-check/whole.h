// Whole values: what the checker's core calls for vectors, matrices, tensors and scalars on the card. The
// files of this part: whole.cc (small things), whole_operators.cc, whole_index.cc, whole_convert.cc,
// whole_assign.cc, aggregates.cc, verbs.cc (the table) and verbs_*.cc, window.cc, windows_check.cc,
// device_if.cc, open_shapes.cc, promote*.cc.
#pragma once
#include "checker.h"

namespace mica::check {

/// `a sign b` where at least one operand is whole or lives on the card; `code` is mul for `*` and `.*`, div
/// for `/` and
/// `./`: `sign` tells them apart. Constants and host scalars may stand beside.
Operand check_whole_binary(Checker &, spectra::OpCode code, std::string_view sign, Operand a, Operand b,
                           spectra::Place at);
/// `neg` or `not_` of a whole value or a scalar on the card.
Operand check_whole_unary(Checker &, spectra::OpCode code, Operand a, spectra::Place at);
/// A verb of names.inc's first group.
Operand check_verb_call(Checker &, Verb verb, const Node &call, const Type *expected);
/// `tape ... end`.
void check_tape(Checker &, const Node &node);
/// `x[...]` where x is a whole value: row, cell, rows a..b; `subscript` and those after it (`->next`) are the
/// indices. A cell of a place stays a place (assignable on the host).
Operand check_index_whole(Checker &, Operand base, const Node *subscript, spectra::Place at);
/// `x as T` where x or T is whole or on the card (T is a cell type, or a whole type of the same shape).
Operand convert_whole_as(Checker &, Operand operand, const Type *to, spectra::Place at);
/// Implicit conversion where the operand or `to` is whole or on the card: cell widening, a scalar to a device
/// scalar.
Operand convert_whole(Checker &, Operand operand, const Type *to, Purpose purpose);
bool converts_whole(Checker &, const Operand &operand, const Type *to);
/// `target := value` where the target is a whole value, a device scalar, or a record or array with such
/// leaves; `value` has not been checked yet, so that makers and Gradient see their target. True where it has
/// been handled.
bool assign_whole(Checker &, const Operand &target, const Node &value, spectra::Place at);
/// A copy of a record or an array with whole leaves, leaf by leaf: their memory may be on the card, and the
/// tape follows values. False where the type has none (or very many on the host alone): then its bytes are
/// copied.
bool copy_leaves(Checker &, const Operand &to, const Operand &from);
/// Whether a record, an array or a value has a part on the card.
bool has_card_leaf(const Type *);
/// `if c then ...` where c lives on the card: checks the branches' rules. The core emits the `if` afterwards.
void check_device_if(Checker &, const Node &node);
/// The instance of a procedure with open shapes for these arguments (already checked); null after an error.
Proc *instantiate(Checker &, Proc &open, std::vector<Operand> &arguments, spectra::Place at);
/// Tracked values against variables: called where a value is stored to, passed to or returned as `to`.
bool check_tracked(Checker &, const Operand &from, const Type *to, Purpose purpose);
/// After everything is emitted: the rules over the whole text (windows reached through calls, Backward's
/// windows).
void finish_whole(Checker &);

} // namespace mica::check
