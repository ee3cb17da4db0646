#!/bin/sh
# Thousands of changed texts of every level through every stage behind it (tests/unit/fuzz_stages_test.cc), of the fuzzer's own
# programs and of every example. MICA_FUZZ_TO=N for more.
set -eu
export MICA_FUZZ_TO="${MICA_FUZZ_TO:-3000}"
build/bin/unit-fuzz --gtest_brief=1
MICA_FUZZ_TO=$((MICA_FUZZ_TO / 10))
for example in examples/*/*.mica; do
  echo "$example"
  MICA_FUZZ="$example --device cpu --optimize O1" build/bin/unit-fuzz --gtest_brief=1
done
