#!/bin/sh
# Builds the programs of tests/gpu twice, for the card and for the processor, into build/gpu, which then travels to
# a machine with a card. Arguments: names of programs; all where there are none.
#   tests/gpu/build.sh && tests/gpu/run.sh build/gpu
set -e
cd "$(dirname "$0")/../.."
out=build/gpu
[ $# -gt 0 ] || rm -rf $out
mkdir -p $out
failed=0
for source in tests/gpu/programs/*.mica tests/gpu/speed/*.mica; do
  name=$(basename "$source" .mica)
  [ -f "$source" ] || continue
  if [ $# -gt 0 ]; then case " $* " in *" $name "*) ;; *) continue ;; esac; fi
  flags=$(sed -n '1s/^{.*optimize: \([^ ,}]*\(,[a-z_0-9]*\)*\).*}$/\1/p' "$source")
  arch=${MICA_ARCH-sm_90}
  if ! build/bin/micac --device gpu --optimize "${flags:-O2}" ${arch:+--arch $arch} "$source" -o $out/$name.gpu; then
    echo "tests/gpu: $source does not compile for the card"
    failed=1
    continue
  fi
  case $source in tests/gpu/programs/*)
    build/bin/micac --device cpu --optimize "${flags:-O2}" "$source" -o $out/$name.cpu ;;
  esac
  head -1 "$source" > $out/$name.head
done
du -sh $out
exit $failed
