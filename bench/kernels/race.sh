#!/bin/sh
# Kernels of rows and cells beside PyTorch's, in turns: bench/kernels/race.sh [THREADS]      (PYTHON: one that has torch)
set -eu
cd "$(dirname "$0")/../.."
threads=${1:-1}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
build/bin/micac --device cpu --optimize O3 bench/kernels/kernels.mica -o "$tmp/kernels"
for turn in 1 2 3; do
  "$tmp/kernels" +mica threads="$threads" -mica | sed 's/^/mica /'
  ${PYTHON:-python3} bench/kernels/torch_kernels.py "$threads" | sed 's/^/torch /'
done | awk '
  { key = $1 " " $2; if (!(key in best) || $3 < best[key]) best[key] = $3; if (!($2 in seen)) { seen[$2] = 1; order[++n] = $2 } }
  $2 != "" { size[$2] = $3 * $5 }
  END {
    print "| kernel | Mica ms | GB/s | share of the copy | PyTorch ms | ratio |"
    print "| --- | --- | --- | --- | --- | --- |"
    for (i = 1; i <= n; i++) {
      k = order[i]; m = best["mica " k]; t = best["torch " k]
      rate = size[k] / m
      if (k == "copy") copy = rate
      printf "| %s | %.2f | %.1f | %.2f | %.2f | %.2f |\n", k, m, rate, rate / copy, t, t / m
    }
  }'
