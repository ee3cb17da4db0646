// What stands around every pass from text to text: read, verify, run, verify, print.
#include "spectra/stage.h"
#include "spectra/text.h"

#include <iostream>
#include <sstream>

namespace spectra {
namespace {

void strip_region(Region &region) {
  for (Op *op : region.ops) {
    op->places.clear();
    for (Region *inner : op->regions) strip_region(*inner);
  }
}

} // namespace

void strip_places(Module &module) {
  for (SourceFile &source : module.sources) source.lines.clear();
  for (Variable &v : module.variables) v.place = {};
  for (Func *func : module.funcs) {
    func->place = {};
    for (Variable &v : func->locals) v.place = {};
    strip_region(*func->body);
  }
  for (Kernel *kernel : module.kernels) {
    kernel->places.clear();
    strip_region(*kernel->body);
  }
}

int transform_text(const std::string &name, const std::string &text, Level from, Level to,
                   bool (*run)(Module &, Diag &, void *options), void *options, std::string &output) {
  Module module;
  switch (read_module(text, name, module, std::cerr)) {
  case ReadResult::ok: break;
  case ReadResult::wrong: return kExitInput;
  case ReadResult::cut_off: return kExitCutOff;
  }
  if (module.level != from) {
    std::cerr << name << ":1:11: error: the text is of level " << level_name(module.level) << ", and level "
              << level_name(from) << " is wanted\n";
    return kExitInput;
  }
  if (!verify_module(module, name, std::cerr)) return kExitInput;
  Diag diag(module.sources, std::cerr);
  if (!run(module, diag, options) || diag.errors()) return kExitInput;
  module.level = to;
  // A breach in what the stage made is the stage's own fault, never the user's.
  std::ostringstream breaches;
  if (!verify_module(module, "<output>", breaches)) {
    std::cerr << "fault: the output breaks the rules of level " << level_name(to) << ":\n" << breaches.str();
    return kExitFault;
  }
  output = print_module(module);
  return kExitOk;
}

} // namespace spectra
