#!/bin/sh
# Runs what tests/gpu/build.sh made, on a machine with a card: first each program's output against that of the same
# program on the processor, run here too, then the times.
#   tests/gpu/run.sh build/gpu [names]
here=$(dirname "$0")
folder=${1:-build/gpu}
[ $# -gt 0 ] && shift
exec python3 "$here/check.py" "$folder" "$@"
