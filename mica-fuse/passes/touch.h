// What operations and functions do to memory: the order of those that meet there, and what may be borrowed.
#pragma once
#include "../fuse.h"
#include "spectra/ops.h"

#include <map>

namespace mica::fuse {

using spectra::Op;
using spectra::OpCode;
using spectra::Region;
using spectra::Type;
using spectra::Value;

/// Names of unit variables that a function may write, through calls as well; `everything` where it can't be
/// known.
struct Writes {
  bool everything = false;
  std::vector<std::string_view> names;
  bool touches(std::string_view name) const;
};
using WriteSummary = std::map<std::string_view, Writes>;
WriteSummary summarize_writes(const spectra::Module &module);

/// The variable that a pointer value or a path starts at: "@w", "$x", or "" where it can't be known.
std::string base_of(const Op &op);
std::string base_of_pointer(const Value *pointer);

/// What an operation does to memory, for the order of those that meet there.
struct Touch {
  std::vector<std::string> reads, writes;
  bool all_reads = false, all_writes = false;
  bool outputs = false; ///< is seen outside, or may stop the program: these keep their order
};
void touch_op(const Op &op, const WriteSummary &summary, Touch &touch);

} // namespace mica::fuse
