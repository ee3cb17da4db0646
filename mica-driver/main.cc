// micac: compiles Mica. `micac train.mica -o train` is
//   mica-parse train.mica | mica-check | mica-grad | mica-fuse | mica-codegen | mica-link -o train
#include "driver.h"
#include "spectra/process.h"
#include "spectra/stage.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>

int main(int argc, char **argv) {
  mica::driver::Flags flags;
  CLI::App app{"Compiles a Mica program: a program unit, and the units that it imports from.", "micac"};
  app.add_option("input", flags.inputs, "sources, or Spectra texts to go on from; - is standard input")
      ->type_name("FILE");
  app.add_option("-o,--output", flags.output, "the program, a.out where it is not said; with --emit the text")
      ->type_name("FILE");
  app.add_option("--device", flags.device, "cpu: `on gpu` means the processor; gpu: the card")
      ->check(CLI::IsMember({"cpu", "gpu"}));
  app.add_option("--optimize", flags.optimize,
                 "debug, checked, O1, O2, O3 or release; then, after commas, fp_tensor_float32, "
                 "fp_half_intermediates")
      ->type_name("TIER");
  app.add_option("--emit", flags.emit, "stop after a stage and write its text")
      ->check(CLI::IsMember({"parse", "check", "grad", "fuse", "codegen"}));
  app.add_option("--arch", flags.archs,
                 "card generations to compile for, such as sm_90,sm_120; all five where it is not said")
      ->type_name("LIST");
  app.add_flag("--no-fuse", flags.no_fuse, "one operation a kernel");
  app.add_option("--remarks", flags.remarks,
                 "what was fused and what stood in the way: text, yaml, yaml:FILE; none where it is not said")
      ->type_name("HOW");
  app.add_option("--report", flags.reports,
                 "memory: the peak of the card's memory, before the program ever runs")
      ->check(CLI::IsMember({"memory"}))
      ->allow_extra_args(false);
  app.add_option("-l", flags.libraries, "a C library to link with")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("-L", flags.folders, "a folder to look for C libraries in")
      ->type_name("FOLDER")
      ->allow_extra_args(false);
  app.add_flag("--save-temps", flags.save_temps, "keep the text after each stage in the current folder");
  app.add_flag("-v,--verbose", flags.verbose, "print each command");
  app.set_version_flag("--version", std::string("micac ") + spectra::kVersion);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return spectra::end_of_parse(app, error);
  }
  int code = spectra::kExitFault;
  try {
    code = mica::driver::run(flags);
  } catch (const spectra::Refusal &refusal) {
    mica::driver::complain(refusal.what());
    code = spectra::kExitInput;
  } catch (const std::exception &fault) {
    std::cerr << "micac: fault: " << fault.what() << '\n';
  }
  if (int number = spectra::interrupted()) { // everything is cleaned up: end as the signal would have
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
  return code;
}
