// Laws that hold for every program of the corpus: tests/run and examples.
#pragma once
#include <string>
#include <vector>

namespace mica::tests {

/// Registers, for each whole program among the test files and for each example:
///   round trip - at each level the text reads, verifies and prints back to the same bytes;
///   pipe       - `micac --emit=STAGE` equals the stages one after the other, byte for byte;
///   bits       - the program prints the same in every tier, fused or not, on one thread or two.
void register_laws(const std::vector<std::string> &test_files);

} // namespace mica::tests
