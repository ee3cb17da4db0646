// Grouping: which operations of a region run together, and in which order the groups run.
#pragma once
#include "../fuse.h"
#include "spectra/ops.h"

namespace mica::fuse {

using spectra::Op;
using spectra::OpCode;
using spectra::Region;
using spectra::Type;
using spectra::Value;

/// A node of the schedule: operations that become one kernel, or one operation that stands for itself.
struct Node {
  enum class Kind : uint8_t {
    single, ///< anything that is lowered by itself
    map,    ///< cell by cell over `space`
    rows    ///< rows of `length` cells over `space`
  } kind = Kind::single;
  std::vector<Op *> ops; ///< in program order
  std::vector<int64_t> space;
  int64_t length = 0;     ///< rows: cells of a row
  int begin = 0, end = 0; ///< times: `end` lies behind the times of the regions inside
};

/// How a value of a rows kernel is seen by one row.
enum class Level : uint8_t { none, row, scalar };

/// The level at which an operation of this shape works in a kernel over rows `space` of `length` cells.
Level level_of(const std::vector<int64_t> &sizes, const std::vector<int64_t> &space, int64_t length);

/// What kernels compute and memory holds: whole values, and scalars that live on the card.
inline bool in_memory(const Value *v) { return v->type->is_device_or_whole(); }
/// A constant of a program's text; kernels take it in, and only who needs it in memory puts it there.
inline bool is_constant(const Value *v) { return v->def && v->def->code == OpCode::const_; }

/// A scalar of the card that is computed from constants and the processor's scalars alone: kernels that use
/// it compute it themselves.
bool is_uniform(const Value *v, int depth = 8);

/// Whether an operation can stand in a kernel's body at all.
bool is_cell_work(const Op &op);
bool is_row_work(const Op &op);

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

/// Groups the region's operations and orders the groups.
std::vector<Node> group_region(spectra::Module &module, const spectra::Func &func, Region &region,
                               const WriteSummary &writes, const Options &options);

} // namespace mica::fuse
