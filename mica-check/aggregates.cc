// Records and arrays of whole values: a verb or an assignment that takes several tensors takes such an
// aggregate as its tensors in order (language.md 3).
#include "whole_parts.h"

namespace mica::check {

using spectra::NodeKind;
using spectra::Path;

bool has_whole_leaf(const Type *type) {
  while (type->is(Kind::array)) type = type->element;
  if (type->is_device_or_whole() || type->tracked) return true;
  if (!type->is(Kind::record)) return false;
  for (const Field &field : type->record->fields)
    if (has_whole_leaf(field.type)) return true;
  return false;
}

namespace {

size_t count_leaves(const Type *type) {
  if (type->is(Kind::array)) {
    const size_t length = static_cast<size_t>(std::max<int64_t>(type->high - type->low + 1, 0));
    const size_t each = count_leaves(type->element);
    return length && each > kMostLeaves / length ? kMostLeaves + 1 : length * each;
  }
  if (!type->is(Kind::record)) return 1;
  size_t sum = 0;
  for (const Field &field : type->record->fields) sum += count_leaves(field.type);
  return std::min(sum, kMostLeaves + 1);
}

void walk_leaves(Operand place, const std::string &name, std::vector<Leaf> &leaves) {
  const Type *type = place.type;
  const std::string prefix = name.empty() ? "" : name + ".";
  if (type->is(Kind::array)) {
    for (int64_t i = type->low; i <= type->high; ++i) {
      Operand element = place;
      element.type = type->element;
      element.path.steps.push_back({Path::Step::Kind::constant, i, nullptr});
      walk_leaves(std::move(element), prefix + std::to_string(i), leaves);
    }
    return;
  }
  if (type->is(Kind::record)) {
    for (size_t i = 0; i < type->record->fields.size(); ++i) {
      Operand field = place;
      field.type = type->record->fields[i].type;
      field.path.steps.push_back({Path::Step::Kind::field, static_cast<int64_t>(i), nullptr});
      walk_leaves(std::move(field), prefix + std::string(type->record->fields[i].name), leaves);
    }
    return;
  }
  leaves.push_back({std::move(place), name});
}

/// The place of an aggregate: variables are places already, answers of functions are pointers.
Operand place_of_aggregate(Checker &c, Operand o) {
  if (o.is_place()) return o;
  const Type *type = o.type;
  spectra::Place at = o.at;
  Operand place = c.through_pointer(c.load(o), type, at);
  place.assignable = false;
  place.why_not = "is no variable";
  return place;
}

/// Whether two aggregates have the same leaves but for `tracked` and the cells' type: one is `like` the
/// other.
bool is_alike(const Type *a, const Type *b) {
  if (a == b) return true;
  if (a->is(Kind::array) && b->is(Kind::array))
    return a->index == b->index && a->low == b->low && a->high == b->high && is_alike(a->element, b->element);
  if (a->is(Kind::record) && b->is(Kind::record)) {
    const Type *first = a->record->derived_from ? a->record->derived_from : a;
    const Type *second = b->record->derived_from ? b->record->derived_from : b;
    return first == second;
  }
  return a->has_cells() && b->has_cells() && a->is_whole() == b->is_whole() && a->sizes == b->sizes;
}

} // namespace

bool collect_leaves(Checker &c, const Operand &place, std::vector<Leaf> &leaves) {
  c.complete_records();
  if (leaves.size() + count_leaves(place.type) > kMostLeaves) {
    c.error(place.at, c.types.name(place.type) + " has more than " + std::to_string(kMostLeaves) + " parts");
    return false;
  }
  walk_leaves(place, "", leaves);
  for (const Leaf &leaf : leaves)
    if (leaf.operand.type->is_poison()) return false;
  return true;
}

std::optional<Verb> verb_of(Checker &c, const Node &node) {
  if (!node.is(NodeKind::call) || !node.first->is(NodeKind::name)) return {};
  Symbol *symbol = c.scope->find(node.first->text);
  if (!symbol || symbol->kind != SymbolKind::builtin) return {};
  return symbol->builtin.verb;
}

bool tensor_list(Checker &c, const Node &node, const std::string &purpose, std::vector<Leaf> &tensors) {
  std::optional<Verb> verb = verb_of(c, node);
  if (verb == Verb::Matrices || verb == Verb::Vectors) {
    const char *name = verb_name(*verb);
    if (!c.count_arguments(node, name, 1, 1)) {
      c.check_arguments_only(node);
      return false;
    }
    std::vector<Leaf> all;
    if (!tensor_list(c, *node.first->next, std::string("argument 1 of `") + name + "`", all)) return false;
    for (Leaf &leaf : all)
      if (verb == Verb::Matrices ? leaf.operand.type->rank >= 2 : leaf.operand.type->rank == 1)
        tensors.push_back(std::move(leaf));
    return true;
  }
  if (verb == Verb::Gradient) {
    if (!c.count_arguments(node, "Gradient", 1, 1)) {
      c.check_arguments_only(node);
      return false;
    }
    std::vector<Leaf> all;
    if (!tensor_list(c, *node.first->next, "argument 1 of `Gradient`", all)) return false;
    for (Leaf &leaf : all) {
      leaf.operand = gradient_of(c, leaf.operand, node.first->place);
      if (leaf.operand.is_poison()) return false;
      tensors.push_back(std::move(leaf));
    }
    return true;
  }
  Operand o = c.check(node);
  if (o.is_poison()) return false;
  if (o.kind == Operand::Kind::procedure || !o.type || o.kind == Operand::Kind::type) {
    as_value(c, std::move(o));
    return false;
  }
  o.at = node.is(NodeKind::call) ? node.first->place : node.place;
  if (!o.type->is_aggregate()) {
    if (!o.type->is_device_or_whole() && !(o.type->is_scalar() && o.type->is_float())) {
      c.error(node.place, purpose +
                              " needs vectors, matrices, tensors, or a record or an array of such, not " +
                              c.types.name(o.type));
      return false;
    }
    tensors.push_back({std::move(o), ""});
    return true;
  }
  o = place_of_aggregate(c, std::move(o));
  std::vector<Leaf> leaves;
  if (!collect_leaves(c, o, leaves)) return false;
  for (Leaf &leaf : leaves) {
    const Type *t = leaf.operand.type;
    if (!t->is_device_or_whole() && !(t->is_scalar() && t->is_float())) {
      c.error(node.place,
              purpose + " needs tensors alone, and `" + leaf.name + "` of " + c.types.name(o.type) + " is " +
                  c.types.name(t),
              "keep what is no tensor in another record");
      return false;
    }
    tensors.push_back(std::move(leaf));
  }
  return true;
}

bool has_card_leaf(const Type *type) {
  while (type->is(Kind::array)) type = type->element;
  if (type->has_cells()) return type->gpu;
  if (!type->is(Kind::record)) return false;
  for (const Field &field : type->record->fields)
    if (has_card_leaf(field.type)) return true;
  return false;
}

bool copy_leaves(Checker &c, const Operand &to, const Operand &from) {
  constexpr size_t kSome = 4096;
  if (!has_whole_leaf(to.type)) return false;
  if (count_leaves(to.type) > kSome && !has_card_leaf(to.type)) return false;
  std::vector<Leaf> targets, sources;
  if (!collect_leaves(c, to, targets) || !collect_leaves(c, place_of_aggregate(c, from), sources))
    return true;
  const spectra::Place at = c.build.place();
  for (size_t i = 0; i < targets.size() && i < sources.size(); ++i) {
    spectra::Value *value = c.load(sources[i].operand);
    c.build.set_place(at);
    if (value) c.store(targets[i].operand, value);
  }
  return true;
}

void assign_aggregate(Checker &c, const Operand &target, const Node &value, spectra::Place at) {
  std::vector<Leaf> leaves;
  std::string purpose = "the assignment";
  if (target.symbol && target.path.steps.empty())
    purpose = "assigning to `" + std::string(target.symbol->name) + "`";
  if (!collect_leaves(c, target, leaves)) return;
  auto store = [&](const Leaf &leaf, Operand source) {
    if (source.is_poison()) return false;
    source.at = at;
    source = c.convert(as_value(c, std::move(source)), leaf.operand.type, purpose);
    spectra::Value *loaded = c.load(source);
    c.build.set_place(at);
    if (loaded) c.store(leaf.operand, loaded);
    return loaded != nullptr;
  };

  std::optional<Verb> verb = verb_of(c, value);
  if (verb == Verb::Zeros || verb == Verb::Filled || verb == Verb::Normal || verb == Verb::Uniform) {
    MakerArguments arguments;
    if (!maker_arguments(c, *verb, value, arguments)) return;
    for (const Leaf &leaf : leaves) {
      if (!leaf.operand.type->is_device_or_whole() && !leaf.operand.type->is_scalar()) {
        c.error(value.first->place, "`" + std::string(verb_name(*verb)) + "` makes tensors, and `" +
                                        leaf.name + "` of " + c.types.name(target.type) + " is " +
                                        c.types.name(leaf.operand.type));
        return;
      }
      if (!store(leaf, make_filled(c, *verb, arguments, leaf.operand.type, value.first->place))) return;
    }
    return;
  }
  std::vector<Leaf> sources;
  const Type *type = nullptr;
  if (verb == Verb::Gradient) {
    if (!tensor_list(c, value, purpose, sources)) return;
    if (sources.size() != leaves.size()) {
      c.error(value.first->place, purpose + ": the gradient has " + std::to_string(sources.size()) +
                                      " tensors, the variable " + std::to_string(leaves.size()));
      return;
    }
  } else {
    Operand source = c.check(value, target.type);
    if (source.is_poison()) return;
    if (source.kind == Operand::Kind::procedure || !source.type || !source.type->is_aggregate()) {
      c.convert(std::move(source), target.type, purpose);
      return;
    }
    type = source.type;
    if (!is_alike(type, target.type)) {
      c.mismatch(source, target.type, purpose);
      return;
    }
    if (!collect_leaves(c, place_of_aggregate(c, std::move(source)), sources)) return;
  }
  for (size_t i = 0; i < leaves.size(); ++i)
    if (!store(leaves[i], sources[i].operand)) return;
}

} // namespace mica::check
