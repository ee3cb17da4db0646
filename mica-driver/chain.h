// Stages joined by pipes.
#pragma once
#include "driver.h"

namespace mica::driver {

/// One link of the chain: a stage with its words.
struct Step {
  int stage;
  std::vector<std::string> words;
};

/// Runs the steps at once, each reading what the one before writes; the first reads `input` (a path, or `-`).
/// What the last writes goes to its own `-o`, or to standard output. The result is the exit code of the first
/// step that failed with a reason of its own. `faulty` gets the step whose fault it was, or -1.
int run_chain(const std::vector<Step> &steps, const std::string &input, bool verbose, int *faulty);

/// Keeps the input of the stage that had a fault and prints the one line that shows the fault again.
void keep_reproduction(const std::vector<Step> &steps, const std::string &input, int faulty);

} // namespace mica::driver
