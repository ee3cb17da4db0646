// mica-check: names, types and shapes. Reads Spectra `parsed`, writes Spectra `checked`.
#include "check.h"
#include "spectra/stage.h"

#include <CLI/CLI.hpp>

int main(int argc, char **argv) {
  mica::check::Flags flags;
  spectra::StageInfo info{"mica-check", "Checks names, types and shapes of a parsed Mica program.", "FILE"};
  return spectra::run_stage(
      argc, argv, info,
      [&](CLI::App &app) {
        app.add_flag(
            "--promote-only", flags.promote_only,
            "read a text of level checked and run the last pass alone: variables' values become values");
        app.add_option("--device", flags.device,
                       "cpu: `on gpu` means the processor; gpu (the default where a program says `on gpu`)")
            ->check(CLI::IsMember({"cpu", "gpu"}));
        app.add_option("--optimize", flags.optimize,
                       "debug, checked, O1, O2, O3 or release; then, after commas, fp_tensor_float32, "
                       "fp_half_intermediates")
            ->check([](const std::string &words) {
              spectra::Options options;
              std::string wrong;
              return mica::check::read_optimize(words, options, wrong) ? std::string()
                                                                       : "no tier or word `" + wrong + "`";
            });
      },
      [&](const spectra::StageInput &input, std::string &output) {
        return mica::check::check_text(input.name, input.text, flags, output);
      });
}
