#include "fuse.h"

#include "passes/lower.h"
#include "passes/transposes.h"

#include <iostream>

namespace mica::fuse {

bool fuse(spectra::Module &module, spectra::Diag &diag, const Options &options) {
  // A transpose that only a product reads is the product's own flag.
  fold_transposes(module, options);
  // Which unit variables each function may change, for what may be borrowed across its calls.
  WriteSummary writes = summarize_writes(module);
  // Whole parameters and answers become pointers.
  Signatures signatures = lower_signatures(module);
  // Groups become kernels, whole values memory, one function after the other; like kernels are shared.
  Outliner outliner(module);
  int64_t peak = 0;
  for (spectra::Func *func : module.funcs)
    if (!func->external) peak += lower_function(module, *func, signatures, outliner, writes, options, diag);
  if (options.report_memory)
    std::cerr << "memory: " << peak << " bytes of buffers at most, beside the program's variables\n";
  return diag.errors() == 0;
}

} // namespace mica::fuse
