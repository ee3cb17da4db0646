#include "link.h"
#include "cubins.h"
#include "executable.h"
#include "inputs.h"
#include "spectra/process.h"
#include "spectra/stage.h"

#include <fstream>
#include <iostream>
#include <iterator>

namespace mica::link {

void complain(const std::string &message, const std::string &hint) {
  std::cerr << "mica-link: error: " + message + "\n" + (hint.empty() ? "" : "  hint: " + hint + "\n");
}

bool run_tools(const Flags &flags, const std::string &folder,
               const std::vector<std::vector<std::string>> &commands) {
  std::vector<spectra::Command> list;
  for (size_t i = 0; i < commands.size(); ++i) {
    if (flags.verbose) std::cerr << spectra::shell_line(commands[i]) + "\n";
    std::string said = folder + "/said." + std::to_string(i);
    list.push_back({commands[i], "/dev/null", said, said + ".err"});
  }
  const std::vector<spectra::Ended> ended = spectra::run_commands(list, spectra::processors());
  for (size_t i = 0; i < ended.size(); ++i) {
    std::string text;
    for (const std::string &file :
         {list[i].errors, list[i].output}) { // some tools complain on standard output
      std::ifstream in(file, std::ios::binary);
      text.append(std::istreambuf_iterator<char>(in), {});
    }
    if (ended[i].ok()) {
      if (flags.verbose) std::cerr << text;
      continue;
    }
    if (spectra::interrupted()) return false;
    std::cerr << text;
    if (!text.empty() && text.back() != '\n') std::cerr << '\n';
    complain(commands[i][0] + (ended[i].signal ? " was ended by signal " + std::to_string(ended[i].signal)
                                               : " failed with exit code " + std::to_string(ended[i].code)));
    return false;
  }
  return true;
}

int run(const Flags &flags) {
  Job job{flags, {}};
  // Every text is read and verified, and the units agree about what they share.
  int code = read_units(job);
  if (code != spectra::kExitOk) return code;
  if (!units_agree(job) || !can_write_output(flags.output)) return spectra::kExitInput;

  spectra::catch_interrupts();
  spectra::TempFolder folder("mica-link");
  // PTX becomes one fat binary for all card generations, embedded as an object file.
  std::vector<std::string> objects;
  if (!embed_kernels(job, folder.path(), objects)) return spectra::kExitInput;
  // Assembly becomes objects, and all of it with libmicart an executable, written beside and renamed.
  if (!assemble(job, folder.path(), objects) || !link_objects(job, folder.path(), objects))
    return spectra::kExitInput;
  return spectra::kExitOk;
}

} // namespace mica::link
