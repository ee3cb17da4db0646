// What a unit exports and imports, with the types, so that the link can compare both sides:
//
//   section units layers {
//   | export Block fn(ptr<record<Layer>>) -> f32 with Layer { W : f32[4,2], b : f32[2] }
//   | import Step fn(i32)
//   }
#include "codegen.h"
#include "spectra/ops.h"

#include <set>

namespace mica::codegen {
namespace {

using spectra::Record;
using spectra::Type;

/// The records that a type reaches, in the order in which they are met; a record by itself is alike by name
/// only.
void find_records(const Type *type, std::vector<const Record *> &found, std::set<const Record *> &seen) {
  if (!type) return;
  if (type->record && seen.insert(type->record).second) {
    found.push_back(type->record);
    for (const Record::Field &field : type->record->fields) find_records(field.type, found, seen);
  }
  find_records(type->element, found, seen);
  for (const Type *parameter : type->parameters) find_records(parameter, found, seen);
}

std::string signature(spectra::Module &module, const spectra::Func &func) {
  std::vector<const Type *> parameters;
  for (const spectra::Value *v : func.body->args) parameters.push_back(v->type);
  const Type *type = module.types.function(parameters, func.result);
  std::string text = spectra::to_text(type);
  std::vector<const Record *> records;
  std::set<const Record *> seen;
  find_records(type, records, seen);
  for (size_t i = 0; i < records.size(); ++i) {
    text += (i ? ", " : " with ") + records[i]->name + " {";
    for (size_t f = 0; f < records[i]->fields.size(); ++f) {
      const Record::Field &field = records[i]->fields[f];
      text += (f ? ", " : " ") + field.name + " : " + spectra::to_text(module.types.untracked(field.type));
    }
    text += " }";
  }
  return text;
}

} // namespace

void append_units_section(spectra::Module &module) {
  spectra::Section section{"units", module.name, {}};
  for (const spectra::Func *func : module.funcs)
    if (func->exported || func->external)
      section.lines.push_back((func->external ? "import " : "export ") + std::string(func->name) + " " +
                              signature(module, *func));
  if (!section.lines.empty()) module.sections.push_back(std::move(section));
}

} // namespace mica::codegen
