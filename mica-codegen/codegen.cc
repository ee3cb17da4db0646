#include "codegen.h"

#include "card/card.h"
#include "host/unit.h"

#include <llvm/ADT/StringExtras.h>

namespace mica::codegen {

namespace {

bool generate_all(spectra::Module &module, spectra::Diag &diag) {
  if (!check_static_storage(module, diag) || !check_kernels(module, diag)) return false;
  Unit unit(module);
  emit_variables(unit);
  if (!lower_card_kernels(unit, diag)) return false;
  for (const spectra::Func *func : module.funcs)
    if (!func->external) emit_function(unit, *func);
  finish_card(unit);
  emit_program_entry(unit);
  std::string assembly = emit_assembly(unit);

  spectra::Section host{"host", "x86-64", {}};
  llvm::StringRef rest(assembly);
  while (!rest.empty()) {
    auto [line, tail] = rest.split('\n');
    host.lines.push_back(line.str());
    rest = tail;
  }
  module.sections.push_back(std::move(host));
  append_units_section(module);
  // What follows needs no functions, types or sources any more.
  module.funcs.clear();
  module.kernels.clear();
  module.variables.clear();
  for (spectra::SourceFile &source : module.sources) source.lines.clear();
  return true;
}

} // namespace

bool generate(spectra::Module &module, spectra::Diag &diag) {
  try {
    return generate_all(module, diag);
  } catch (const Refused &refused) {
    diag.error(refused.place, refused.why);
    return false;
  }
}

} // namespace mica::codegen
