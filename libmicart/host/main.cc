// The program's start. This file and start.cc are compiled for every x86-64, so that a processor without the
// baseline is told so in plain words before anything else runs.
#include "runtime.h"

#include <cpuid.h>
#include <stdio.h>

namespace {
// The first feature of x86-64-v3 that this processor, or the operating system, does not have; null where all
// are there.
const char *missing_feature() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return "cpuid";
  if (!(c & 1u << 12)) return "FMA";
  if (!(c & 1u << 20)) return "SSE4.2";
  if (!(c & 1u << 22)) return "MOVBE";
  if (!(c & 1u << 23)) return "POPCNT";
  if (!(c & 1u << 28)) return "AVX";
  if (!(c & 1u << 29)) return "F16C";
  if (!(c & 1u << 27)) return "OSXSAVE";
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 6) != 6) return "the operating system's support of AVX";
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return "AVX2";
  if (!(b & 1u << 5)) return "AVX2";
  if (!(b & 1u << 3)) return "BMI1";
  if (!(b & 1u << 8)) return "BMI2";
  if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !(c & 1u << 5)) return "LZCNT";
  return nullptr;
}
} // namespace

using namespace mica::rt;

int main(int argc, char **argv) {
  start_clock();
  if (const char *feature = missing_feature()) {
    fprintf(stderr,
            "%s: this program needs an x86-64-v3 processor (Intel Haswell, AMD Excavator or later); this one "
            "lacks %s\n",
            mica_program.name, feature);
    return 2;
  }
  if (mica_program.abi != MICA_ABI) {
    fprintf(stderr, "%s: built for another runtime (interface %u, this is %d); build it again\n",
            mica_program.name, mica_program.abi, MICA_ABI);
    return 2;
  }
  read_flags(argc, argv);
  install_signal_handlers();
  if (flags.help) {
    print_flag_help();
    end_program(0);
  }
  if (flags.check) {
    print_check();
    end_program(0);
  }
  if (flags.info) {
    print_info();
    end_program(0);
  }
  end_program(mica_main());
}
