// Holding an outcome against what a test expects.
#pragma once
#include "process.h"
#include "test_file.h"

namespace mica::tests {

/// Without places and source lines where the bytes are a Spectra text; else as they are.
std::string normalize(const std::string &bytes);

/// The difference from `expected` to `actual`, three lines around each change.
std::string unified_diff(const std::string &expected, const std::string &actual, const std::string &what);

/// How many lines of a text hold the operation `what`: at the line's start, or after `%x = `.
int count_lines(const std::string &text, const std::string &what);

/// Everything that is wrong with the outcome, in words; empty where it is as expected.
std::string compare(const TestFile &test, const Outcome &outcome);

/// The laws of a Spectra text: it reads, it verifies, and printing what was read gives the same bytes.
std::string check_laws(const std::string &text);

} // namespace mica::tests
