#include "inputs.h"
#include "spectra/stage.h"
#include "spectra/text.h"

#include <iostream>
#include <map>
#include <set>

namespace mica::link {
namespace {

/// The next word of a line; the rest stays in `line`.
std::string take_word(std::string &line) {
  size_t end = line.find(' ');
  std::string word = line.substr(0, end);
  line = end == std::string::npos ? "" : line.substr(end + 1);
  return word;
}

/// The source that a unit was made from: what the user knows it by.
std::string source_of(const Unit &unit) {
  return unit.module.sources.empty() ? unit.file : unit.module.sources[0].name;
}

struct Export {
  const Unit *unit;
  std::string signature;
};

} // namespace

int read_units(Job &job) {
  for (const std::string &path : job.flags.inputs) {
    Unit &unit = job.units.emplace_back();
    unit.file = path == "-" ? "<stdin>" : path;
    std::string text;
    if (!spectra::read_whole(path, text, "mica-link")) return spectra::kExitInput;
    switch (spectra::read_module(text, unit.file, unit.module, std::cerr)) {
    case spectra::ReadResult::ok: break;
    case spectra::ReadResult::wrong: return spectra::kExitInput;
    case spectra::ReadResult::cut_off: return spectra::tell_cut_off(path, false);
    }
    if (unit.module.level != spectra::Level::target) {
      complain(unit.file + " is a text of level " + spectra::level_name(unit.module.level) + ", not target",
               "run it through the stages up to mica-codegen first");
      return spectra::kExitInput;
    }
    if (!spectra::verify_module(unit.module, unit.file, std::cerr)) return spectra::kExitInput;
  }
  return spectra::kExitOk;
}

bool units_agree(const Job &job) {
  std::map<std::string, Export> exports;
  std::set<std::string> names;
  bool ok = true;
  auto for_lines = [&](const char *kind, const auto &visit) {
    for (const Unit &unit : job.units)
      for (const spectra::Section &section : unit.module.sections) {
        if (section.kind != "units") continue;
        for (std::string line : section.lines) {
          if (take_word(line) != kind) continue;
          const std::string name = take_word(line);
          visit(unit, name, line);
        }
      }
  };
  for (const Unit &unit : job.units)
    if (!names.insert(unit.module.name).second) {
      complain("two units are called `" + unit.module.name + "`, the second in " + source_of(unit));
      ok = false;
    }
  for_lines("export", [&](const Unit &unit, const std::string &name, const std::string &signature) {
    const auto [at, fresh] = exports.try_emplace(name, Export{&unit, signature});
    if (fresh) return;
    complain("`" + name + "` is exported by `" + at->second.unit->module.name + "` and by `" +
             unit.module.name + "`");
    ok = false;
  });
  for_lines("import", [&](const Unit &unit, const std::string &name, const std::string &signature) {
    const auto found = exports.find(name);
    if (found == exports.end() || found->second.signature == signature) return;
    const Unit &other = *found->second.unit;
    complain("`" + name + "` is " + signature + " in " + source_of(unit) + " and " + found->second.signature +
                 " in " + source_of(other),
             "declare it in `" + unit.module.name + "` as `" + other.module.name + "` defines it");
    ok = false;
  });
  return ok;
}

} // namespace mica::link
