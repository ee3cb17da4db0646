// The program's start and end. This file is compiled for every x86-64, so that a processor without the
// baseline is told so in plain words before anything else runs.
#include "runtime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

namespace mica::rt {
namespace {
bool has_started = false;
double started = 0;

double monotonic() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
} // namespace

double seconds() {
  if (!has_started) start_clock();
  return monotonic() - started;
}

void start_clock() {
  has_started = true;
  started = monotonic();
}

void end_program(int code) {
  finish_card();
  if (flags.stats) print_stats();
  write_trace();
  if (fflush(stdout) != 0 || ferror(stdout)) {
    fprintf(stderr, "%s: standard output could not be written: %s\n", mica_program.name, strerror(errno));
    _exit(70);
  }
  exit(code);
}

} // namespace mica::rt

using namespace mica::rt;

void mica_exit(int32_t code) { end_program(code); }
double mica_clock(void) { return seconds(); }
