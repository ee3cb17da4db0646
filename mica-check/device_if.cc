// `if` over a bool on the card guards launches: what its branches may hold (language.md 7).
#include "whole_parts.h"

namespace mica::check {

using spectra::NodeKind;

namespace {

const char *const kHint = "the host can't know the condition without waiting: `if ToHost(...) then` waits";

/// Whether an expression draws random numbers or touches the tape, which a skipped launch could not undo.
bool allowed_expression(Checker &c, const Node &node) {
  if (std::optional<Verb> verb = verb_of(c, node)) {
    switch (*verb) {
    case Verb::Normal:
    case Verb::Uniform:
    case Verb::Dropout:
    case Verb::RandomInt:
    case Verb::RandomFloat:
    case Verb::Seed:
    case Verb::Backward:
    case Verb::ToHost:
    case Verb::SaveTensors:
    case Verb::LoadTensors:
      c.error(node.first->place,
              "`" + std::string(verb_name(*verb)) + "` can't stand under a condition on the card", kHint);
      return false;
    default: break;
    }
  }
  for (const Node *child : node.children())
    if (!allowed_expression(c, *child)) return false;
  return true;
}

bool is_step(Verb verb) {
  switch (verb) {
  case Verb::ClipGradNorm:
  case Verb::ClipGradNorms:
  case Verb::AdamWStep:
  case Verb::AdamWSteps:
  case Verb::SgdStep:
  case Verb::SgdSteps:
  case Verb::ScaleTensors:
  case Verb::AddTensors: return true;
  default: return false;
  }
}

void check_branch(Checker &c, const Node &node) {
  switch (node.kind) {
  case NodeKind::block:
    for (const Node *child : node.children()) check_branch(c, *child);
    return;
  case NodeKind::empty: return;
  case NodeKind::if_:
    state(c).guarded.insert(&node);
    for (const Node *child = node.first->next; child; child = child->next) check_branch(c, *child);
    return;
  case NodeKind::for_:
  case NodeKind::for_down: check_branch(c, *node.last); return;
  case NodeKind::assign: {
    const Type *target = c.type_of_expression(*node.first);
    if (target->is_poison()) return;
    bool card = target->gpu;
    if (target->is_aggregate()) card = has_whole_leaf(target);
    if (!card)
      c.error(node.place, "a variable of the host can't be assigned under a condition on the card", kHint);
    else
      allowed_expression(c, *node.last);
    return;
  }
  case NodeKind::call_statement: {
    std::optional<Verb> verb = verb_of(c, *node.first);
    if (verb && is_step(*verb)) {
      allowed_expression(c, *node.first);
      return;
    }
    c.error(node.place, "only verbs that change tensors in place can be called under a condition on the card",
            kHint);
    return;
  }
  case NodeKind::tape:
    c.error(node.place, "a window can't stand under a condition on the card", kHint);
    return;
  default: c.error(node.place, "this statement can't stand under a condition on the card", kHint); return;
  }
}

} // namespace

void check_device_if(Checker &c, const Node &node) {
  if (state(c).guarded.count(&node)) return; // checked with the `if` around it
  for (const Node *branch = node.first->next; branch; branch = branch->next) check_branch(c, *branch);
}

} // namespace mica::check
