// The tool `spectra`: works on a Spectra text of any level.
//
//   spectra verify FILE         reads and verifies; silent where all is well
//   spectra print FILE          reads and prints: the same bytes where the text is canonical
//   spectra strip-places FILE   without places and source lines
//   spectra ops [NAME]          the table of operations
#include "spectra/ops.h"
#include "spectra/stage.h"
#include "spectra/text.h"
#include "spectra/tree.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace {
using namespace spectra;

/// The level that the first line states; nothing where it is no Spectra text.
bool is_parsed(const std::string &text) { return text.starts_with("spectra 1 parsed\n"); }

int exit_code(ReadResult result) {
  return result == ReadResult::ok ? kExitOk : result == ReadResult::wrong ? kExitInput : kExitCutOff;
}

/// Reads, and verifies where asked; the canonical text goes to `printed`.
int read_text(const StageInput &input, bool verify, std::string &printed) {
  if (is_parsed(input.text)) {
    Tree tree;
    TreeResult result = read_tree(input.text, input.name, tree, std::cerr);
    if (result != TreeResult::ok) return result == TreeResult::wrong ? kExitInput : kExitCutOff;
    printed = print_tree(tree);
    return kExitOk;
  }
  Module module;
  int code = exit_code(read_module(input.text, input.name, module, std::cerr));
  if (code != kExitOk) return code;
  if (verify && !verify_module(module, input.name, std::cerr)) return kExitInput;
  printed = print_module(module);
  return kExitOk;
}

/// A cut-off text is no error of a stage before when a person runs this tool by hand: say so.
std::string range(int low, int high) {
  if (low == high) return std::to_string(low);
  return std::to_string(low) + ".." + (high < 0 ? "" : std::to_string(high));
}

/// One operation a line: name, operands, results, levels, summary; with a name its example too.
int print_ops(const std::string &wanted, std::string &output) {
  bool found = false;
#define SPECTRA_OP(name, ...) OpCode::name,
  static constexpr OpCode kCodes[] = {
#include "spectra/ops.inc"
  };
#undef SPECTRA_OP
  for (OpCode code : kCodes) {
    const OpInfo &op = info(code);
    if (!wanted.empty() && wanted != op.name) continue;
    found = true;
    std::string levels;
    for (Level level : {Level::parsed, Level::checked, Level::grad, Level::fused, Level::target})
      if (op.levels >> static_cast<int>(level) & 1)
        levels += (levels.empty() ? "" : ",") + std::string(level_name(level));
    output += std::string(op.name) + "  operands " + range(op.min_args, op.max_args) + "  results " +
              range(op.min_results, op.max_results) + "  " + levels + "  " + op.summary + "\n";
    if (wanted.empty()) continue;
    if (*op.attributes) output += std::string("  attributes  ") + op.attributes + "\n";
    output += std::string("  example     ") + op.example + "\n";
  }
  if (found) return kExitOk;
  std::cerr << "spectra: error: no operation is called `" << wanted << "`\n";
  return kExitInput;
}

int run_ops(int argc, char **argv) {
  CLI::App app{"Prints the table of operations, or one of them with its example.", "spectra ops"};
  std::string name;
  app.add_option("name", name, "the operation")->type_name("NAME");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return end_of_parse(app, error);
  }
  std::string output;
  int code = print_ops(name, output);
  return code == kExitOk && !write_whole("-", output, "spectra ops") ? kExitInput : code;
}

int usage(std::ostream &out) {
  out << "Works on a Spectra text of any level.\n"
         "Usage: spectra COMMAND [FILE] [-o FILE]\n\n"
         "Commands:\n"
         "  verify        reads and verifies; silent where all is well\n"
         "  print         reads and prints it: the same bytes where the text is canonical\n"
         "  strip-places  leaves out places and source lines\n"
         "  ops [NAME]    the table of operations, or one of them\n\n"
         "Exit codes: 0; 1 the text is wrong; 2 the command line is wrong; 3 the text is cut off; 70 a fault "
         "of the tool.\n";
  return &out == &std::cout ? kExitOk : kExitUsage;
}

} // namespace

int main(int argc, char **argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "--help" || command == "-h") return usage(std::cout);
  if (command == "--version") {
    std::cout << "spectra " << kVersion << "\n";
    return kExitOk;
  }
  if (command == "ops") return run_ops(argc - 1, argv + 1);
  if (command == "verify") {
    StageInfo info{"spectra verify", "Reads and verifies a Spectra text; silent where all is well.", "FILE",
                   true};
    return run_stage(argc - 1, argv + 1, info, nullptr, [](const StageInput &input, std::string &) {
      std::string printed;
      return read_text(input, true, printed);
    });
  }
  if (command == "print") {
    StageInfo info{"spectra print", "Reads a Spectra text and prints it in canonical form.", "FILE", true};
    return run_stage(argc - 1, argv + 1, info, nullptr, [](const StageInput &input, std::string &output) {
      return read_text(input, false, output);
    });
  }
  if (command == "strip-places") {
    StageInfo info{"spectra strip-places", "Leaves out a Spectra text's places and source lines.", "FILE",
                   true};
    return run_stage(argc - 1, argv + 1, info, nullptr, [](const StageInput &input, std::string &output) {
      output = strip_text(input.text);
      return kExitOk;
    });
  }
  return usage(std::cerr);
}
