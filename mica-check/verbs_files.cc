// SaveTensors and LoadTensors: variables by name; an aggregate gives its leaves the names of their paths.
#include "whole_parts.h"

#include <set>

namespace mica::check {

using spectra::OpCode;

namespace {

/// Tensors, numbers, bools and random states have a form in a file.
bool has_form(const Type *type) {
  const Type *t = Types::base(type);
  return t->is_whole() || (t->is_scalar() && !t->is_unicode()) || t->is(Kind::random) ||
         t->is(Kind::enumeration);
}

} // namespace

Operand check_files(Checker &c, Verb verb, const Node &call) {
  const spectra::Place at = call.first->place;
  const std::string verb_text = verb_name(verb);
  spectra::Value *file = c.load(c.check_as(argument(call, 1), c.types.string(), purpose_of(verb, 1)));
  bool right = file != nullptr;
  if (call.count % 2 != 0) {
    c.check_rest(argument(call, 1).next);
    return c.error(at, "`" + verb_text + "` takes a file and then pairs of a name and a variable",
                   verb_text + "(\"model.safetensors\", \"w\", w, \"b\", b)");
  }
  std::vector<spectra::Value *> operands{file};
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (uint32_t i = 2; i + 1 < call.count + 1 && i < call.count; i += 2) {
    Operand name = c.check(argument(call, i));
    if (!name.is_poison() && (!name.is_constant() || !name.type->is(Kind::string))) {
      c.error(argument(call, i).place, purpose_of(verb, i) + " is a name, a constant string");
      name = Operand{};
    }
    const Node &node = argument(call, i + 1);
    Operand place = c.target_argument(node, purpose_of(verb, i + 1));
    if (name.is_poison() || place.is_poison()) {
      right = false;
      continue;
    }
    std::vector<Leaf> leaves;
    if (!collect_leaves(c, place, leaves)) {
      right = false;
      continue;
    }
    for (const Leaf &leaf : leaves) {
      std::string full = name.constant.text + (leaf.name.empty() ? "" : "." + leaf.name);
      if (!has_form(leaf.operand.type)) {
        c.error(node.place,
                "`" + full + "` is " + c.types.name(leaf.operand.type) +
                    ", which has no form in a file of tensors",
                "tensors, numbers, bools and `random` have one");
        right = false;
        break;
      }
      if (!seen.insert(full).second) {
        c.error(argument(call, i).place, "the name `" + full + "` stands twice");
        right = false;
        break;
      }
      names.push_back(full);
      operands.push_back(c.address_of(leaf.operand));
    }
  }
  if (!right) return Operand{};
  if (names.empty())
    return c.error(at, "`" + verb_text + "` has nothing to " + (verb == Verb::SaveTensors ? "save" : "load"));
  return make(c,
              {verb == Verb::SaveTensors ? OpCode::save_tensors : OpCode::load_tensors,
               operands,
               {{spectra::Attr::names, names}},
               nullptr,
               false,
               {}},
              at);
}

} // namespace mica::check
