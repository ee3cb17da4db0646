// mica-parse: Mica source to Spectra level `parsed`.
#include "parser.h"
#include "spectra/stage.h"

#include <iostream>

int main(int argc, char **argv) {
  spectra::StageInfo info{"mica-parse", "Parses Mica source and writes its tree, Spectra level `parsed`.",
                          "FILE"};
  return spectra::run_stage(argc, argv, info, nullptr,
                            [](const spectra::StageInput &input, std::string &output) {
                              spectra::Tree tree;
                              tree.sources.push_back({input.name, {}});
                              spectra::Diag diag(tree.sources, std::cerr);
                              try {
                                mica::parse::Parser parser(input.text, tree, diag);
                                parser.parse_unit();
                              } catch (const mica::parse::Fatal &) {
                              } // the first token already could not be read
                              if (diag.errors()) return spectra::kExitInput;
                              output = spectra::print_tree(tree);
                              return spectra::kExitOk;
                            });
}
