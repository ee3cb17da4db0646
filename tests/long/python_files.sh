#!/bin/sh
# Saved values both ways with the packages from PyPI: files that safetensors and numpy write now are read by Mica, and what Mica
# writes is read by them. The suite does the same with files that are checked in (tests/data).
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$root/build/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check numpy safetensors
mkdir "$work/data"
"$work/venv/bin/python" "$root/tests/data/make.py" write "$work/data"
cd "$work"
"$bin/micac" --device cpu --remarks none "$root/tests/data/reads.mica" -o reads
./reads "$work/data" > got
sed '1,/^--- stdout$/d' "$root/tests/data/reads.test" > expected
diff expected got
"$bin/micac" --device cpu --remarks none "$root/tests/data/writes.mica" -o writes
./writes "$root/tests/data"
"$work/venv/bin/python" "$root/tests/data/make.py" verify .
