// Type expressions: what the words of a declaration mean.
#include "checker.h"

#include <algorithm>

namespace mica::check {

using spectra::NodeKind;
using spectra::Scalar;

namespace {

/// More cells or bytes than this are a mistake in every program, and sums of such sizes stay far from
/// overflow.
constexpr int64_t kLargest = int64_t{1} << 46;
constexpr int kDeepestType = 500;

} // namespace

bool Checker::is_supported(spectra::Scalar cell, spectra::Place at) {
  if (cell != Scalar::f16 && cell != Scalar::bf16) return true;
  error(at,
        std::string("vectors, matrices and tensors of ") + source_name(cell) + " are not yet in this version",
        "use float32; single variables may be " + std::string(source_name(cell)));
  return false;
}

const Type *Checker::type_of(const Node &node, bool open_ok, Symbol *named) {
  struct Depth {
    int &count;
    ~Depth() { --count; }
  } depth{type_depth};
  if (++type_depth > kDeepestType) {
    if (!types_too_deep) error(node.place, "types are nested too deeply", "name the inner types");
    types_too_deep = true; // said once: every type around it is looked at again and again
    return types.poison();
  }
  switch (node.kind) {
  case NodeKind::named: {
    Symbol *symbol = lookup(node.text, node.place);
    if (!symbol || symbol->kind == SymbolKind::poison) return types.poison();
    if (symbol->kind != SymbolKind::type) {
      error(node.place, "`" + std::string(node.text) + "` is no type");
      return types.poison();
    }
    resolve(*symbol);
    if (!symbol->type) return types.poison();
    return symbol->type;
  }
  case NodeKind::vector:
  case NodeKind::matrix:
  case NodeKind::tensor: return whole_type(node, open_ok);
  case NodeKind::array: return array_type(node);
  case NodeKind::range: return range_type(node);
  case NodeKind::record: return record_type(node, named);
  case NodeKind::enumeration: {
    auto it = enumerations.find(&node);
    if (it != enumerations.end()) return it->second->type;
    error(node.place, "an enumeration is declared with `type` first", "type Color = (red, green);");
    return types.poison();
  }
  case NodeKind::pointer: {
    const Type *element = type_of(*node.first);
    return element->is_poison() ? element : types.pointer(element);
  }
  case NodeKind::pointer_array: {
    const Type *element = type_of(*node.first);
    return element->is_poison() ? element : types.slice(element);
  }
  case NodeKind::tracked: {
    if (node.first->is(NodeKind::like)) return like_type(*node.first, true);
    const Type *type = type_of(*node.first, open_ok);
    if (type->is_poison()) return type;
    complete_records();
    const Type *tracked = types.like(type, true, nullptr);
    if (tracked) return tracked;
    error(node.place, "`tracked` needs a float type, not " + types.name(type));
    return types.poison();
  }
  case NodeKind::on_gpu: {
    const Type *type = type_of(*node.first, open_ok);
    if (type->is_poison()) return type;
    if (!type->has_cells()) {
      error(node.place, types.name(type) + " can't live on the card",
            "numbers, bools, vectors, matrices and tensors can; give the fields or elements `on gpu`");
      return types.poison();
    }
    if (type->is_scalar() && !is_supported(type->scalar, node.place)) return types.poison();
    return types.with_gpu(type, !on_cpu());
  }
  case NodeKind::like: return like_type(node, false);
  case NodeKind::procedure_type:
  case NodeKind::function_type: return procedure_type(node);
  default: error(node.place, "a type is wanted here"); return types.poison();
  }
}

const Type *Checker::whole_type(const Node &node, bool open_ok) {
  const char *word = node.is(NodeKind::vector) ? "vector" : node.is(NodeKind::matrix) ? "matrix" : "tensor";
  const int rank = node.is(NodeKind::vector) ? 1 : node.is(NodeKind::matrix) ? 2 : -1;
  const Type *cell = type_of(*node.last);
  bool open = !node.first->is(NodeKind::sizes);
  std::vector<int64_t> sizes;
  bool wrong = false;
  if (!open) {
    __int128 cells = 1;
    for (const Node *size : node.first->children()) {
      int64_t value = 0;
      if (!constant_size(*size, value)) wrong = true;
      sizes.push_back(value);
      if (cells < kLargest) cells *= std::max<int64_t>(value, 1);
    }
    if (!wrong && rank > 0 && static_cast<int>(sizes.size()) != rank) {
      error(node.place,
            std::string("a ") + word + " has " + (rank == 1 ? "one size" : "two sizes") + ", not " +
                std::to_string(sizes.size()),
            sizes.size() > 2 ? "tensor[...] has any number of sizes" : "");
      wrong = true;
    }
    if (!wrong && cells >= kLargest) {
      error(node.place, std::string("this ") + word + " is too large");
      wrong = true;
    }
  } else if (!open_ok) {
    error(node.place, std::string("a ") + word + " needs its sizes here",
          "only a parameter may leave them open");
    wrong = true;
  }
  if (cell->is_poison()) return cell;
  const bool fits =
      cell->is_host_scalar() && (cell->is_float() || cell->is_bool() || cell->scalar == Scalar::i32 ||
                                 cell->scalar == Scalar::i64 || cell->scalar == Scalar::u8);
  if (!fits) {
    error(node.last->place,
          std::string("a ") + word + " holds floats, int32, int64, uint8 or bool, not " + types.name(cell));
    wrong = true;
  }
  if (wrong || !is_supported(cell->scalar, node.last->place)) return types.poison();
  return open ? types.open(cell->scalar, rank, false, cell->tracked)
              : types.whole(cell->scalar, sizes, false, cell->tracked);
}

const Type *Checker::range_type(const Node &node) {
  Constant low = check_constant(*node.first), high = check_constant(*node.last);
  if (!low || !high) return types.poison();
  const Type *a = Types::base(low.type), *b = Types::base(high.type);
  if (a->is_integer() && b->is_integer()) {
    // Both ends have one type: that of an integer that holds both, or the stated one.
    const Type *base = low.adapts && high.adapts ? types.i32() : low.adapts ? b : a;
    if (low.adapts && high.adapts) {
      for (const Constant *end : {&low, &high})
        if (end->integer < min_of(base->scalar) || end->integer > max_of(base->scalar)) base = types.i64();
    } else if (!low.adapts && !high.adapts && a != b) {
      error(node.place, "the ends of a range have different types: " + types.name(low.type) + " and " +
                            types.name(high.type));
      return types.poison();
    }
    for (const Constant *end : {&low, &high})
      if (end->integer < min_of(base->scalar) || end->integer > max_of(base->scalar) ||
          end->integer > max_of(Scalar::i64)) {
        error(node.place, text_of(end->integer) + " does not fit " + types.name(base));
        return types.poison();
      }
    a = b = base;
  }
  if (a != b || !a->is_ordinal()) {
    error(node.place,
          a != b ? "the ends of a range have different types: " + types.name(a) + " and " + types.name(b)
                 : "a range needs integers, characters or an enumeration, not " + types.name(a));
    return types.poison();
  }
  if (low.integer > high.integer + 1) {
    error(node.place, "the range is upside down: " + text_of(low) + " to " + text_of(high));
    return types.poison();
  }
  return types.subrange(a, static_cast<int64_t>(low.integer), static_cast<int64_t>(high.integer));
}

const Type *Checker::array_type(const Node &node) {
  std::vector<const Type *> indices;
  bool wrong = false;
  for (const Node *child = node.first; child != node.last; child = child->next) {
    const Type *index = type_of(*child);
    if (index->is_poison()) {
      wrong = true;
      continue;
    }
    const bool small = index->is(Kind::subrange) || index->is(Kind::enumeration) ||
                       (index->is_host_scalar() &&
                        (index->is_bool() || (index->is_integer() && bits_of(index->scalar) <= 16)));
    if (!small) {
      error(child->place, "an array is indexed by a range, an enumeration or bool, not " + types.name(index),
            "array[1..10] of ...");
      wrong = true;
      continue;
    }
    indices.push_back(index);
  }
  const Type *type = type_of(*node.last);
  if (type->is_poison() || wrong) return types.poison();
  __int128 elements = 1;
  for (size_t i = indices.size(); i-- > 0;) {
    const Type *index = indices[i];
    int64_t low = index->low, high = index->high;
    if (index->is(Kind::enumeration)) {
      low = 0;
      high = static_cast<int64_t>(index->enumeration->names.size()) - 1;
    } else if (index->is_scalar()) {
      low = static_cast<int64_t>(min_of(index->scalar));
      high = static_cast<int64_t>(max_of(index->scalar));
    }
    elements *= static_cast<__int128>(high) - low + 1;
    if (elements > kLargest) {
      error(node.place, "this array is too large");
      return types.poison();
    }
    type = types.array(index, low, high, type);
  }
  return type;
}

const Type *Checker::record_type(const Node &node, Symbol *named) {
  std::string name = named ? std::string(named->name) : "record";
  std::string link = named ? name : "record." + std::to_string(pending_records.size() + 1);
  if (scope->proc) link = scope->proc->link_name + "." + link;
  if (scope->proc && name == "frame") link += ".1"; // the frame record has that name
  while (!record_names.insert(link).second) link += ".1";
  RecordType *record = types.new_record(name, link);
  if (named) named->type = record->type;
  pending_records.push_back({record, &node, scope});
  return record->type;
}

void Checker::complete_records() {
  // Fields are resolved after their record has its name, so that records may point to each other in any
  // order.
  while (next_record < pending_records.size()) {
    PendingRecord pending = pending_records[next_record++];
    Scope *outside = scope;
    scope = pending.scope;
    ++resolving;
    for (const Node *declaration : pending.node->children()) {
      const Type *type = type_of(*declaration->last);
      for (const Node *name : declaration->children()) {
        if (name == declaration->last) break;
        if (pending.record->field_index(name->text) >= 0) {
          error(name->place, "field `" + std::string(name->text) + "` is declared twice");
          continue;
        }
        pending.record->fields.push_back({name->text, type, name->place});
      }
    }
    pending.record->complete = true;
    --resolving;
    scope = outside;
  }
}

const Type *Checker::like_type(const Node &node, bool tracked) {
  const Type *type = type_of_expression(*node.first);
  const Type *cell = node.count > 1 ? type_of(*node.last) : nullptr;
  if (type->is_poison() || (cell && cell->is_poison())) return types.poison();
  if (cell && !cell->is_host_scalar()) {
    error(node.last->place, "the cells of a `like` are numbers or bools, not " + types.name(cell));
    return types.poison();
  }
  if (cell && !is_supported(cell->scalar, node.last->place)) return types.poison();
  complete_records();
  const Type *like = types.like(type, tracked, cell ? &cell->scalar : nullptr);
  if (like) return like;
  error(node.place,
        types.name(type) + " has no type alike that is " + (cell ? "of " + types.name(cell) : "tracked"));
  return types.poison();
}

const Type *Checker::procedure_type(const Node &node) {
  std::vector<Parameter> parameters;
  const Type *answer = nullptr;
  bool wrong = false;
  for (const Node *child : node.children()) {
    if (child->is(NodeKind::result)) {
      answer = type_of(*child->first);
      wrong = wrong || answer->is_poison();
      continue;
    }
    const Type *type = type_of(*child->last);
    wrong = wrong || type->is_poison();
    for (uint32_t i = 1; i < child->count; ++i)
      parameters.push_back({type, child->is(NodeKind::var_parameter)});
  }
  return wrong ? types.poison()
               : types.procedure(std::move(parameters),
                                 answer ? types.with_tracked(answer, answer->tracked) : nullptr);
}

bool Checker::constant_integer(const Node &node, std::string_view what, __int128 &value) {
  Constant constant = check_constant(node);
  if (!constant) return false;
  if (!Types::base(constant.type)->is_integer()) {
    error(node.place, std::string(what) + " needs an integer, not " + types.name(constant.type));
    return false;
  }
  value = constant.integer;
  return true;
}

bool Checker::constant_size(const Node &node, int64_t &size) {
  __int128 value = 0;
  if (!constant_integer(node, "a size", value)) return false;
  if (value < 0 || value > kLargest) {
    error(node.place, value < 0 ? "a size can't be negative: " + text_of(value)
                                : "a size of " + text_of(value) + " is too large");
    return false;
  }
  size = static_cast<int64_t>(value);
  return true;
}

} // namespace mica::check
