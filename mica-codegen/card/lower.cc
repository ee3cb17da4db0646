// The pass: every `gpu` kernel becomes PTX, and what the card can't do yet an error with the way out.
#include "card.h"
#include "device.h"
#include "spectra/build.h"
#include "spectra/ops.h"

namespace mica::codegen {
namespace {

constexpr const char *kWayOut = "compile with --device cpu: `on gpu` then means the processor";

/// The operation of a kernel that tells most, for an error about it.
std::string what_it_does(const spectra::Kernel &kernel) {
  for (const Op *op : kernel.body->ops) {
    spectra::Role role = spectra::info(op->code).role;
    if (role == spectra::Role::rows || role == spectra::Role::reduce) return spectra::info(op->code).name;
  }
  const spectra::AttrValue *kind = nullptr;
  for (const spectra::Attribute &a : kernel.attributes)
    if (a.key == spectra::Attr::kind) kind = &a.value;
  return kind ? std::get<std::string>(*kind) : spectra::form_name(kernel.form);
}

/// Whether a launch could pass a pointer that is not aligned to a vector: that of a row whose size is no
/// multiple of one, or memory that another unit hands in. (A scalar's address may be anything.)
bool may_be_unaligned(const spectra::Module &module) {
  constexpr int64_t kVector = 16;
  bool unaligned = false;
  for (const spectra::Func *func : module.funcs) {
    unaligned |= func->exported || func->external;
    if (func->external) continue;
    spectra::walk(*func->body, [&](const Op *op) {
      if (op->code == OpCode::buffer && op->integer(spectra::Attr::offset) % kVector) unaligned = true;
      if (op->code != OpCode::address || op->path->steps.empty()) return;
      const Type *type = op->result()->type->element;
      if (!type->gpu || !type->is_whole()) return;
      if (type->cells() * spectra::scalar_bytes(type->scalar) % kVector) {
        // An array's element is a variable of its own; a row of a value is not.
        const spectra::Path::Step &last = op->path->steps.back();
        if (last.kind == spectra::Path::Step::Kind::field) return;
        spectra::Path shorter(*op->path);
        shorter.steps.pop_back();
        if (last.kind == spectra::Path::Step::Kind::dynamic) --shorter.operands;
        Op probe(*op);
        probe.path = &shorter;
        const Type *whole = spectra::path_type(module, func, probe);
        unaligned |= !whole || whole->is_whole();
      }
    });
  }
  return unaligned;
}

bool check_runs(const spectra::Module &module, spectra::Diag &diag) {
  for (const spectra::Func *func : module.funcs) {
    if (func->external) continue;
    spectra::walk(*func->body, [&](const Op *op) {
      bool on_card = false;
      for (const Value *v : op->operands)
        on_card |= v->type->kind == TypeKind::pointer && v->type->element && v->type->element->gpu;
      if (op->code == OpCode::run && on_card && !card_can_run(*op))
        diag.error(op->place(),
                   "`" + op->text(spectra::Attr::name) + "` is not computed on the card by this version",
                   kWayOut);
      if ((op->code == OpCode::read && op->result()->type->is_device_or_whole() && op->result()->type->gpu) ||
          (op->code == OpCode::write && op->arg(0)->type->is_device_or_whole() && op->arg(0)->type->gpu))
        diag.error(op->place(), "at level fused a value on the card is reached by its address");
    });
  }
  return diag.errors() == 0;
}

} // namespace

bool lower_card_kernels(Unit &unit, spectra::Diag &diag) {
  if (unit.spectra.options.device != "gpu") return true;
  if (!check_runs(unit.spectra, diag)) return false;
  for (const spectra::Kernel *kernel : unit.spectra.kernels) {
    if (!kernel->gpu) continue;
    if (const char *what = card_cannot(*kernel))
      diag.error(kernel->places.empty() ? Place{} : kernel->places[0],
                 "`" + what_it_does(*kernel) + "` is not computed on the card by this version: it has no " +
                     what + " there",
                 kWayOut);
  }
  if (diag.errors()) return false;
  unit.card = std::make_unique<Card>(unit.spectra);
  Card &card = *unit.card;
  card.aligned = !may_be_unaligned(unit.spectra);
  for (const spectra::Kernel *kernel : unit.spectra.kernels) {
    if (!kernel->gpu) continue;
    using spectra::KernelForm;
    CardKernel made = kernel->form == KernelForm::product  ? card_product(unit, card, *kernel)
                      : kernel->form == KernelForm::rows   ? card_rows(unit, card, *kernel)
                      : kernel->form == KernelForm::reduce ? card_reduce(unit, card, *kernel)
                      : kernel->form == KernelForm::multi  ? card_multi(unit, card, *kernel)
                                                           : card_map(unit, card, *kernel);
    card.kernels.emplace(std::string(kernel->name), std::move(made));
  }
  return true;
}

void finish_card(Unit &unit) {
  if (!unit.card || unit.card->tables.empty()) return;
  append_ptx(*unit.card, unit.spectra.sections);
  const std::vector<llvm::Constant *> &tables = unit.card->tables;
  llvm::ArrayType *type = llvm::ArrayType::get(unit.pointer(), tables.size());
  unit.card_kernels = new llvm::GlobalVariable(*unit.module, type, true, llvm::GlobalValue::InternalLinkage,
                                               llvm::ConstantArray::get(type, tables), "kernels");
  unit.card_kernel_count = tables.size();
}

} // namespace mica::codegen
