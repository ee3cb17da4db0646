// mica-link: texts of level target to an executable.
#include "cubins.h"
#include "link.h"
#include "spectra/process.h"
#include "spectra/stage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <iostream>

int main(int argc, char **argv) {
  mica::link::Flags flags;
  CLI::App app{"Assembles, embeds the kernels, and links a program with libmicart.", "mica-link"};
  app.add_option("input", flags.inputs, "texts of level target, one a unit; - is standard input")
      ->type_name("FILE");
  app.add_option("-o,--output", flags.output, "the executable; a.out where it is not said")
      ->type_name("FILE");
  app.add_option("--arch", flags.archs,
                 "card generations to compile for, such as sm_90,sm_120; all five where it is not said")
      ->delimiter(',')
      ->check([](const std::string &arch) {
        for (const char *known : mica::link::kGenerations)
          if (arch == known || arch == "sm_90a") return std::string();
        return "no generation `" + arch + "`: sm_80, sm_86, sm_89, sm_90, sm_120";
      });
  app.add_option("-l", flags.libraries, "a C library to link with")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("-L", flags.folders, "a folder to look for C libraries in")
      ->type_name("FOLDER")
      ->allow_extra_args(false);
  app.add_flag("-v,--verbose", flags.verbose, "print each command");
  app.set_version_flag("--version", std::string("mica-link ") + spectra::kVersion);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return spectra::end_of_parse(app, error);
  }
  if (flags.inputs.empty()) flags.inputs.push_back("-");
  int code = spectra::kExitFault;
  try {
    code = mica::link::run(flags);
  } catch (const spectra::Refusal &refusal) {
    mica::link::complain(refusal.what());
    code = spectra::kExitInput;
  } catch (const std::exception &fault) {
    std::cerr << "mica-link: fault: " << fault.what() << '\n';
  }
  if (int number = spectra::interrupted()) { // everything is cleaned up: end as the signal would have
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
  return code;
}
