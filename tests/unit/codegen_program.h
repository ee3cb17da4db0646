// Compiles a text of level fused by mica-codegen, assembles and links it with libmicart, runs it, gives its
// output.
#pragma once
#include "codegen.h"
#include "spectra/text.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace mica::codegen {

struct Outcome {
  int status = -1;
  std::string out, err;
};

inline std::string slurp(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// `body`: what stands between the header and `end`.
inline Outcome run_fused(const std::string &tier, const std::string &body,
                         const std::string &arguments = "") {
  Outcome outcome;
  std::string text = "spectra 1 fused\noptions device=cpu tier=" + tier + "\nprogram t\nsource \"t.mica\"\n" +
                     body + "end\n";
  spectra::Module module;
  std::ostringstream said;
  bool ok = spectra::read_module(text, "t", module, said) == spectra::ReadResult::ok &&
            spectra::verify_module(module, "t", said);
  spectra::Diag diag(module.sources, said);
  ok = ok && generate(module, diag);
  if (!ok) {
    ADD_FAILURE() << said.str();
    return outcome;
  }
  namespace fs = std::filesystem;
  char pattern[] = "/tmp/mica-codegen-test-XXXXXX";
  fs::path folder = mkdtemp(pattern);
  {
    std::ofstream assembly(folder / "t.s");
    for (const std::string &line : module.sections.at(0).lines) assembly << line << '\n';
  }
  const char *library = std::getenv("MICA_LIBRARY");
  std::string at = folder.string();
  std::string build = "cc " + at + "/t.s " + (library ? library : "build/lib/libmicart.a") + " -o " + at +
                      "/t -lm -lpthread -ldl 2> " + at + "/log";
  if (std::system(build.c_str()) != 0)
    ADD_FAILURE() << slurp(folder / "log");
  else {
    int code = std::system((at + "/t " + arguments + " > " + at + "/out 2> " + at + "/err").c_str());
    outcome.status = WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code);
    outcome.out = slurp(folder / "out");
    outcome.err = slurp(folder / "err");
  }
  fs::remove_all(folder);
  return outcome;
}

/// `operations` as the program's body.
inline std::string main_of(const std::string &operations) {
  return "func @program.main() {\n" + operations + "  return\n}\n";
}

} // namespace mica::codegen
