// The verbs of whole values: one table of what each takes, and the dispatch to the file of its family.
#include "whole_parts.h"

namespace mica::check {

namespace {

constexpr size_t kAny = SIZE_MAX;

enum class Family : uint8_t {
  maker,
  layout,
  cells,
  reduction,
  rows,
  attention,
  norms,
  steps,
  across,
  window,
  sizes,
  files,
  later
};

struct Row {
  Verb verb;
  size_t least, most; ///< arguments
  Family family;
  const char *form; ///< as the manual writes it, for hints
};

const Row kRows[] = {
    {Verb::Zeros, 0, 0, Family::maker, "Zeros()"},
    {Verb::Filled, 1, 1, Family::maker, "Filled(v)"},
    {Verb::Normal, 3, 3, Family::maker, "Normal(mean, deviation, address r)"},
    {Verb::Uniform, 3, 3, Family::maker, "Uniform(low, high, address r)"},
    {Verb::Reshape, 1, 1, Family::layout, "Reshape(x)"},
    {Verb::Transpose, 1, 1, Family::layout, "Transpose(x)"},
    {Verb::Permute, 2, kAny, Family::layout, "Permute(x, 0, 2, 1)"},
    {Verb::Concat, 1, kAny, Family::layout, "Concat(a, b)"},
    {Verb::Slice, 3, 3, Family::layout, "Slice(x, from, count)"},
    {Verb::SliceRows, 3, 3, Family::layout, "SliceRows(x, from, count)"},
    {Verb::Gather, 2, 2, Family::rows, "Gather(table, ids)"},
    {Verb::RowPick, 2, 2, Family::rows, "RowPick(x, ids)"},
    {Verb::Softmax, 1, 1, Family::reduction, "Softmax(x)"},
    {Verb::LogSoftmax, 1, 1, Family::reduction, "LogSoftmax(x)"},
    {Verb::CrossEntropy, 2, 3, Family::rows, "CrossEntropy(logits, targets [, classes])"},
    {Verb::CrossEntropySum, 2, 3, Family::rows, "CrossEntropySum(logits, targets [, classes])"},
    {Verb::Sum, 1, 1, Family::reduction, "Sum(x)"},
    {Verb::Mean, 1, 1, Family::reduction, "Mean(x)"},
    {Verb::Max, 1, 1, Family::reduction, "Max(x)"},
    {Verb::Min, 1, 1, Family::reduction, "Min(x)"},
    {Verb::Norm, 1, 1, Family::reduction, "Norm(x)"},
    {Verb::ArgMax, 1, 1, Family::reduction, "ArgMax(x)"},
    {Verb::RowSum, 1, 1, Family::reduction, "RowSum(x)"},
    {Verb::RowMean, 1, 1, Family::reduction, "RowMean(x)"},
    {Verb::RowMax, 1, 1, Family::reduction, "RowMax(x)"},
    {Verb::RowArgMax, 1, 1, Family::reduction, "RowArgMax(x)"},
    {Verb::ColumnSum, 1, 1, Family::reduction, "ColumnSum(x)"},
    {Verb::ColumnMean, 1, 1, Family::reduction, "ColumnMean(x)"},
    {Verb::Exp, 1, 1, Family::cells, "Exp(x)"},
    {Verb::Ln, 1, 1, Family::cells, "Ln(x)"},
    {Verb::Sqrt, 1, 1, Family::cells, "Sqrt(x)"},
    {Verb::Rsqrt, 1, 1, Family::cells, "Rsqrt(x)"},
    {Verb::Abs, 1, 1, Family::cells, "Abs(x)"},
    {Verb::Sin, 1, 1, Family::cells, "Sin(x)"},
    {Verb::Cos, 1, 1, Family::cells, "Cos(x)"},
    {Verb::Tanh, 1, 1, Family::cells, "Tanh(x)"},
    {Verb::Sigmoid, 1, 1, Family::cells, "Sigmoid(x)"},
    {Verb::Relu, 1, 1, Family::cells, "Relu(x)"},
    {Verb::Silu, 1, 1, Family::cells, "Silu(x)"},
    {Verb::Erf, 1, 1, Family::cells, "Erf(x)"},
    {Verb::Erfc, 1, 1, Family::cells, "Erfc(x)"},
    {Verb::Gelu, 1, 1, Family::cells, "Gelu(x)"},
    {Verb::GeluTanh, 1, 1, Family::cells, "GeluTanh(x)"},
    {Verb::Finite, 1, 1, Family::cells, "Finite(x)"},
    {Verb::Pow, 2, 2, Family::cells, "Pow(a, b)"},
    {Verb::Maximum, 2, 2, Family::cells, "Maximum(a, b)"},
    {Verb::Minimum, 2, 2, Family::cells, "Minimum(a, b)"},
    {Verb::Fma, 3, 3, Family::cells, "Fma(a, b, c)"},
    {Verb::Select, 3, 3, Family::cells, "Select(condition, a, b)"},
    {Verb::ClipGradNorm, 2, 2, Family::steps, "ClipGradNorm(max, g)"},
    {Verb::ClipGradNorms, 2, kAny, Family::steps, "ClipGradNorms(max, g1, g2, ...)"},
    {Verb::AdamWStep, 10, 10, Family::steps, "AdamWStep(step, rate, beta1, beta2, eps, decay, w, g, m, v)"},
    {Verb::AdamWSteps, 10, kAny, Family::steps,
     "AdamWSteps(step, rate, beta1, beta2, eps, decay, w1, g1, m1, v1, ...)"},
    {Verb::SgdStep, 3, 3, Family::steps, "SgdStep(rate, w, g)"},
    {Verb::SgdSteps, 3, kAny, Family::steps, "SgdSteps(rate, w1, g1, w2, g2, ...)"},
    {Verb::ScaleTensors, 2, kAny, Family::steps, "ScaleTensors(factor, t1, t2, ...)"},
    {Verb::AddTensors, 3, kAny, Family::steps, "AddTensors(factor, a1, b1, a2, b2, ...)"},
    {Verb::ToHost, 1, 1, Family::across, "ToHost(x)"},
    {Verb::ToGpu, 1, 1, Family::across, "ToGpu(x)"},
    {Verb::Detach, 1, 1, Family::across, "Detach(x)"},
    {Verb::Backward, 1, 1, Family::window, "Backward(loss)"},
    {Verb::Gradient, 1, 1, Family::window, "Gradient(w)"},
    {Verb::Matrices, 1, 1, Family::window, "Matrices(model)"},
    {Verb::Vectors, 1, 1, Family::window, "Vectors(model)"},
    {Verb::Rows, 1, 1, Family::sizes, "Rows(x)"},
    {Verb::Columns, 1, 1, Family::sizes, "Columns(x)"},
    {Verb::Size, 2, 2, Family::sizes, "Size(x, d)"},
    {Verb::SaveTensors, 3, kAny, Family::files, "SaveTensors(file, \"name\", x, ...)"},
    {Verb::LoadTensors, 3, kAny, Family::files, "LoadTensors(file, \"name\", x, ...)"},
    {Verb::CausalMask, 1, 1, Family::later, "CausalMask(s)"},
    {Verb::LayerNorm, 2, 4, Family::norms, "LayerNorm(x, gamma [, beta] [, eps])"},
    {Verb::RmsNorm, 2, 3, Family::norms, "RmsNorm(x, gamma [, eps])"},
    {Verb::BatchNorm, 3, 6, Family::norms, "BatchNorm(x, gamma, beta [, eps])"},
    {Verb::BatchStatistics, 4, 4, Family::norms, "BatchStatistics(momentum, x, mean, variance)"},
    {Verb::Dropout, 3, 3, Family::norms, "Dropout(x, p, address r)"},
    {Verb::Attention, 4, 6, Family::attention, "Attention(q, k, v, heads [, p, address r])"},
    {Verb::CausalAttention, 4, 6, Family::attention, "CausalAttention(q, k, v, heads [, p, address r])"},
    {Verb::SelfAttention, 2, 4, Family::attention, "SelfAttention(qkv, heads [, p, address r])"},
    {Verb::CausalSelfAttention, 2, 4, Family::attention, "CausalSelfAttention(qkv, heads [, p, address r])"},
    {Verb::Rotary, 3, 3, Family::later, "Rotary(x, heads, base)"},
};

const Row *find_row(Verb verb) {
  for (const Row &row : kRows)
    if (row.verb == verb) return &row;
  return nullptr;
}

} // namespace

const Node &argument(const Node &call, uint32_t i) { return *call.child(i); }

std::string purpose_of(Verb verb, uint32_t i) {
  return "argument " + std::to_string(i) + " of `" + verb_name(verb) + "`";
}

Operand check_verb_call(Checker &c, Verb verb, const Node &call, const Type *expected) {
  const Row *row = find_row(verb);
  const std::string name = verb_name(verb);
  if (!row) return c.error(call.first->place, "`" + name + "` is not known here");
  const spectra::Place at = call.first->place;
  if (c.constants_only && row->family != Family::sizes)
    return c.error(at, "a constant is wanted here, and `" + name + "` is computed when the program runs");
  const size_t given = call.count - 1;
  if (given < row->least || given > row->most) {
    std::string wanted = std::to_string(row->least);
    if (row->most == kAny)
      wanted = "at least " + wanted;
    else if (row->most != row->least)
      wanted += " to " + std::to_string(row->most);
    c.check_arguments_only(call);
    return c.error(at,
                   "`" + name + "` takes " + wanted +
                       (row->most == 1 ? " argument, not " : " arguments, not ") + std::to_string(given),
                   row->form);
  }
  switch (row->family) {
  case Family::maker: return check_maker(c, verb, call, expected);
  case Family::layout: return check_layout(c, verb, call, expected);
  case Family::cells: return check_cells(c, verb, call);
  case Family::reduction: return check_reduction(c, verb, call);
  case Family::rows: return check_rows(c, verb, call);
  case Family::attention: return check_attention(c, verb, call);
  case Family::norms: return check_norms(c, verb, call);
  case Family::steps: return check_steps(c, verb, call);
  case Family::across: return check_across(c, verb, call);
  case Family::window: return check_window_verb(c, verb, call);
  case Family::sizes: return check_sizes(c, verb, call);
  case Family::files: return check_files(c, verb, call);
  case Family::later: break;
  }
  c.check_arguments_only(call);
  return c.error(at, "`" + name + "` comes in a later version");
}

} // namespace mica::check
