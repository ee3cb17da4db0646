// Variables that hold values on the card: where their slots are, memory for them, assignment; tables for
// launches.
#include "card.h"

#include <string.h>

using namespace mica::rt;

namespace {

// Calls visit(host offset, card offset, bytes) for each slot.
template <class Visit> void for_slots(const mica_card_part *parts, i64 count, const Visit &visit) {
  for (i64 i = 0; i < count; i++)
    for (i64 j = 0; j < parts[i].count; j++)
      visit(parts[i].host + j * parts[i].host_step, parts[i].card + j * parts[i].card_step, parts[i].bytes);
}

void *&slot(void *variable, i64 offset) {
  return *reinterpret_cast<void **>(static_cast<char *>(variable) + offset);
}

} // namespace

void *mica_card_place(const char *file, int32_t line, void *variable, int64_t repeat, int64_t host_step,
                      int64_t bytes, const mica_card_part *parts, int64_t count) {
  if (repeat <= 0 || bytes <= 0) return nullptr;
  char *base = static_cast<char *>(mica_card_alloc(file, line, repeat * bytes));
  mica_card_zero(file, line, base, repeat * bytes);
  for (i64 r = 0; r < repeat; r++)
    for_slots(parts, count, [&](i64 host, i64 card, i64) {
      slot(variable, r * host_step + host) = base + r * bytes + card;
    });
  return base;
}

void mica_card_unplace(void *variable, const mica_card_part *parts, int64_t count) {
  // The first slot holds the whole range's address.
  if (variable && count) mica_card_free(slot(variable, parts[0].host));
}

void mica_card_copy_value(const char *file, int32_t line, void *to, const void *from, int64_t size,
                          const mica_card_part *parts, int64_t count) {
  if (to == from) return;
  i64 slots = 0;
  for_slots(parts, count, [&](i64, i64, i64) { slots++; });
  void **own = static_cast<void **>(allocate(slots * static_cast<i64>(sizeof(void *))));
  i64 i = 0;
  for_slots(parts, count, [&](i64 host, i64, i64 bytes) {
    own[i] = slot(to, host);
    mica_card_copy(file, line, own[i++], slot(const_cast<void *>(from), host), bytes);
  });
  memmove(to, from, static_cast<size_t>(size));
  i = 0;
  for_slots(parts, count, [&](i64 host, i64, i64) { slot(to, host) = own[i++]; });
  release(own);
}

void *mica_card_bring_table(const char *file, int32_t line, mica_card_table *table, const int64_t *words,
                            int64_t count) {
  i64 bytes = count * static_cast<i64>(sizeof *words);
  if (table->card && table->count == count && memcmp(table->words, words, static_cast<size_t>(bytes)) == 0)
    return table->card;
  if (!table->card) {
    table->card = mica_card_alloc(file, line, bytes);
    table->words = static_cast<int64_t *>(allocate(bytes));
    table->count = count;
  }
  memcpy(table->words, words, static_cast<size_t>(bytes));
  mica_card_copy_up(file, line, table->card, words, bytes);
  return table->card;
}
