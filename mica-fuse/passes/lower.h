// Lowering: whole values become memory, groups become launches, the rest becomes `run` and `copy`.
#pragma once
#include "outline.h"

namespace mica::fuse {

/// What the callers of functions and their bodies share once whole values are memory.
struct Signatures {
  std::map<const Value *, Value *> homes; ///< a whole parameter's pointer
  std::map<std::string_view, const Type *>
      whole_result;                                ///< functions whose answer became a last pointer parameter
  std::map<std::string_view, Value *> result_home; ///< that parameter
};

/// Changes every function's head: whole parameters and results become pointers.
Signatures lower_signatures(spectra::Module &module);

/// Lowers one function; gives the bytes of its arena.
int64_t lower_function(spectra::Module &module, spectra::Func &func, const Signatures &signatures,
                       Outliner &outliner, const WriteSummary &writes, const Options &options,
                       spectra::Diag &diag);

} // namespace mica::fuse
