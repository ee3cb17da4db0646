// case: labels, ranges of labels, what is there twice, what is not covered.
#include "checker.h"

#include <algorithm>
#include <map>

namespace mica::check {

using spectra::NodeKind;
using spectra::OpCode;

namespace {

struct Label {
  __int128 low, high;
  spectra::Place at;
};

} // namespace

void Checker::case_statement(const Node &node) {
  Operand selector = check(*node.first);
  if (!selector.is_poison()) {
    if (!selector.type || (selector.kind != Operand::Kind::value && selector.kind != Operand::Kind::place &&
                           !selector.is_constant())) {
      selector = selector.kind == Operand::Kind::procedure
                     ? convert(std::move(selector), types.i32(), "`case`")
                     : not_a_value(selector);
    } else if (!selector.type->is_ordinal()) {
      selector = error(node.first->place,
                       "`case` chooses by an integer, character, bool or enumeration, not " +
                           types.name(selector.type),
                       selector.type->is(Kind::string) ? "compare strings with `if`" : "");
    } else {
      selector = settle(std::move(selector));
    }
  }
  const Type *type = selector.is_poison() ? types.poison() : Types::base(selector.type);
  spectra::Value *value = selector.is_poison() ? nullptr : index_value(selector);
  build.set_place(node.place);
  spectra::Op *op = module.new_op(OpCode::switch_, node.place);
  if (value) {
    op->operands.push_back(value);
    build.region()->ops.push_back(op);
  }
  std::vector<int64_t> triples;
  std::map<__int128, Label> seen; // by the low end; labels never overlap
  const Node *otherwise = nullptr;
  int64_t arms = 0;
  for (const Node *child = node.first->next; child; child = child->next) {
    if (child->is(NodeKind::otherwise)) {
      otherwise = child;
      break;
    }
    for (const Node *label : child->first->children()) {
      const bool range = label->is(NodeKind::range);
      Constant ends[2];
      ends[0] = check_constant(range ? *label->first : *label);
      ends[1] = range ? check_constant(*label->last) : ends[0];
      bool right = ends[0] && ends[1] && !type->is_poison();
      for (Constant &end : ends) {
        if (!right) break;
        Operand operand = convert(constant_operand(end, range ? label->first->place : label->place), type,
                                  "a label of this `case`");
        right = operand.is_constant();
        end = operand.constant;
      }
      if (!right) continue;
      if (ends[0].integer > ends[1].integer) {
        error(label->place, "the range is upside down: " + text_of(ends[0]) + " to " + text_of(ends[1]));
        continue;
      }
      // The nearest label below and the nearest above are the only ones that can overlap.
      auto above = seen.upper_bound(ends[1].integer);
      if (above != seen.begin()) {
        const Label &below = std::prev(above)->second;
        if (below.high >= ends[0].integer) {
          Constant twice = ends[0];
          twice.integer = std::max(below.low, ends[0].integer);
          error(label->place, "label " + text_of(twice) + " is there twice");
          diag.note(below.at, "the first is here");
          continue;
        }
      }
      seen[ends[0].integer] = {ends[0].integer, ends[1].integer, label->place};
      triples.push_back(arms);
      triples.push_back(static_cast<int64_t>(ends[0].integer));
      triples.push_back(static_cast<int64_t>(ends[1].integer));
    }
    const Node &body = *child->last;
    fill(op, [&](spectra::Region *) { statement(body); });
    ++arms;
  }
  fill(op, [&](spectra::Region *) {
    if (otherwise) statements(*otherwise->first);
  });
  op->set(spectra::Attr::labels, std::move(triples));
  if (otherwise || !type->is(Kind::enumeration)) return;
  std::string missing;
  int count = 0;
  const std::vector<std::string_view> &names = type->enumeration->names;
  for (size_t i = 0; i < names.size(); ++i) {
    auto above = seen.upper_bound(static_cast<__int128>(i));
    if (above != seen.begin() && std::prev(above)->second.high >= static_cast<__int128>(i)) continue;
    if (selector.type->is(Kind::subrange) &&
        (static_cast<int64_t>(i) < selector.type->low || static_cast<int64_t>(i) > selector.type->high))
      continue;
    if (++count <= 3) missing += (count > 1 ? ", " : "") + std::string(names[i]);
  }
  if (count > 3) missing += " and " + std::to_string(count - 3) + " more";
  if (count) diag.warning(node.place, "this `case` does nothing for " + missing, "add labels, or `else`");
}

} // namespace mica::check
