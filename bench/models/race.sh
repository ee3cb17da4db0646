#!/bin/sh
# A transformer's training step in nanoGPT's processor setting (4 layers, 128 wide, context 64, batch 12; one head, written in
# primitives), beside PyTorch's, in turns; the best of five: bench/models/race.sh [THREADS]   (PYTHON: one that has torch)
set -eu
cd "$(dirname "$0")/../.."
threads=${1:-2}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
build/bin/micac --device cpu --optimize O3 bench/models/transformer.mica -o "$tmp/transformer"
for turn in 1 2 3 4 5; do
  "$tmp/transformer" +mica threads="$threads" -mica | sed -n 's/ ms a step//p' >> "$tmp/mica"
  ${PYTHON:-python3} bench/models/torch_transformer.py "$threads" | sed 's/ ms a step//' >> "$tmp/torch"
done
mica=$(sort -n "$tmp/mica" | head -1)
torch=$(sort -n "$tmp/torch" | head -1)
echo "| threads | Mica ms a step | PyTorch | ratio |"
echo "| --- | --- | --- | --- |"
echo "| $threads | $mica | $torch | $(awk -v a="$torch" -v b="$mica" 'BEGIN { printf "%.2f", a / b }') |"
