// What ops.yaml says of an operation, as the library and the stages ask for it.
#pragma once
#include "spectra/module.h"

namespace spectra {

/// How the results' types follow from the operands (lib/infer.cc holds one function a rule).
enum class TypeRule : uint8_t {
#define SPECTRA_RULE(name) name,
#include "spectra/ops.inc"
#undef SPECTRA_RULE
};

/// What fusion may do with it.
enum class Role : uint8_t { none, map, rows, reduce, layout, product, maker, composite, barrier };

enum Effect : uint8_t {
  kPure = 0,
  kReads = 1,   ///< reads memory
  kWrites = 2,  ///< writes memory
  kOutput = 4,  ///< is seen outside the program
  kFails = 8,   ///< may stop the program, so it is not removed or moved before another effect
  kControl = 16 ///< transfers control
};

enum class GradientKind : uint8_t { rule, zero, none };

struct OpInfo {
  OpCode code;
  const char *name;
  int min_args, max_args; ///< operands after the path's; max -1: any number
  int min_results, max_results;
  int min_regions, max_regions;
  bool has_path, has_symbol;
  uint8_t levels; ///< bit i: legal at Level i
  uint8_t effects;
  TypeRule rule;
  Role role;
  GradientKind gradient;
  const char *kinds; ///< what the operands are, "string index"; those behind `|` repeat (lib/operands.cc)
  const char
      *attributes; ///< "transpose_a? transpose_b?" : names, `?` where optional, with their kinds after `:`
  const char *summary;
  const char *example;
};

const OpInfo &info(OpCode);
const OpInfo *find_op(std::string_view name);
inline bool is_pure(const Op &op) { return info(op.code).effects == kPure; }
const char *attr_name(Attr);
std::optional<Attr> find_attr(std::string_view name);

/// Computes the results' types from operands, attributes and path. False where they don't fit; `why` then
/// says what is wrong in the words of a diagnostic ("product needs inner sizes to agree: 64 and 32"). Rules
/// that can't know a result (const, read of a named type, ...) leave `types` as given.
bool infer_types(Module &module, const Func *func, const Op &op, std::vector<const Type *> &types,
                 std::string &why);

/// Whether the operands are of the kinds that the table asks for, and an explicit result fits them. `why` says
/// what is wrong.
bool operands_fit(Module &module, const Func *func, const Op &op, std::string &why);

} // namespace spectra
