// Everything between +mica and -mica on the command line is the runtime's, and is taken out before the
// program sees its arguments (design: docs of the runtime's flags).
#include "runtime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace mica::rt {

Flags flags;

namespace {
struct Word {
  const char *name; // with = where it takes a value
  u32 flag;         // 0: always admitted
  const char *help;
};
constexpr Word kWords[] = {
    {"help", 0, "lists these words"},
    {"check", MICA_FLAG_CHECK, "lists this machine's cards by the number gpu= names them by, and ends"},
    {"info", MICA_FLAG_INFO, "prints what this program is and where it would run, as JSON, and ends"},
    {"gpu=N", MICA_FLAG_GPU, "uses card N"},
    {"products=FILE", MICA_FLAG_PRODUCTS, nullptr}, // refused with its reason, so not listed
    {"threads=N", MICA_FLAG_THREADS, "uses N processor threads"},
    {"stats", MICA_FLAG_STATS, "at the end: memory at its highest, launches, time waited"},
    {"trace=FILE", MICA_FLAG_TRACE, "writes a timeline that a browser's trace viewer opens"},
};

// Whether `word` is `name`, or starts with `name` where that ends in =; value is what stands behind the =.
bool matches(const char *word, const Word &known, const char *&value) {
  const char *equals = strchr(known.name, '=');
  if (!equals) return strcmp(word, known.name) == 0;
  size_t length = static_cast<size_t>(equals - known.name) + 1;
  if (strncmp(word, known.name, length) != 0) return false;
  value = word + length;
  return true;
}

int read_count(const char *word, const char *value, int low, int high) {
  char *end = nullptr;
  errno = 0;
  long number = strtol(value, &end, 10);
  if (*value < '0' || *value > '9' || *end || errno || number < low || number > high) {
    refuse("+mica %s: expected a number from %d to %d", word, low, high);
  }
  return static_cast<int>(number);
}

void take(const char *word) {
  const char *value = nullptr;
  const Word *found = nullptr;
  for (const Word &known : kWords) {
    if (matches(word, known, value)) found = &known;
  }
  if (!found) refuse("+mica %s: there is no such word; `+mica help -mica` lists them", word);
  if (found->flag && !(mica_program.flags & found->flag)) {
    refuse("+mica %s: this build (tier %s) does not admit it; `+mica help -mica` lists what it does", word,
           mica_program.tier);
  }
  if (value && !*value) refuse("+mica %s: something must follow the =", word);
  switch (found->flag) {
  case 0: flags.help = true; break;
  case MICA_FLAG_CHECK: flags.check = true; break;
  case MICA_FLAG_INFO: flags.info = true; break;
  case MICA_FLAG_GPU: flags.gpu = read_count(word, value, 0, 1023); break;
  case MICA_FLAG_PRODUCTS:
    refuse("+mica %s: each product of this program has one routine, so there is nothing to measure", word);
  case MICA_FLAG_THREADS: flags.threads = read_count(word, value, 1, 1024); break;
  case MICA_FLAG_STATS: flags.stats = true; break;
  case MICA_FLAG_TRACE: flags.trace = value; break;
  }
}
} // namespace

void read_flags(int argc, char **argv) {
  flags.arguments = static_cast<const char **>(allocate(static_cast<i64>(sizeof(char *)) * (argc + 1)));
  bool inside = false;
  for (int i = 1; i < argc; i++) {
    if (!inside && strcmp(argv[i], "+mica") == 0) {
      inside = true;
    } else if (inside && strcmp(argv[i], "-mica") == 0) {
      inside = false;
    } else if (inside) {
      take(argv[i]);
    } else {
      flags.arguments[flags.argument_count++] = argv[i];
    }
  }
  if (inside) refuse("+mica is not closed: write -mica behind the runtime's words");
  if (flags.gpu >= 0) {
    if (!mica_program.fat_binary) refuse("+mica gpu=%d: this program uses no card", flags.gpu);
    if (const char *why = card_unavailable()) refuse("+mica gpu=%d: %s", flags.gpu, why);
    int count = card_count();
    if (flags.gpu >= count) {
      refuse("+mica gpu=%d: there is no such card; this machine has %d, numbered from 0 (`+mica check -mica` "
             "lists them)",
             flags.gpu, count);
    }
  }
}

void print_flag_help() {
  printf("%s: words between +mica and -mica are for the runtime; this build (Mica %s, tier %s) admits\n",
         mica_program.name, mica_program.version, mica_program.tier);
  for (const Word &known : kWords) {
    if (!known.help || (known.flag && !(mica_program.flags & known.flag))) continue;
    printf("  %-14s %s\n", known.name, known.help);
  }
}

} // namespace mica::rt

using namespace mica::rt;

int64_t mica_arg_count(void) { return flags.argument_count; }

mica_string mica_arg(const char *file, int32_t line, int64_t i) {
  if (i < 1 || i > flags.argument_count) {
    mica_fail(file, line, "Argument(%lld): the program was given %d argument%s", static_cast<long long>(i),
              flags.argument_count, flags.argument_count == 1 ? "" : "s");
  }
  const char *text = flags.arguments[i - 1];
  return mica_string_from_utf8(text, static_cast<int64_t>(strlen(text)));
}
