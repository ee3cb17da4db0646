// What the generators of kernels rely on and the verifier of level fused leaves open: a text edited by hand
// gets an error here, not a fault later.
#include "codegen.h"
#include "spectra/ops.h"

#include <algorithm>
#include <set>

namespace mica::codegen {
namespace {

using spectra::Attr;
using spectra::Kernel;
using spectra::KernelForm;
using spectra::Op;
using spectra::OpCode;
using spectra::Type;

const spectra::AttrValue *find(const Kernel &kernel, Attr key) {
  for (const spectra::Attribute &a : kernel.attributes)
    if (a.key == key) return &a.value;
  return nullptr;
}
template <class T> const T *find_as(const Kernel &kernel, Attr key) {
  const spectra::AttrValue *value = find(kernel, key);
  return value ? std::get_if<T>(value) : nullptr;
}
spectra::Place place_of(const Kernel &kernel) {
  return kernel.places.empty() ? spectra::Place{} : kernel.places[0];
}

const char *wrong_reduce(const Kernel &kernel) {
  const std::string *kind = find_as<std::string>(kernel, Attr::kind);
  const std::vector<int64_t> *over = find_as<std::vector<int64_t>>(kernel, Attr::over);
  static const std::set<std::string> kinds = {"sum", "mean", "max", "min", "arg_max"};
  if (!kind || !kinds.count(*kind)) return "a reduce kernel's `kind` is sum, mean, max, min or arg_max";
  int64_t rank = static_cast<int64_t>(kernel.space.size());
  if (!over || !std::all_of(over->begin(), over->end(), [&](int64_t d) { return d >= 0 && d < rank; }))
    return "a reduce kernel's `over` lists dimensions of its space";
  if (!std::is_sorted(over->begin(), over->end())) return "a reduce kernel's `over` ascends";
  bool leading = true, trailing = true;
  int64_t count = static_cast<int64_t>(over->size());
  for (int64_t i = 0; i < count; ++i) {
    leading &= (*over)[static_cast<size_t>(i)] == i;
    trailing &= (*over)[static_cast<size_t>(i)] == rank - count + i;
  }
  if (!leading && !trailing) return "a reduce kernel's `over` is the leading or the trailing dimensions";
  if (!trailing && *kind != "sum" && *kind != "mean")
    return "a reduction over leading dimensions is a sum or a mean";
  for (const Type *type : kernel.results)
    if (*kind == "mean" && !type->is_float()) return "a mean is a float";
  return nullptr;
}

const char *wrong_product(const Kernel &kernel) {
  if (kernel.params.size() < 2 || kernel.results.empty())
    return "a product kernel has two operands and a result";
  if (kernel.gpu && kernel.results.size() != 1) return "a product kernel of the card has one result";
  // The first result holds the sums until the epilogue has been there.
  if (kernel.results[0]->scalar != kernel.body->args.back()->type->scalar)
    return "a product kernel's first result has the type of its sums";
  for (int i = 0; i < 2; ++i)
    if (!kernel.params[static_cast<size_t>(i)]->is_whole())
      return "a product kernel's operands are whole values";
  return nullptr;
}

const char *wrong_multi(const Kernel &kernel) {
  const int64_t *scalars = find_as<int64_t>(kernel, Attr::scalars);
  const std::vector<int64_t> *writes = find_as<std::vector<int64_t>>(kernel, Attr::writes);
  int64_t params = static_cast<int64_t>(kernel.params.size());
  if (!scalars || *scalars < 0 || *scalars >= params)
    return "a multi kernel's `scalars` counts its first parameters";
  if (!writes || !std::all_of(writes->begin(), writes->end(),
                              [&](int64_t w) { return w >= 0 && w < params - *scalars; }))
    return "a multi kernel's `writes` lists members of a group";
  if (writes->size() != kernel.body->ops.back()->operands.size())
    return "a multi kernel yields a value for each of `writes`";
  return nullptr;
}

/// A launch passes what the kernel's parameters and results say; the verifier has compared the count.
const char *wrong_launch(const spectra::Module &module, const Op &op) {
  const Kernel *kernel = module.find_kernel(op.symbol);
  if (!kernel) return "launches no kernel of this text";
  size_t inputs = kernel->params.size();
  if (kernel->form == KernelForm::multi) {
    const int64_t *scalars = find_as<int64_t>(*kernel, Attr::scalars);
    if (!scalars || op.operands.size() < static_cast<size_t>(*scalars)) return "passes too little";
    size_t members = inputs - static_cast<size_t>(*scalars);
    if ((op.operands.size() - static_cast<size_t>(*scalars)) % members) return "passes an unfinished group";
    for (size_t i = static_cast<size_t>(*scalars); i < op.operands.size(); ++i)
      if (op.operands[i]->type->kind != spectra::TypeKind::pointer) return "a group's members are pointers";
    return nullptr;
  }
  if (op.operands.size() != inputs + kernel->results.size())
    return "passes another number of operands than its kernel has";
  for (size_t i = 0; i < op.operands.size(); ++i) {
    bool by_value = i < inputs && ((kernel->params[i]->is_scalar() && !kernel->params[i]->gpu) ||
                                   kernel->params[i]->kind == spectra::TypeKind::draw);
    bool is_pointer = op.operands[i]->type->kind == spectra::TypeKind::pointer;
    if (by_value == is_pointer)
      return by_value ? "passes a pointer for a scalar" : "passes a value for a pointer";
  }
  return nullptr;
}

/// The operands of those routines that are no operation's (for the others the verifier has compared them).
const char *wrong_run(const Op &op) {
  const std::string name = op.text(Attr::name);
  auto type = [&](size_t i) { return op.operands[i]->type; };
  auto points = [&](size_t i, auto holds) {
    return type(i)->kind == spectra::TypeKind::pointer && holds(type(i)->element);
  };
  auto is_number = [](const Type *t) { return t->is_integer() || t->is_float(); };
  const size_t count = op.operands.size();
  if (name == "adamw_scalars") {
    if (count != 6 || type(5)->kind != spectra::TypeKind::pointer) return "takes five numbers and a pointer";
    const Type *five = type(5)->element;
    const bool array = five->kind == spectra::TypeKind::array && five->low == 0 && five->high == 4;
    if (!(array ? five->element->is_scalar() && five->element->is_float()
                : five->is_float() && five->cells() == 5))
      return "writes five floats";
    for (size_t i = 0; i < 5; ++i) {
      if (points(i, is_number)) continue; // a scalar of the card
      const bool fits = type(i)->is_scalar() && (i ? type(i)->is_float() : type(i)->is_integer());
      if (!fits || (i && type(i)->scalar != spectra::Scalar::f64)) return "takes an integer and four float64";
    }
  } else if (name == "joint_norm") {
    if (count < 2) return "takes whole values and a pointer to their norm";
    for (size_t i = 0; i < count; ++i)
      if (!points(i, [](const Type *t) { return t->is_float(); })) return "takes pointers to floats";
    for (size_t i = 0; i + 1 < count; ++i)
      if (type(i)->element->scalar != type(0)->element->scalar) return "takes floats of one type";
  } else if (name == "check_targets") {
    if (count != 1 || !points(0, [](const Type *t) { return t->is_integer(); }))
      return "takes a pointer to integers";
    if (!op.find(Attr::classes)) return "needs the number of classes";
  }
  return nullptr;
}

void check_region(const spectra::Module &module, const spectra::Region &region, spectra::Diag &diag) {
  for (const Op *op : region.ops) {
    if (op->code == OpCode::launch)
      if (const char *why = wrong_launch(module, *op))
        diag.error(op->place(), "launch @" + std::string(op->symbol) + " " + why);
    if (op->code == OpCode::run)
      if (const char *why = wrong_run(*op))
        diag.error(op->place(), "run " + op->text(Attr::name) + " " + why);
    for (const spectra::Region *inner : op->regions) check_region(module, *inner, diag);
  }
}

} // namespace

bool check_kernels(const spectra::Module &module, spectra::Diag &diag) {
  for (const Kernel *kernel : module.kernels) {
    const char *why = kernel->form == KernelForm::reduce    ? wrong_reduce(*kernel)
                      : kernel->form == KernelForm::product ? wrong_product(*kernel)
                      : kernel->form == KernelForm::multi   ? wrong_multi(*kernel)
                                                            : nullptr;
    if (why) diag.error(place_of(*kernel), "kernel @" + std::string(kernel->name) + ": " + why);
  }
  for (const spectra::Func *func : module.funcs)
    if (!func->external) check_region(module, *func->body, diag);
  return diag.errors() == 0;
}

} // namespace mica::codegen
