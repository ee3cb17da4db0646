#!/bin/sh
# Measures and prints tables; what it prints is kept in bench/results/HOST.md (`bench/run.sh > bench/results/NAME.md`).
#   bench/run.sh [compile|models|loops|start|threads]...      all of them where nothing is said
# Times are seconds; where nothing else is said the best of three runs by the wall clock.
set -eu
cd "$(dirname "$0")/.."
bin=build/bin
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
CC=${CC:-clang-22}

best() { # COMMAND...: the best of three, in seconds; - where it fails
  python3 - "$@" <<'PYTHON'
import subprocess, sys, time
times = []
for _ in range(3):
    start = time.perf_counter()
    if subprocess.run(["sh", "-c", " ".join(sys.argv[1:])], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        print("-")
        sys.exit()
    times.append(time.perf_counter() - start)
print(f"{min(times):.3f}")
PYTHON
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (a == "-" || b == "-") print "-"; else printf "%.2f", a / b }'; }

compile() {
  echo; echo "## Compiling"; echo
  echo "| what | Mica | C ($CC -O2) | ratio |"; echo "| --- | --- | --- | --- |"
  bench/generate 100000 mica > "$tmp/big.mica"
  check=$(best "$bin/mica-parse $tmp/big.mica | $bin/mica-check --device cpu > /dev/null")
  echo "| parse and check 100,000 lines | $check | | |"
  bench/generate 10000 mica > "$tmp/p.mica"
  bench/generate 10000 c > "$tmp/p.c"
  mica=$(best "$bin/micac --device cpu --optimize O2 $tmp/p.mica -o $tmp/p_mica")
  c=$(best "$CC -O2 -fwrapv $tmp/p.c -o $tmp/p_c")
  echo "| 10,000 lines of procedures, O2, to a program | $mica | $c | $(ratio "$mica" "$c") |"
  mica=$(best "$bin/micac --device cpu --optimize debug $tmp/p.mica -o $tmp/p_debug")
  c=$(best "$CC -O0 -g -fwrapv $tmp/p.c -o $tmp/p_c0")
  echo "| the same, debug (C: -O0 -g) | $mica | $c | $(ratio "$mica" "$c") |"
  mica=$(best "$bin/micac --device cpu examples/hello/hello.mica -o $tmp/hello")
  echo "| hello, debug | $mica | | |"
  if [ -x "$tmp/p_mica" ] && [ "$("$tmp/p_mica")" != "$("$tmp/p_c")" ]; then echo "The programs' answers differ."; fi
}

# Both run in turns, so that other work on the machine meets them alike; the ratio is of the processor's time (user).
loops() {
  echo; echo "## Loops"; echo
  echo "| loop | Mica O2 | C ($CC -O2) | ratio |"; echo "| --- | --- | --- | --- |"
  for source in bench/loops/*.mica; do
    name=$(basename "$source" .mica)
    "$CC" -O2 -march=x86-64-v3 -ffp-contract=off -fwrapv "bench/loops/$name.c" -o "$tmp/$name.c.out" -lm
    "$bin/micac" --device cpu --optimize O2 "$source" -o "$tmp/$name.mica.out"
    bench/race -n 15 "$tmp/$name.mica.out" "$tmp/$name.c.out" > "$tmp/times"
    mica=$(sed -n '1s/.* //p' "$tmp/times")
    c=$(sed -n '2s/.* //p' "$tmp/times")
    answer=
    [ "$("$tmp/$name.mica.out")" = "$("$tmp/$name.c.out")" ] || answer=" (another answer)"
    echo "| $name | $mica$answer | $c | $(ratio "$mica" "$c") |"
  done
}

# Models by their number of layers.
models() {
  echo; echo "## Compiling models, O3"; echo
  echo "| model | seconds of the processor | of the wall clock |"; echo "| --- | --- | --- |"
  for depth in 4 48; do
    sed "s/Depth = 4;/Depth = $depth;/" bench/models/transformer.mica > "$tmp/model.mica"
    bench/race -n 3 "$bin/micac --device cpu --optimize O3 $tmp/model.mica -o $tmp/model" > "$tmp/times"
    read -r wall user < "$tmp/times"
    echo "| transformer.mica, $depth layers | $user | $wall |"
  done
}

# A training of small steps on one thread and on two, in turns.
threads() {
  echo; echo "## Threads"; echo
  "$bin/micac" --device cpu --optimize O3 examples/charmlp/charmlp.mica -o "$tmp/charmlp"
  train="rm -f $tmp/c.safetensors; $tmp/charmlp +mica threads=%s -mica examples/data/shakespeare.txt 400 $tmp/c.safetensors"
  # shellcheck disable=SC2059
  bench/race -n 9 "$(printf "$train" 1)" "$(printf "$train" 2)" > "$tmp/times"
  echo "| charmlp, 400 steps | wall clock | processor |"; echo "| --- | --- | --- |"
  sed -n '1s/\(.*\) \(.*\)/| 1 thread | \1 | \2 |/p; 2s/\(.*\) \(.*\)/| 2 threads | \1 | \2 |/p' "$tmp/times"
}

start() {
  echo; echo "## Starting"; echo
  "$bin/micac" --device cpu --optimize release examples/hello/hello.mica -o "$tmp/hello" || return 0
  printf '#include <stdio.h>\nint main(void) { puts("Hello, World!"); }\n' > "$tmp/hello.c"
  "$CC" -O2 "$tmp/hello.c" -o "$tmp/hello_c"
  echo "| hello, a hundred times | Mica | C | ratio |"; echo "| --- | --- | --- | --- |"
  mica=$(best "i=0; while [ \$i -lt 100 ]; do $tmp/hello; i=\$((i+1)); done")
  c=$(best "i=0; while [ \$i -lt 100 ]; do $tmp/hello_c; i=\$((i+1)); done")
  echo "| seconds | $mica | $c | $(ratio "$mica" "$c") |"
  echo "| size in bytes | $(stat -c %s "$tmp/hello") | $(stat -c %s "$tmp/hello_c") | |"
}

echo "# Measured on $(grep -m1 'model name' /proc/cpuinfo | sed 's/.*: //'), $(nproc) cores, $(date -u +%F)"
[ $# -gt 0 ] || set -- compile models loops start threads
for part in "$@"; do "$part"; done
