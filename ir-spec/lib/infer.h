// Type rules that have a file of their own.
#pragma once
#include "spectra/ops.h"

namespace spectra {

bool infer_attention(Module &module, const Op &op, std::vector<const Type *> &types, std::string &why);
bool infer_attention_gradient(Module &module, const Op &op, std::vector<const Type *> &types,
                              std::string &why);

} // namespace spectra
