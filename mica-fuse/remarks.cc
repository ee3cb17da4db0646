#include "remarks.h"

namespace mica::fuse {
namespace {

std::string file_of(const spectra::Module &module, spectra::Place place) {
  return place.file < module.sources.size() ? module.sources[place.file].name : module.name;
}

/// YAML's single quotes: only a quote itself needs care.
std::string yaml(const std::string &text) {
  std::string out = "'";
  for (char c : text) {
    out += c;
    if (c == '\'') out += '\'';
  }
  return out + "'";
}

} // namespace

std::string Remarks::as_text(const spectra::Module &module) const {
  std::string out;
  for (const Remark &r : list_) {
    out += file_of(module, r.place) + ":" + std::to_string(r.place.line) + ":" +
           std::to_string(r.place.column) + ": remark: " + r.message + "\n";
  }
  return out;
}

std::string Remarks::as_yaml(const spectra::Module &module) const {
  std::string out;
  for (const Remark &r : list_) {
    const char *tag = r.kind == Remark::Kind::passed   ? "Passed"
                      : r.kind == Remark::Kind::missed ? "Missed"
                                                       : "Analysis";
    out += std::string("--- !") + tag + "\nPass:            mica-fuse\nName:            " + r.name + "\n";
    out += "DebugLoc:        { File: " + yaml(file_of(module, r.place)) +
           ", Line: " + std::to_string(r.place.line) + ", Column: " + std::to_string(r.place.column) + " }\n";
    out += "Function:        " + yaml(r.function) + "\nArgs:\n  - String:          " + yaml(r.message) +
           "\n...\n";
  }
  return out;
}

} // namespace mica::fuse
