// Reading, printing and verifying the levels checked, grad, fused and target. (Level parsed: spectra/tree.h.)
#pragma once
#include "spectra/module.h"

namespace spectra {

enum class ReadResult { ok, wrong, cut_off };

/// Reads a text. Errors go to `diag_out` as `name:line:column: error: ...` about the text itself. `cut_off`
/// where the text ends before its `end`: nothing is printed then, since the stage before has said why.
ReadResult read_module(std::string_view text, const std::string &name, Module &module,
                       std::ostream &diag_out);

/// The canonical text: printing what was read gives the same bytes.
std::string print_module(const Module &module);

/// Whether the module keeps every rule of its level; each breach is reported to `diag_out` with the
/// operation. `text_name` names the text in messages.
bool verify_module(Module &module, const std::string &text_name, std::ostream &diag_out);

/// Removes places and source lines, for tests that compare texts.
void strip_places(Module &module);

/// The same on the bytes of a text of any level, even one that does not read.
std::string strip_text(std::string_view text);

/// The body of every stage between two of these levels: read, check the level, verify, run, verify, print.
/// `run` returns false where it reported errors. The result is an exit code.
int transform_text(const std::string &name, const std::string &text, Level from, Level to,
                   bool (*run)(Module &, Diag &, void *options), void *options, std::string &output);

} // namespace spectra
