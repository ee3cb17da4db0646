#pragma once
#include "spectra/ops.h"
#include <optional>

namespace mica::grad {

/// The value of an integer or bool constant.
std::optional<int64_t> constant_of(const spectra::Value *value);
/// The answer of an integer or bool operation over constants, where it has one that the program would
/// compute.
std::optional<int64_t> fold(const spectra::Op &op, const std::vector<spectra::Value *> &operands);
/// How often a `for` from `low` to `high` turns.
uint64_t trip_count(int64_t low, int64_t high, int64_t by, bool down, bool is_unsigned);

} // namespace mica::grad
