#include "units.h"

#include <set>

namespace mica::codegen {
namespace {

/// Records are alike by name within a unit; between units their fields must agree too, so a signature spells
/// them out.
void spell_records(const spectra::Module &module, std::string text, std::set<std::string> &seen,
                   std::string &result) {
  const std::string open = "record<";
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at + 1)) {
    const size_t from = at + open.size();
    const std::string name = text.substr(from, text.find('>', from) - from);
    if (!seen.insert(name).second) continue;
    for (const spectra::Record *record : module.types.records()) {
      if (record->name != name) continue;
      std::string fields;
      for (const spectra::Record::Field &field : record->fields)
        fields += (fields.empty() ? "" : ", ") + field.name + " : " + spectra::to_text(field.type);
      result += " with " + name + " { " + fields + " }";
      spell_records(module, fields, seen, result);
    }
  }
}

std::string signature(const spectra::Module &module, const spectra::Func &func) {
  std::string text = "fn(";
  bool first = true;
  for (const spectra::Value *parameter : func.body->args) {
    text += (first ? "" : ", ") + spectra::to_text(parameter->type);
    first = false;
  }
  text += ")";
  if (func.result) text += " -> " + spectra::to_text(func.result);
  std::set<std::string> seen;
  std::string records;
  spell_records(module, text, seen, records);
  return text + records;
}

} // namespace

spectra::Section units_section(const spectra::Module &module) {
  spectra::Section section{"units", module.name, {}};
  for (const spectra::Func *func : module.funcs)
    if (func->exported || func->external)
      section.lines.push_back(std::string(func->exported ? "export " : "import ") + std::string(func->name) +
                              " " + signature(module, *func));
  return section;
}

} // namespace mica::codegen
