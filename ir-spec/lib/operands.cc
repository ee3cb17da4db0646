// What an operation's operands are: the kinds of ops.yaml's `of`, the explicit results that no rule of
// infer.cc computes, and the routines behind `run`, whose operands are those of the operation of their name.
#include "infer.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace spectra {
namespace {

bool is_cell(const Type *t) { return t->is_scalar() || t->is_whole(); }
bool is_number(const Type *t) { return t->is_integer() || t->is_float(); }
bool points_to_cells(const Type *t) { return t->kind == TypeKind::pointer && is_cell(t->element); }
bool is_reference(const Type *t) {
  return t->kind == TypeKind::pointer || t->kind == TypeKind::slice || t->kind == TypeKind::function;
}

struct Kind {
  std::string_view name, words;
  bool (*holds)(const Type *);
};

constexpr Kind kKinds[] = {
    {"any", "a value", [](const Type *) { return true; }},
    {"cell", "a scalar or a whole value", is_cell},
    {"number", "numbers", is_number},
    {"float", "floats", [](const Type *t) { return t->is_float(); }},
    {"int", "integers", [](const Type *t) { return t->is_integer(); }},
    {"bits", "integers or bools", [](const Type *t) { return t->is_integer() || t->is_bool(); }},
    {"bool", "bools", [](const Type *t) { return t->is_bool(); }},
    {"flag", "one bool", [](const Type *t) { return t->is_scalar() && t->is_bool(); }},
    {"scalar", "one number", [](const Type *t) { return t->is_scalar() && is_number(t); }},
    {"index", "one integer", [](const Type *t) { return t->is_scalar() && t->is_integer(); }},
    {"ordinal", "one integer, bool or unicode",
     [](const Type *t) { return t->is_scalar() && !t->is_float(); }},
    {"whole", "a whole value", [](const Type *t) { return t->is_whole(); }},
    {"string", "a string", [](const Type *t) { return t->kind == TypeKind::string; }},
    {"pointer", "a pointer", [](const Type *t) { return t->kind == TypeKind::pointer; }},
    {"slice", "a slice", [](const Type *t) { return t->kind == TypeKind::slice; }},
    {"memory", "a pointer or a slice",
     [](const Type *t) { return t->kind == TypeKind::pointer || t->kind == TypeKind::slice; }},
    {"function", "a procedure value", [](const Type *t) { return t->kind == TypeKind::function; }},
    {"reference", "a pointer, a slice or a procedure value", is_reference},
    {"frame", "a frame", [](const Type *t) { return t->kind == TypeKind::frame; }},
    {"draw", "a draw", [](const Type *t) { return t->kind == TypeKind::draw; }},
    {"random", "a pointer to a random",
     [](const Type *t) { return t->kind == TypeKind::pointer && t->element->kind == TypeKind::random; }},
    // In a group: the variable, a value of its type, and another variable like it.
    {"place", "a pointer to numbers",
     [](const Type *t) { return points_to_cells(t) && is_number(t->element); }},
    {"same", "a value of the group's type", is_cell},
    {"alike", "a pointer to the group's type", points_to_cells},
};

/// A row's `of`, once taken apart.
struct Kinds {
  std::vector<const Kind *> once, repeated;
};

const Kinds &kinds_of(OpCode code) {
  static const std::vector<Kinds> table = [] {
    std::vector<Kinds> all;
#define SPECTRA_OP(name, ...) OpCode::name,
    for (OpCode op : {
#include "spectra/ops.inc"
         }) {
#undef SPECTRA_OP
      Kinds &kinds = all.emplace_back();
      std::vector<const Kind *> *list = &kinds.once;
      for (std::string_view rest = info(op).kinds; !rest.empty();) {
        const std::string_view word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(rest.size(), word.size() + 1));
        if (word == "|")
          list = &kinds.repeated;
        else // a word that is not in the list would be found by the test of the table
          list->push_back(std::find_if(std::begin(kKinds), std::end(kKinds) - 1,
                                       [&](const Kind &kind) { return kind.name == word; }));
      }
    }
    return all;
  }();
  return table[static_cast<size_t>(code)];
}

/// Sizes of `put`'s and `row_put`'s results, which the text states.
bool whole_of(const Type *result, const Type *cells) {
  return result->is_whole() && result->scalar == cells->scalar && result->gpu == cells->gpu;
}

/// What a row with the rule `explicit` may state as its result.
const char *wrong_result(const Op &op) {
  if (op.results.size() != 1) return nullptr;
  const Type *result = op.results[0]->type;
  auto arg = [&](int i) { return op.arg(i)->type; };
  switch (op.code) {
  case OpCode::new_:
  case OpCode::frame_as: return result->kind == TypeKind::pointer ? nullptr : "gives a pointer";
  case OpCode::new_slice: return result->kind == TypeKind::slice ? nullptr : "gives a slice";
  case OpCode::nil: return is_reference(result) ? nullptr : "gives a pointer, a slice or a procedure value";
  case OpCode::check_chance:
    return arg(0)->is_scalar() && arg(0)->scalar == Scalar::f64 ? nullptr : "takes one f64";
  case OpCode::draw:
    return op.arg_count() < 2 || (arg(1)->is_scalar() && arg(1)->scalar == Scalar::f64)
               ? nullptr
               : "takes its probability as one f64";
  case OpCode::random_float: return result->is_scalar() && result->is_float() ? nullptr : "gives one float";
  case OpCode::clip_grad_norms:
    return result->is_scalar() && result->is_float() ? nullptr : "gives one float";
  case OpCode::count_from_zero:
    return result->is_scalar() && result->is_float() ? nullptr : "gives one float";
  case OpCode::normal:
  case OpCode::uniform:
    return arg(0)->is_scalar() && arg(0) == arg(1) && is_cell(result) && result->scalar == arg(0)->scalar
               ? nullptr
               : "takes two scalars of the result's cells";
  case OpCode::put: {
    if (!whole_of(result, arg(0))) return "gives a whole value of its operand's cells";
    const bool rows = op.flag(Attr::rows);
    // A row or a cell goes into a value of one dimension more; a slice into one of as many.
    std::vector<int64_t> from = arg(0)->sizes, to = result->sizes;
    if (rows) std::reverse(from.begin(), from.end()), std::reverse(to.begin(), to.end());
    if (from.size() == to.size() && !to.empty())
      return std::equal(from.begin(), from.end() - 1, to.begin()) && from.back() <= to.back()
                 ? nullptr
                 : "puts into a value that is larger in one dimension alone";
    return from.size() + 1 == to.size() && std::equal(from.begin(), from.end(), to.begin())
               ? nullptr
               : "puts into a value of its operand's sizes and one more";
  }
  case OpCode::scatter_rows: {
    std::vector<int64_t> rows = arg(1)->sizes;
    rows.push_back(result->columns());
    return whole_of(result, arg(0)) && result->rank() == 2 && arg(0)->sizes == rows
               ? nullptr
               : "gives a matrix as wide as its operand, which has a row for each number";
  }
  case OpCode::row_put: {
    if (!whole_of(result, arg(0))) return "gives a whole value of its operand's cells";
    std::vector<int64_t> rows = result->sizes;
    rows.pop_back();
    return arg(0)->sizes == rows && arg(1)->sizes == rows ? nullptr
                                                          : "takes a cell and a number for each row";
  }
  case OpCode::buffer: return result->kind == TypeKind::pointer ? nullptr : "gives a pointer";
  case OpCode::view:
    return points_to_cells(result) && points_to_cells(arg(0)) &&
                   arg(0)->element->cells() == result->element->cells() &&
                   arg(0)->element->scalar == result->element->scalar &&
                   arg(0)->element->gpu == result->element->gpu
               ? nullptr
               : "gives a pointer to as many cells";
  default: return nullptr;
  }
}

/// Memory is copied between places of one type, also across.
const char *wrong_copy(TypeTable &types, const Op &op) {
  auto plain = [&](const Type *t) {
    t = types.untracked(t->element);
    if (!is_cell(t)) return t;
    return t->is_whole() ? types.whole(t->scalar, t->sizes) : types.scalar(t->scalar);
  };
  return plain(op.arg(0)->type) == plain(op.arg(1)->type) ? nullptr : "copies between pointers to one type";
}

/// A routine has the operands of the operation of its name, whole values by pointers, then pointers to the
/// results.
bool run_fits(Module &module, const Func *func, const Op &op, std::string &why) {
  static constexpr OpCode kRoutines[] = {OpCode::gather,     OpCode::scatter_rows, OpCode::transpose,
                                         OpCode::permute,    OpCode::concat,       OpCode::slice,
                                         OpCode::slice_rows, OpCode::row,          OpCode::put,
                                         OpCode::normal,     OpCode::uniform,      OpCode::norm};
  const OpInfo *named = find_op(op.text(Attr::name));
  if (named && (named->code == OpCode::attention || named->code == OpCode::attention_gradient))
    return attention_run_fits(module, op, named->code, why);
  if (!named || std::find(std::begin(kRoutines), std::end(kRoutines), named->code) == std::end(kRoutines))
    return true;
  if (op.operands.size() < 2 ||
      (named->max_args >= 0 && op.operands.size() != static_cast<size_t>(named->max_args) + 1)) {
    why = "takes the operands of " + std::string(named->name) + " and a pointer to its result";
    return false;
  }
  std::vector<Value> values(op.operands.size());
  Op like = op;
  like.code = named->code;
  like.operands.clear();
  like.results.clear();
  for (size_t i = 0; i < values.size(); ++i) {
    const Type *t = op.operands[i]->type;
    values[i].type = points_to_cells(t) ? module.types.untracked(t->element) : t;
    (i + 1 < values.size() ? like.operands : like.results).push_back(&values[i]);
  }
  std::vector<const Type *> result = {like.results[0]->type};
  if (op.operands.back()->type->kind != TypeKind::pointer)
    why = "its last operand is a pointer to the result";
  else if (operands_fit(module, func, like, why) && infer_types(module, func, like, result, why)) {
    if (result.size() == 1 && result[0] == like.results[0]->type) return true;
    why = "its result is " + (result.empty() ? "nothing" : to_text(result[0])) + ", not " +
          to_text(like.results[0]->type);
  }
  return false;
}

} // namespace

bool operands_fit(Module &module, const Func *func, const Op &op, std::string &why) {
  const Kinds &kinds = kinds_of(op.code);
  const Type *group = nullptr;
  const int count = op.arg_count(), once = static_cast<int>(kinds.once.size());
  const int each = static_cast<int>(kinds.repeated.size());
  for (int i = 0; i < count && (i < once || each); ++i) {
    const Kind &kind = i < once ? *kinds.once[static_cast<size_t>(i)]
                                : *kinds.repeated[static_cast<size_t>((i - once) % each)];
    const Type *type = op.arg(i)->type;
    bool fits = kind.holds(type);
    if (fits && kind.name == "place") group = module.types.untracked(type->element);
    if (fits && kind.name == "same") fits = group && type == group;
    if (fits && kind.name == "alike") fits = group && module.types.untracked(type->element) == group;
    if (fits) continue;
    const bool grouped = group && (kind.name == "same" || kind.name == "alike");
    why = "takes " + std::string(kind.words) + (grouped ? ", " + to_text(group) + "," : "") + " as operand " +
          std::to_string(i + 1) + ", not " + to_text(type);
    return false;
  }
  if (each && (count - once) % each) {
    why = "takes groups of " + std::to_string(each) + " operands";
    return false;
  }
  const char *wrong = op.code == OpCode::copy || op.code == OpCode::copy_value ? wrong_copy(module.types, op)
                                                                               : wrong_result(op);
  if (wrong) {
    why = wrong;
    return false;
  }
  return op.code != OpCode::run || run_fits(module, func, op, why);
}

} // namespace spectra
