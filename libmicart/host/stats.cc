// +mica stats: what the run used.
#include "runtime.h"

#include <stdio.h>
#include <sys/resource.h>

namespace mica::rt {

Counters counters;

void print_stats() {
  fflush(stdout);
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  char host[64], device[64];
  fprintf(stderr, "%s: host memory at its highest: %s\n", mica_program.name,
          bytes_in_words(static_cast<i64>(usage.ru_maxrss) * 1024, host, sizeof host));
  if (mica_program.fat_binary) {
    fprintf(stderr, "%s: device memory at its highest: %s\n", mica_program.name,
            bytes_in_words(counters.device_highest, device, sizeof device));
    fprintf(stderr, "%s: launches: %lld\n", mica_program.name, static_cast<long long>(counters.launches));
    fprintf(stderr, "%s: time waited for the card: %.3f s\n", mica_program.name, counters.waited);
  }
  fprintf(stderr, "%s: time: %.3f s\n", mica_program.name, seconds());
}

} // namespace mica::rt
