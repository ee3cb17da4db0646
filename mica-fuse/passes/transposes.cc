#include "transposes.h"

#include "spectra/build.h"

namespace mica::fuse {

void fold_transposes(spectra::Module &module, const Options &options) {
  using spectra::Attr;
  using spectra::Op;
  using spectra::OpCode;
  if (!options.fuse || !module.options.optimizes()) return;
  for (spectra::Func *func : module.funcs)
    spectra::walk(*func->body, [](Op *op) {
      if (op->code != OpCode::product) return;
      for (size_t side = 0; side < 2; ++side) {
        const spectra::Value *v = op->operands[side];
        // Of three and more dimensions only batched operands transpose the way the flag says; matrices always
        // do.
        if (!v->def || v->def->code != OpCode::transpose || v->type->rank() != 2) continue;
        Attr flag = side ? Attr::transpose_b : Attr::transpose_a;
        if (op->flag(flag))
          op->remove(flag);
        else
          op->set(flag, true);
        op->operands[side] = v->def->operands[0];
      }
    });
}

} // namespace mica::fuse
