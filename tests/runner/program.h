// Building a test's program and running it.
#pragma once
#include "process.h"
#include "test_file.h"

namespace mica::tests {

/// `$ROOT` is the repository.
std::string replace_root(std::string text);

/// Compiles the input with the test's `micac` command and these further options and, where that went well,
/// runs the program, with `runtime_flags` between +mica and -mica. What the compiler said comes before what
/// the program said.
Outcome build_and_run(const TestFile &test, const std::string &options,
                      const std::string &runtime_flags = {});

} // namespace mica::tests
