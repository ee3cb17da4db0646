#!/bin/sh
# chargpt, stopped and resumed, ends with the bits of a run that was not: once by its PAUSE, once by SIGINT at a moment of no plan,
# after which the checkpoint is whole too.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
text=$root/examples/data/shakespeare.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
sed 's/^ *Every = 250;/ Every = 20;/; s/^ *Shown = 50;/ Shown = 5;/' "$root/examples/chargpt/chargpt.mica" > chargpt.mica
"$root/build/bin/micac" --device cpu --optimize O3 --remarks none chargpt.mica -o chargpt
./chargpt "$text" 100 whole.safetensors > whole.txt

./chargpt "$text" 100 paused.safetensors 37 > paused.txt
./chargpt "$text" 100 paused.safetensors >> paused.txt
cmp whole.safetensors paused.safetensors

# A shell's background programs ignore SIGINT; env gives it back.
env --default-signal=INT ./chargpt "$text" 100 killed.safetensors > killed.txt &
while [ ! -e killed.safetensors ]; do sleep 0.05; done
sleep 0.3
kill -INT $! || true
wait $! || true
ls killed.safetensors.*.part 2> /dev/null && { echo "half a checkpoint was left"; exit 1; }
./chargpt "$text" 100 killed.safetensors +mica threads=1 -mica >> killed.txt
grep -q '^resumed at step [2468]0$' killed.txt
cmp whole.safetensors killed.safetensors
sed '1,/---- a sample/d' whole.txt > a
sed '1,/---- a sample/d' killed.txt > b
cmp a b
