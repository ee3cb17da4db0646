// Attention, CausalAttention, SelfAttention, CausalSelfAttention.
#include "whole_parts.h"

namespace mica::check {

using spectra::OpCode;

namespace {

bool needs_rows_of_floats(Checker &c, Verb verb, const Node &call, uint32_t i, const Operand &x) {
  std::string wrong;
  if (!x.type->is_whole() || x.type->rank < 2)
    wrong = " needs rows, so a matrix or a tensor, not ";
  else if (!x.type->is_float())
    wrong = " needs floats, not ";
  if (wrong.empty()) return true;
  c.error(argument(call, i).place, purpose_of(verb, i) + wrong + c.types.name(x.type));
  return false;
}

/// Queries and keys differ in their rows alone, keys and values in nothing.
bool shapes_meet(Checker &c, Verb verb, const Operand *x, spectra::Place at) {
  auto differ = [&](const Operand &a, const Operand &b, const char *rule) {
    c.error(at,
            "`" + std::string(verb_name(verb)) + "` needs " + rule + ": " + shape(c, a.type) + " and " +
                shape(c, b.type),
            describe(c, a) + ", " + describe(c, b));
    return false;
  };
  if (x[1].type->sizes != x[2].type->sizes)
    return differ(x[1], x[2], "a value for each key, so one shape of both");
  std::vector<int64_t> q = x[0].type->sizes, k = x[1].type->sizes;
  q[q.size() - 2] = 0;
  k[k.size() - 2] = 0;
  return q == k || differ(x[0], x[1], "queries and keys that differ in their rows alone");
}

bool heads_fit(Checker &c, Verb verb, const Node &node, uint32_t argument_number, __int128 heads,
               const Operand &x, bool packed) {
  int64_t columns = x.type->sizes.back();
  const std::string name = "`" + std::string(verb_name(verb)) + "`";
  if (heads < 1) {
    c.error(node.place,
            purpose_of(verb, argument_number) + " is " + text_of(heads) + ", and a head is needed at least");
    return false;
  }
  if (packed && columns % 3 != 0) {
    c.error(x.at,
            name + " needs queries, keys and values side by side, so columns in threes: " + shape(c, x.type));
    return false;
  }
  if (packed) columns /= 3;
  if (columns % heads == 0) return true;
  c.error(node.place,
          text_of(heads) + " heads don't divide the " + std::to_string(columns) +
              (packed ? " columns of queries, keys and values in " : " columns of ") + shape(c, x.type),
          "each head gets as many columns as every other");
  return false;
}

} // namespace

Operand check_attention(Checker &c, Verb verb, const Node &call) {
  const bool packed = verb == Verb::SelfAttention || verb == Verb::CausalSelfAttention;
  const bool causal = verb == Verb::CausalAttention || verb == Verb::CausalSelfAttention;
  const std::string name = verb_name(verb);
  const spectra::Place at = call.first->place;
  const uint32_t inputs = packed ? 1 : 3, given = call.count - 1;
  if (given == inputs + 2) {
    c.check_arguments_only(call);
    return c.error(argument(call, given).place,
                   "`" + name + "` with a probability needs a random state to draw from",
                   "address r after the probability");
  }
  Operand x[3];
  for (uint32_t i = 0; i < inputs; ++i) x[i] = value_of(c, argument(call, i + 1));
  __int128 heads = 0;
  bool right = c.constant_integer(argument(call, inputs + 1), purpose_of(verb, inputs + 1), heads);
  DropArguments drop;
  const bool drops = given > inputs + 1;
  if (drops) right = drop_arguments(c, verb, call, inputs + 2, drop) && right;
  for (uint32_t i = 0; i < inputs; ++i)
    if (x[i].is_poison() || x[i].type->is(Kind::open)) return Operand{};
  for (uint32_t i = 0; i < inputs; ++i) right = needs_rows_of_floats(c, verb, call, i + 1, x[i]) && right;
  if (!right) return Operand{};
  if (!packed) {
    if (!one_place(c, {&x[0], &x[1], &x[2]}, name, at)) return Operand{};
    if (!unify_cells(c, {&x[0], &x[1], &x[2]}, name, at) || !shapes_meet(c, verb, x, at)) return Operand{};
  }
  if (!heads_fit(c, verb, argument(call, inputs + 1), inputs + 1, heads, x[0], packed)) return Operand{};

  bool tracked = false;
  std::vector<spectra::Value *> operands;
  for (uint32_t i = 0; i < inputs; ++i) {
    tracked = tracked || x[i].type->tracked;
    operands.push_back(c.load(x[i]));
    if (!operands.back()) return Operand{};
  }
  if (drops && !drop.never) {
    const std::vector<int64_t> &q = x[0].type->sizes, &k = x[packed ? 0 : 1].type->sizes;
    int64_t cells = static_cast<int64_t>(heads) * k[k.size() - 2];
    for (size_t d = 0; d + 1 < q.size(); ++d) cells *= q[d];
    operands.push_back(drop.chance);
    operands.push_back(reserve_draws(c, drop, cells, at));
  }
  c.build.set_place(at);
  spectra::Op *op = c.build.append(OpCode::attention);
  op->operands.assign(operands.begin(), operands.end());
  op->set(spectra::Attr::heads, static_cast<int64_t>(heads));
  if (causal) op->set(spectra::Attr::causal, true);
  std::vector<const spectra::Type *> types;
  std::string why;
  if (!spectra::infer_types(c.module, c.func, *op, types, why)) {
    c.build.region()->ops.pop_back();
    return c.error(at, why);
  }
  spectra::Value *y = c.build.add_result(op, types[0], "y");
  c.build.add_result(op, types[1], "rows");
  return c.value_operand(y, c.types.with_tracked(c.types.raise(types[0]), tracked), at);
}

} // namespace mica::check
