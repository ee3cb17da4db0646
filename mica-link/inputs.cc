#include "inputs.h"
#include "spectra/stage.h"
#include "spectra/text.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>

namespace mica::link {
namespace {

bool read_input(const std::string &path, std::string &text) {
  if (path == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
    return !std::cin.bad();
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) return false;
  text.assign(std::istreambuf_iterator<char>(in), {});
  return !in.bad();
}

/// The next word of a line; the rest stays in `line`.
std::string take_word(std::string &line) {
  size_t end = line.find(' ');
  std::string word = line.substr(0, end);
  line = end == std::string::npos ? "" : line.substr(end + 1);
  return word;
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
    if (!read_input(path, text)) {
      complain("cannot read " + unit.file + ": " + std::strerror(errno));
      return spectra::kExitInput;
    }
    switch (spectra::read_module(text, unit.file, unit.module, std::cerr)) {
    case spectra::ReadResult::ok: break;
    case spectra::ReadResult::wrong: return spectra::kExitInput;
    case spectra::ReadResult::cut_off: return spectra::kExitCutOff;
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
  std::map<std::string, std::map<std::string, Export>> exports; // by unit, by name
  std::set<std::string> names;
  for (const Unit &unit : job.units) {
    if (!names.insert(unit.module.name).second) {
      complain("two units are called `" + unit.module.name + "`, the second in " + unit.file);
      return false;
    }
    for (const spectra::Section &section : unit.module.sections)
      if (section.kind == "units")
        for (std::string line : section.lines)
          if (take_word(line) == "export") {
            std::string name = take_word(line);
            exports[unit.module.name][name] = {&unit, line};
          }
  }
  bool ok = true;
  for (const Unit &unit : job.units)
    for (const spectra::Section &section : unit.module.sections) {
      if (section.kind != "units") continue;
      for (std::string line : section.lines) {
        if (take_word(line) != "import") continue;
        const std::string name = take_word(line), from = take_word(line);
        const auto other = exports.find(from);
        if (other == exports.end()) {
          if (names.count(from)) {
            complain("unit `" + from + "` exports nothing, and `" + unit.module.name + "` imports `" + name +
                     "` from it");
            ok = false;
          }
          continue; // a C library: the linker finds its names, or says that it does not
        }
        const auto found = other->second.find(name);
        if (found == other->second.end()) {
          complain("unit `" + from + "` does not export `" + name + "`, which `" + unit.module.name +
                   "` imports");
          ok = false;
        } else if (found->second.signature != line) {
          complain("`" + name + "` is " + line + " in " + unit.file + " and " + found->second.signature +
                       " in " + found->second.unit->file,
                   "declare it in `" + unit.module.name + "` as `" + from + "` defines it");
          ok = false;
        }
      }
    }
  return ok;
}

} // namespace mica::link
