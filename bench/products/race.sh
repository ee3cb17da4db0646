#!/bin/sh
# Products beside OpenBLAS, as numpy's wheel brings it, or Debian's libopenblas:
#   bench/products/race.sh [THREADS] [LIBRARY]
set -eu
cd "$(dirname "$0")/../.."
threads=${1:-1}
library=${2:-$(python3 -c 'import glob, numpy, os; print(glob.glob(os.path.join(os.path.dirname(numpy.__file__), "..", "numpy.libs", "libscipy_openblas*"))[0])' 2>/dev/null || echo libopenblas.so.0)}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# The threads of libmicart are those that the process may use.
${CC:-clang-22} -O2 -DMICA_RACE bench/products/race.c build/lib/libmicart.a -Wl,--allow-multiple-definition -lm -lpthread -ldl \
  -o "$tmp/race"
pin=
[ "$threads" = 1 ] && pin="taskset -c ${CORE:-1}"
echo "| m x n x k | layout | Mica GFLOP/s | OpenBLAS | ratio |"
echo "| --- | --- | --- | --- | --- |"
# Squares; then nanoGPT's processor setting: 12 x 64 tokens, 128 wide, 65 characters, forward and both gradients; then odd ones.
$pin "$tmp/race" "$library" "$threads" \
  1024 1024 1024 0 0  1024 1024 1024 0 1  1024 1024 1024 1 0  1024 1024 1024 1 1  512 512 512 0 0  256 256 256 0 0 \
  768 384 128 0 0  768 128 384 0 1  128 384 768 1 0   768 128 128 0 0  768 128 128 0 1  128 128 768 1 0 \
  768 512 128 0 0  768 128 512 0 1  128 512 768 1 0   768 128 512 0 0  768 512 128 0 1  512 128 768 1 0 \
  768 65 128 0 1   768 128 65 0 0   65 128 768 1 0 \
  128 192 384 0 0  128 384 192 0 1  384 192 128 1 0  64 64 32 0 1  64 32 64 0 0  16384 64 64 0 0  1 4096 1024 0 0  2048 2048 16 0 0
