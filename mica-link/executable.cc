#include "executable.h"
#include "spectra/process.h"
#include "tools.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <sys/stat.h>
#include <unistd.h>

namespace mica::link {
namespace {

/// What the linker writes; it is renamed when it is whole.
std::string beside(const std::string &output) { return output + ".tmp" + std::to_string(getpid()); }

} // namespace

bool can_write_output(const std::string &output) {
  struct stat status;
  const bool there = stat(output.c_str(), &status) == 0;
  if (output.empty() || (there && !S_ISREG(status.st_mode))) {
    complain("cannot write the program to " + (output.empty() ? "a file without a name"
                                               : S_ISDIR(status.st_mode)
                                                   ? output + ": it is a folder"
                                                   : output + ": it is no ordinary file"));
    return false;
  }
  const std::string trial = beside(output);
  const int file = open(trial.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) {
    complain("cannot write the program to " + output + ": " + std::strerror(errno));
    return false;
  }
  close(file);
  unlink(trial.c_str());
  return true;
}

bool write_lines(const std::string &path, const std::vector<std::string> &lines) {
  std::ofstream out(path, std::ios::binary);
  for (const std::string &line : lines) out << line << '\n';
  out.close();
  if (!out.fail()) return true;
  complain("cannot write " + path + ": " + std::strerror(errno));
  return false;
}

bool assemble(const Job &job, const std::string &folder, std::vector<std::string> &objects) {
  std::vector<std::string> assembler;
  if (!find_assembler(assembler)) return false;
  std::vector<std::vector<std::string>> commands;
  for (const Unit &unit : job.units)
    for (const spectra::Section &section : unit.module.sections) {
      if (section.kind != "host") continue;
      if (section.name != "x86-64") {
        complain(unit.file + ": a host section for `" + section.name + "`; this mica-link knows x86-64");
        return false;
      }
      const std::string stem = folder + "/host" + std::to_string(commands.size());
      if (!write_lines(stem + ".s", section.lines)) return false;
      std::vector<std::string> words = assembler;
      words.insert(words.end(), {stem + ".s", "-o", stem + ".o"});
      commands.push_back(words);
      objects.push_back(stem + ".o");
    }
  if (commands.empty()) {
    complain("there is no host section, so no program",
             "the text is not whole: it should come from mica-codegen");
    return false;
  }
  return run_tools(job.flags, folder, commands);
}

bool link_objects(const Job &job, const std::string &folder, const std::vector<std::string> &objects) {
  std::vector<std::string> words;
  std::string runtime;
  if (!find_linker(words) || !find_runtime(runtime)) return false;
  const std::string &output = job.flags.output;
  const std::string fresh = beside(output);
  words.insert(words.end(), {"-o", fresh});
  words.insert(words.end(), objects.begin(), objects.end());
  for (const std::string &where : job.flags.folders) words.push_back("-L" + where);
  words.push_back(runtime);
  for (const std::string &library : job.flags.libraries) words.push_back("-l" + library);
  words.insert(words.end(), {"-Wl,--gc-sections", "-Wl,-z,noexecstack", "-lm", "-lpthread", "-ldl"});
  if (run_tools(job.flags, folder, {words})) {
    if (std::rename(fresh.c_str(), output.c_str()) == 0) return true;
    complain("cannot write " + output + ": " + std::strerror(errno));
  } else if (!spectra::interrupted()) {
    std::cerr << "  hint: an undefined name is an `external` that no unit exports and no library has; -l "
                 "NAME adds a library\n";
  }
  unlink(fresh.c_str());
  return false;
}

} // namespace mica::link
