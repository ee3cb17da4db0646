// +mica info and +mica check: what this program is, and the cards that it could use.
#include "card.h"
#include "runtime.h"

#include <stdio.h>

namespace mica::rt {
namespace {
void put_json(const char *key, const char *value, bool last = false) {
  printf("\"%s\": \"", key);
  for (; *value; value++) {
    if (*value == '"' || *value == '\\') putchar('\\');
    putchar(*value);
  }
  printf(last ? "\"" : "\", ");
}
} // namespace

void print_info() {
  putchar('{');
  put_json("program", mica_program.name);
  put_json("version", mica_program.version);
  put_json("tier", mica_program.tier);
  put_json("numerics", mica_program.numerics);
  printf("\"device\": {");
  const char *why = mica_program.fat_binary ? card_unavailable() : nullptr;
  if (!mica_program.fat_binary) {
    printf("\"provider\": \"cpu\", \"threads\": %d", mica_thread_count());
  } else if (why) {
    put_json("provider", "none");
    put_json("reason", why, true);
  } else {
    CardFacts card = card_facts(flags.gpu >= 0 ? flags.gpu : 0);
    put_json("provider", "nvidia");
    printf("\"card\": %d, ", card.number);
    put_json("name", card.name);
    printf("\"generation\": \"sm_%d%d\", \"precompiled\": %s", card.major, card.minor,
           card.precompiled ? "true" : "false");
  }
  printf("}}\n");
}

void print_check() {
  if (!mica_program.fat_binary) {
    printf("%s uses no card: it runs on the processor\n", mica_program.name);
    return;
  }
  if (const char *why = card_unavailable()) {
    printf("no card: %s\n", why);
    return;
  }
  for (int i = 0; i < card_count(); i++) {
    CardFacts card = card_facts(i);
    char memory[64];
    printf("gpu=%d  %s  sm_%d%d  %s  %s\n", i, card.name, card.major, card.minor,
           bytes_in_words(card.memory, memory, sizeof memory),
           card.precompiled ? "this program's kernels are precompiled for it"
                            : "no kernels of this program are precompiled for it: the driver compiles them "
                              "at the first start");
  }
}

} // namespace mica::rt
