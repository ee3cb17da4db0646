// mica-grad: each tape window and its Backward become plain forward and backward code.
#include "grad.h"
#include "spectra/stage.h"
#include "spectra/text.h"

namespace {

bool run(spectra::Module &module, spectra::Diag &diag, void *) { return mica::grad::run(module, diag); }

} // namespace

int main(int argc, char **argv) {
  spectra::StageInfo info{"mica-grad", "Synthesizes gradients: Spectra level checked in, level grad out.",
                          "FILE"};
  return spectra::run_stage(argc, argv, info, nullptr,
                            [](const spectra::StageInput &input, std::string &output) {
                              return spectra::transform_text(input.name, input.text, spectra::Level::checked,
                                                             spectra::Level::grad, run, nullptr, output);
                            });
}
