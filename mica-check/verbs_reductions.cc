// Reductions of all cells, of rows and of columns, and the softmaxes: verbs of one whole value.
#include "whole_parts.h"

namespace mica::check {

using spectra::OpCode;

namespace {

struct Reduction {
  Verb verb;
  OpCode code;
  bool floats_only; ///< integers have no mean, norm or softmax
};

const Reduction kReductions[] = {
    {Verb::Sum, OpCode::sum, false},
    {Verb::Mean, OpCode::mean, true},
    {Verb::Max, OpCode::max, false},
    {Verb::Min, OpCode::min, false},
    {Verb::Norm, OpCode::norm, true},
    {Verb::ArgMax, OpCode::arg_max, false},
    {Verb::RowSum, OpCode::row_sum, false},
    {Verb::RowMean, OpCode::row_mean, true},
    {Verb::RowMax, OpCode::row_max, false},
    {Verb::RowArgMax, OpCode::row_arg_max, false},
    {Verb::ColumnSum, OpCode::column_sum, false},
    {Verb::ColumnMean, OpCode::column_mean, true},
    {Verb::Softmax, OpCode::softmax, true},
    {Verb::LogSoftmax, OpCode::log_softmax, true},
};

} // namespace

Operand check_reduction(Checker &c, Verb verb, const Node &call) {
  const Reduction *row = nullptr;
  for (const Reduction &r : kReductions)
    if (r.verb == verb) row = &r;
  Operand x = value_of(c, argument(call, 1));
  if (x.is_poison() || x.type->is(Kind::open)) return Operand{};
  const spectra::Place at = argument(call, 1).place;
  if (!x.type->is_whole()) {
    std::string hint = x.type->is_aggregate() ? "name one of its tensors"
                       : verb == Verb::Max    ? "Maximum(a, b) is the larger of two"
                       : verb == Verb::Min    ? "Minimum(a, b) is the smaller of two"
                                              : "";
    return c.error(
        at, purpose_of(verb, 1) + " needs a vector, a matrix or a tensor, not " + c.types.name(x.type), hint);
  }
  if (x.type->is_bool())
    return c.error(at, purpose_of(verb, 1) + " needs numbers, not " + c.types.name(x.type),
                   "`as int32` counts true as 1");
  if (row->floats_only && !x.type->is_float())
    return c.error(at, purpose_of(verb, 1) + " needs floats, not " + c.types.name(x.type),
                   "`as float32` makes floats of them");
  const spectra::Type *lowered = c.types.lower(x.type);
  const bool picks = verb == Verb::Max || verb == Verb::Min || verb == Verb::ArgMax;
  const bool picks_row = verb == Verb::RowMax || verb == Verb::RowArgMax;
  if ((picks && lowered->cells() == 0) || (picks_row && lowered->columns() == 0))
    return c.error(at, "`" + std::string(verb_name(verb)) + "` of nothing: " + shape(c, x.type) +
                           " has no cells");
  return make(c, {row->code, {x.value}, {}, nullptr, x.type->tracked, {}}, call.first->place);
}

} // namespace mica::check
