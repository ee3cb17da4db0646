// Where the programs lie that mica-link calls.
#pragma once
#include "link.h"

namespace mica::link {

struct CudaTools {
  std::string ptxas, nvlink, fatbinary;
};

/// Looks on PATH, in $CUDA_HOME/bin, in /usr/local/cuda/bin and in ../cuda/bin beside this program. False,
/// with an error that says what to do, where one is missing.
bool find_cuda(CudaTools &tools);

/// The command that assembles, without its files: binutils' `as`, or clang's assembler.
bool find_assembler(std::vector<std::string> &words);
/// The C driver that links.
bool find_linker(std::vector<std::string> &words);
/// ../lib/libmicart.a beside this program.
bool find_runtime(std::string &path);

} // namespace mica::link
