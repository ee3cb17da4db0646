// Failures at run time: `file:line: what happened` on stderr after everything that the program printed, exit
// code 70. Signals: SIGINT and SIGTERM end the program at once, with stdout written out and no half-written
// file left.
#include "runtime.h"

#include <errno.h>
#include <initializer_list>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace mica::rt {
namespace {
pthread_mutex_t reporting =
    PTHREAD_MUTEX_INITIALIZER; // never released: the first failure is the one reported
const char *volatile unfinished = nullptr;

[[noreturn]] void report(const char *file, int line, const char *message) {
  pthread_mutex_lock(&reporting);
  fflush(stdout);
  if (file) {
    fprintf(stderr, "%s:%d: %s\n", file, line, message);
  } else {
    fprintf(stderr, "%s: %s\n", mica_program.name, message);
  }
  fflush(stderr);
  if (unfinished) unlink(unfinished);
  write_trace();
  _exit(70);
}

void say(const char *text) {
  if (write(2, text, strlen(text)) < 0) return;
}

// What stdio holds for stdout goes out by plain writes: in a signal handler nothing else may be used. A line
// that is being put into the buffer right now is not counted yet, so no torn line is written.
void write_out_stdout() {
#ifdef __GLIBC__
  const char *begin = stdout->_IO_write_base;
  while (begin < stdout->_IO_write_ptr) {
    ssize_t count = write(1, begin, static_cast<size_t>(stdout->_IO_write_ptr - begin));
    if (count <= 0) return;
    begin += count;
  }
#endif
}

void on_interrupt(int number) {
  write_out_stdout();
  if (unfinished) unlink(unfinished);
  signal(number, SIG_DFL);
  raise(number);
}

void on_fault(int, siginfo_t *info, void *) {
  u64 address = reinterpret_cast<u64>(info->si_addr);
  write_out_stdout();
  say(mica_program.name);
  if (address < 65536) {
    say(": a nil pointer was followed; the checked tier (--optimize=checked) names the place\n");
  } else {
    say(": memory was touched that is not the program's: the stack is full (recursion too deep), or an index "
        "or pointer "
        "is wrong; the checked tier (--optimize=checked) names the place\n");
  }
  if (unfinished) unlink(unfinished);
  _exit(70);
}

void on_arithmetic(int) {
  write_out_stdout();
  say(mica_program.name);
  say(": integer division by zero\n");
  _exit(70);
}
} // namespace

void install_signal_handlers() {
  static char stack[32768]; // the stack that a fault's handler runs on, since the program's own may be full
  stack_t other = {};
  other.ss_sp = stack;
  other.ss_size = sizeof stack;
  sigaltstack(&other, nullptr);
  struct sigaction action = {};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  action.sa_sigaction = on_fault;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
  action.sa_flags = SA_ONSTACK;
  action.sa_handler = on_arithmetic;
  sigaction(SIGFPE, &action, nullptr);
  // Past a limit on a file's size a write fails in words; the signal would end the program without any.
  signal(SIGXFSZ, SIG_IGN);
  // A program started with these ignored (nohup, a shell's background job) keeps them ignored.
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;
    action.sa_handler = on_interrupt;
    sigaction(number, &action, nullptr);
  }
}

void remember_unfinished(const char *path) { unfinished = path; }

void refuse(const char *format, ...) {
  fflush(stdout);
  fprintf(stderr, "%s: ", mica_program.name);
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  fflush(stderr);
  _exit(2);
}

} // namespace mica::rt

using namespace mica::rt;

void mica_fail(const char *file, int32_t line, const char *format, ...) {
  char message[4096];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  report(file, line, message);
}

void mica_fail_panic(const char *file, int32_t line, mica_string why) {
  Text text;
  text.put("panic: ");
  text.put_string(why);
  report(file, line, text.zero_ended());
}

void mica_fail_assert(const char *file, int32_t line, mica_string why) {
  Text text;
  text.put(why.length ? "assertion failed: " : "assertion failed");
  text.put_string(why);
  report(file, line, text.zero_ended());
}

void mica_fail_division(const char *file, int32_t line) { report(file, line, "integer division by zero"); }

void mica_fail_index(const char *file, int32_t line, int64_t index, int64_t low, int64_t high) {
  if (high < low) {
    mica_fail(file, line, "index %lld is out of bounds: there are no elements",
              static_cast<long long>(index));
  }
  mica_fail(file, line, "index %lld is out of bounds %lld..%lld", static_cast<long long>(index),
            static_cast<long long>(low), static_cast<long long>(high));
}

void mica_fail_overflow(const char *file, int32_t line, const char *operation, const char *type) {
  mica_fail(file, line, "%s overflow in %s", type, operation);
}

void mica_fail_lossy(const char *file, int32_t line, const char *from, const char *to) {
  mica_fail(file, line, "this %s value does not fit %s", from, to);
}

void mica_fail_enum(const char *file, int32_t line, int64_t value, const char *type) {
  mica_fail(file, line, "%lld is no value of %s", static_cast<long long>(value), type);
}

void mica_fail_chance(const char *file, int32_t line, const char *verb, double p) {
  Text shown;
  put_shortest(shown, MICA_F64, __builtin_bit_cast(u64, p));
  mica_fail(file, line, "`%s` drops with probability %s, and a probability lies from 0 to 1", verb,
            shown.zero_ended());
}

void mica_fail_nil(const char *file, int32_t line) { report(file, line, "a nil pointer was followed"); }

void mica_fail_nan(const char *file, int32_t line, const char *operation) {
  mica_fail(file, line, "%s made a not-a-number from operands that had none", operation);
}

void mica_fail_target(const char *file, int32_t line, int64_t row, int64_t value, int64_t classes) {
  mica_fail(file, line, "target %lld in row %lld is outside the classes 0..%lld (-1 leaves a row out)",
            static_cast<long long>(value), static_cast<long long>(row), static_cast<long long>(classes - 1));
}

void mica_fail_memory(const char *file, int32_t line, int64_t bytes) {
  char asked[64], held[64];
  mica_fail(file, line, "out of memory: %s asked for, %s held", bytes_in_words(bytes, asked, sizeof asked),
            bytes_in_words(host_memory().held, held, sizeof held));
}
