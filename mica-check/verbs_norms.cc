// LayerNorm, RmsNorm, BatchNorm, BatchStatistics, Dropout.
#include "whole_parts.h"

namespace mica::check {

using spectra::OpCode;

namespace {

constexpr double kEpsilon = 1e-5; ///< what PyTorch's norms add under the root

/// The last argument where it is one number: the epsilon.
bool ends_in_number(const std::vector<Operand> &args) {
  return args.size() > 2 && Types::base(args.back().type)->is_scalar();
}

/// Argument `i` has a cell for each column of `x`, in its type or in one that widens to it.
bool fits_columns(Checker &c, Verb verb, const Node &call, uint32_t i, const Operand &x, const Operand &v) {
  const spectra::Place where = argument(call, i).place;
  if (!v.type->is_whole() || v.type->rank != 1 || !v.type->is_float()) {
    c.error(where, purpose_of(verb, i) + " needs a vector of floats, a cell for each column, not " +
                       c.types.name(v.type));
    return false;
  }
  if (v.type->sizes[0] != x.type->sizes.back()) {
    c.error(where,
            "`" + std::string(verb_name(verb)) + "` needs a cell for each column: " + shape(c, x.type) +
                " and " + shape(c, v.type),
            describe(c, x) + ", so its columns are " + std::to_string(x.type->sizes.back()));
    return false;
  }
  const bool half = spectra::scalar_bytes(x.type->scalar) == 2;
  const Type *cell = c.types.scalar(v.type->scalar), *wanted = c.types.scalar(x.type->scalar);
  if (!half && !widens(cell->scalar, wanted->scalar) && cell != wanted) {
    c.error(where,
            purpose_of(verb, i) + " is " + c.types.name(c.types.with_tracked(v.type, false)) + " beside " +
                c.types.name(c.types.with_tracked(x.type, false)),
            "`as " + c.types.name(wanted) + "` narrows it");
    return false;
  }
  return true;
}

/// The number under the root, in the type that the verb computes in; null after an error.
spectra::Value *epsilon_of(Checker &c, Verb verb, const Node &call, Operand given, spectra::Scalar cell) {
  const uint32_t i = call.count - 1;
  const Type *to = c.types.scalar(cell);
  const Type *type = Types::base(given.type);
  if (!type->is_float() && !type->is_integer()) {
    c.error(argument(call, i).place,
            purpose_of(verb, i) + " needs a number, not " + c.types.name(given.type));
    return nullptr;
  }
  if (given.type->gpu || given.type->tracked) {
    c.error(argument(call, i).place,
            purpose_of(verb, i) + " is a setting, and needs a number of the host that no tape records");
    return nullptr;
  }
  given = c.converts(given, to) ? c.convert(std::move(given), to, purpose_of(verb, i))
                                : c.convert_as(std::move(given), to, argument(call, i).place);
  return c.load(c.settle(std::move(given)));
}

/// How many vectors stand behind x, and which operation that makes.
OpCode code_of(Verb verb, size_t vectors) {
  if (verb == Verb::RmsNorm) return OpCode::rms_norm;
  if (verb == Verb::LayerNorm) return vectors == 1 ? OpCode::layer_norm_scaled : OpCode::layer_norm;
  return vectors == 2 ? OpCode::batch_norm : OpCode::batch_norm_fixed;
}

bool right_count(Verb verb, size_t vectors) {
  if (verb == Verb::RmsNorm) return vectors == 1;
  if (verb == Verb::LayerNorm) return vectors == 1 || vectors == 2;
  return vectors == 2 || vectors == 4;
}

bool needs_floats(Checker &c, Verb verb, const Node &call, const Operand &x, int rank) {
  if (x.type->is_whole() && x.type->is_float() && x.type->rank >= rank) return true;
  c.error(argument(call, 1).place,
          purpose_of(verb, 1) + " needs " +
              (rank > 1 ? "a matrix or a tensor" : "a vector, a matrix or a tensor") + " of floats, not " +
              c.types.name(x.type));
  return false;
}

Operand check_dropout(Checker &c, Verb verb, const Node &call) {
  const spectra::Place at = call.first->place;
  Operand x = value_of(c, argument(call, 1));
  DropArguments drop;
  const bool right = drop_arguments(c, verb, call, 2, drop);
  if (x.is_poison() || x.type->is(Kind::open) || !right) return Operand{};
  if (!needs_floats(c, verb, call, x, 1)) return Operand{};
  if (drop.never) return x;
  int64_t cells = 1;
  for (int64_t size : x.type->sizes) cells *= size;
  spectra::Value *value = c.load(x);
  return make(c,
              {OpCode::dropout,
               {value, drop.chance, reserve_draws(c, drop, cells, at)},
               {},
               nullptr,
               x.type->tracked,
               {}},
              at);
}

/// running := running - momentum * (running - now), as PyTorch's lines (1 - momentum) * running + momentum *
/// now.
void move_toward(Checker &c, const Operand &running, spectra::Value *momentum, spectra::Value *keep,
                 spectra::Value *now) {
  spectra::Builder &b = c.build;
  spectra::Value *old = c.load(running);
  spectra::Value *kept = b.make(OpCode::mul, {old, keep});
  spectra::Value *moved = b.make(OpCode::mul, {now, momentum});
  c.store(running, b.make(OpCode::add, {kept, moved}));
}

Operand check_statistics(Checker &c, Verb verb, const Node &call) {
  const spectra::Place at = call.first->place;
  Operand momentum = value_of(c, argument(call, 1));
  Operand x = value_of(c, argument(call, 2));
  Operand running[2] = {c.check(argument(call, 3)), c.check(argument(call, 4))};
  if (momentum.is_poison() || x.is_poison() || running[0].is_poison() || running[1].is_poison())
    return Operand{};
  if (!x.type->is_whole() || !x.type->is_float() || x.type->rank < 2)
    return c.error(argument(call, 2).place, purpose_of(verb, 2) +
                                                " needs a matrix or a tensor of floats, not " +
                                                c.types.name(x.type));
  for (uint32_t i = 0; i < 2; ++i) {
    if (!running[i].is_place() || !running[i].assignable)
      return c.error(argument(call, i + 3).place,
                     purpose_of(verb, i + 3) + " is changed in place and needs a variable");
    if (!fits_columns(c, verb, call, i + 3, x, running[i])) return Operand{};
    if (running[i].type->tracked || running[i].type->scalar != x.type->scalar)
      return c.error(argument(call, i + 3).place,
                     purpose_of(verb, i + 3) + " keeps what is seen, so it is an untracked vector of " +
                         c.types.name(c.types.scalar(x.type->scalar)) + ", not " +
                         c.types.name(running[i].type));
  }
  if (!one_place(c, {&x, &running[0], &running[1]}, verb_name(verb), at)) return Operand{};
  const Type *cell = c.types.scalar(x.type->scalar), *type = Types::base(momentum.type);
  if (!(type->is_float() || type->is_integer()) || momentum.type->gpu || momentum.type->tracked ||
      !type->is_scalar())
    return c.error(argument(call, 1).place,
                   purpose_of(verb, 1) + " needs a number of the host, not " + c.types.name(momentum.type));
  momentum = c.converts(momentum, cell) ? c.convert(std::move(momentum), cell, purpose_of(verb, 1))
                                        : c.convert_as(std::move(momentum), cell, argument(call, 1).place);
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < x.type->sizes.size(); ++d) rows *= x.type->sizes[d];
  if (rows < 2)
    return c.error(argument(call, 2).place,
                   "the unbiased variance of " + std::to_string(rows) +
                       " rows does not exist: " + shape(c, x.type),
                   "`BatchStatistics` needs two rows at least");
  spectra::Value *share = c.load(c.settle(std::move(momentum))), *seen = c.load(x);
  c.build.set_place(at);
  spectra::Builder &b = c.build;
  const spectra::Type *number = share->type;
  if (x.type->tracked) seen = b.make(OpCode::detach, {seen});
  spectra::Value *keep = b.make(OpCode::sub, {b.constant_float(number, 1), share});
  spectra::Value *mean = b.make(OpCode::column_mean, {seen});
  spectra::Value *d = b.make(OpCode::sub, {seen, mean});
  spectra::Value *squares = b.make(OpCode::column_sum, {b.make(OpCode::mul, {d, d})});
  spectra::Value *variance =
      b.make(OpCode::div, {squares, b.constant_float(number, static_cast<double>(rows - 1))});
  for (const Operand &o : running) c.mark_changed(o);
  move_toward(c, running[0], share, keep, mean);
  move_toward(c, running[1], share, keep, variance);
  return Checker::nothing(at);
}

} // namespace

Operand check_norms(Checker &c, Verb verb, const Node &call) {
  if (verb == Verb::Dropout) return check_dropout(c, verb, call);
  if (verb == Verb::BatchStatistics) return check_statistics(c, verb, call);
  const spectra::Place at = call.first->place;
  std::vector<Operand> args;
  bool wrong = false;
  for (uint32_t i = 1; i < call.count; ++i) {
    args.push_back(value_of(c, argument(call, i)));
    wrong = wrong || args.back().is_poison() || args.back().type->is(Kind::open);
  }
  if (wrong || !needs_floats(c, verb, call, args[0], verb == Verb::BatchNorm ? 2 : 1)) return Operand{};
  Operand &x = args[0];
  const bool states = ends_in_number(args);
  const size_t vectors = args.size() - 1 - (states ? 1 : 0);
  if (!right_count(verb, vectors)) {
    const char *form = verb == Verb::LayerNorm ? "LayerNorm(x, gamma [, beta] [, eps])"
                       : verb == Verb::RmsNorm ? "RmsNorm(x, gamma [, eps])"
                                               : "BatchNorm(x, gamma, beta [, mean, variance] [, eps])";
    return c.error(
        at, "`" + std::string(verb_name(verb)) + "` does not take " + std::to_string(vectors) + " vectors",
        form);
  }
  bool tracked = x.type->tracked;
  std::vector<spectra::Value *> values{c.load(x)};
  for (size_t i = 1; i <= vectors; ++i) {
    if (!fits_columns(c, verb, call, static_cast<uint32_t>(i + 1), x, args[i])) return Operand{};
    if (!one_place(c, {&x, &args[i]}, verb_name(verb), at)) return Operand{};
    tracked = tracked || args[i].type->tracked;
    values.push_back(c.load(args[i]));
  }
  const bool half = spectra::scalar_bytes(x.type->scalar) == 2;
  const spectra::Scalar cell = half ? spectra::Scalar::f32 : x.type->scalar;
  spectra::Value *epsilon = states ? epsilon_of(c, verb, call, args.back(), cell)
                                   : c.build.constant_float(c.types.lower(c.types.scalar(cell)), kEpsilon);
  if (!epsilon) return Operand{};
  values.push_back(epsilon);
  return make(c, {code_of(verb, vectors), values, {}, nullptr, tracked, {}}, at);
}

} // namespace mica::check
