// Type rules that have a file of their own.
#pragma once
#include "spectra/ops.h"

namespace spectra {

bool infer_attention(Module &module, const Op &op, std::vector<const Type *> &types, std::string &why);
bool infer_attention_gradient(Module &module, const Op &op, std::vector<const Type *> &types,
                              std::string &why);
/// `run` of an attention: its operands, whole ones by pointers, then pointers to its results; the forward's
/// second may be left out.
bool attention_run_fits(Module &module, const Op &op, OpCode code, std::string &why);

} // namespace spectra
