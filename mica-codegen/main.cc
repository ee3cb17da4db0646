// mica-codegen: Spectra level `fused` to level `target`: assembly for the host, PTX for the card.
#include "codegen.h"
#include "spectra/stage.h"
#include "spectra/text.h"

int main(int argc, char **argv) {
  spectra::StageInfo info{"mica-codegen", "Generates code: Spectra level `fused` to level `target`.", "FILE"};
  return spectra::run_stage(argc, argv, info, nullptr,
                            [](const spectra::StageInput &input, std::string &output) {
                              return spectra::transform_text(
                                  input.name, input.text, spectra::Level::fused, spectra::Level::target,
                                  [](spectra::Module &module, spectra::Diag &diag, void *) {
                                    return mica::codegen::generate(module, diag);
                                  },
                                  nullptr, output);
                            });
}
