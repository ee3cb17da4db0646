#!/bin/sh
# Measures and prints tables; what it prints is kept in bench/results/HOST.md (`bench/run.sh > bench/results/NAME.md`).
#   bench/run.sh [compile|loops|start]...      all of them where nothing is said
# Times are the best of three runs, seconds of the wall clock; nothing else should run beside it.
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

loops() {
  echo; echo "## Loops"; echo
  echo "| loop | Mica O2 | C ($CC -O2) | ratio |"; echo "| --- | --- | --- | --- |"
  for source in bench/loops/*.mica; do
    name=$(basename "$source" .mica)
    "$CC" -O2 -march=x86-64-v3 -ffp-contract=off -fwrapv "bench/loops/$name.c" -o "$tmp/$name.c.out" -lm
    c=$(best "$tmp/$name.c.out")
    if "$bin/micac" --device cpu --optimize O2 "$source" -o "$tmp/$name.mica.out" 2> /dev/null; then
      mica=$(best "$tmp/$name.mica.out")
      [ "$("$tmp/$name.mica.out")" = "$("$tmp/$name.c.out")" ] || mica="$mica (another answer)"
      echo "| $name | $mica | $c | $(ratio "${mica%% *}" "$c") |"
    else
      echo "| $name | - | $c | - |"
    fi
  done
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
[ $# -gt 0 ] || set -- compile loops start
for part in "$@"; do "$part"; done
