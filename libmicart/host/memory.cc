// Memory of the host: what `new` gives, arenas, and stacks of windows. Every block that the program asks for
// carries a header of 64 bytes before it, so that disposing twice is caught and the memory held is known.
#include "runtime.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

namespace mica::rt {
namespace {
constexpr u64 kLive = 0x6d6963612d6c6976;     // "mica-liv"
constexpr u64 kDisposed = 0x6d6963612d646561; // "mica-dea"

struct Header {
  u64 mark;
  void *base; // what calloc gave
  i64 size;
};

i64 held = 0;
i64 highest = 0;

void count(i64 bytes) {
  i64 now = __atomic_add_fetch(&held, bytes, __ATOMIC_RELAXED);
  i64 seen = __atomic_load_n(&highest, __ATOMIC_RELAXED);
  while (now > seen &&
         !__atomic_compare_exchange_n(&highest, &seen, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

// A block with its header, the user's part aligned; null where there is no memory.
void *make_block(i64 size, i64 alignment, bool zeroed) {
  if (size < 0 || size > (i64(1) << 62)) return nullptr;
  size_t total = static_cast<size_t>(size + alignment + 64);
  char *base = static_cast<char *>(zeroed ? calloc(1, total) : malloc(total));
  if (!base) return nullptr;
  u64 address =
      (reinterpret_cast<u64>(base) + 64 + static_cast<u64>(alignment) - 1) & ~static_cast<u64>(alignment - 1);
  Header *header = reinterpret_cast<Header *>(address - 64);
  *header = {kLive, base, size};
  count(size);
  return reinterpret_cast<void *>(address);
}

// Files that were mapped for the program; few, so a list will do.
struct Mapped {
  Mapped *next;
  void *base;
  i64 bytes;
  void *user;
};
Mapped *mapped = nullptr;

bool unmap_user(void *user) {
  for (Mapped **link = &mapped; *link; link = &(*link)->next) {
    if ((*link)->user != user) continue;
    Mapped *entry = *link;
    *link = entry->next;
    munmap(entry->base, static_cast<size_t>(entry->bytes));
    free(entry);
    return true;
  }
  return false;
}

void give_back(const char *file, int32_t line, void *p) {
  Header *header = reinterpret_cast<Header *>(static_cast<char *>(p) - 64);
  if (header->mark == kDisposed) mica_fail(file, line, "this pointer was disposed before");
  if (header->mark != kLive) mica_fail(file, line, "this pointer did not come from new");
  header->mark = kDisposed;
  count(-header->size);
  free(header->base);
}
} // namespace

void *allocate(i64 bytes) {
  void *p = malloc(static_cast<size_t>(bytes > 0 ? bytes : 1));
  if (!p) mica_fail_memory(nullptr, 0, bytes);
  return p;
}
void *reallocate(void *p, i64 bytes) {
  void *q = realloc(p, static_cast<size_t>(bytes > 0 ? bytes : 1));
  if (!q) mica_fail_memory(nullptr, 0, bytes);
  return q;
}
void release(void *p) { free(p); }

void register_mapping(void *base, i64 bytes, void *user) {
  Mapped *entry = static_cast<Mapped *>(allocate(sizeof(Mapped)));
  *entry = {mapped, base, bytes, user};
  mapped = entry;
}

MemoryCounts host_memory() { return {held, highest}; }

} // namespace mica::rt

using namespace mica::rt;

void *mica_new(const char *file, int32_t line, int64_t size) {
  void *p = make_block(size, 64, true);
  if (!p) mica_fail_memory(file, line, size);
  return p;
}

mica_array mica_new_array(const char *file, int32_t line, int64_t count, int64_t element_size) {
  if (count < 0) mica_fail(file, line, "new was asked for %lld elements", static_cast<long long>(count));
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count, element_size, &bytes)) mica_fail_memory(file, line, INT64_MAX);
  return {mica_new(file, line, bytes), count};
}

void mica_dispose(const char *file, int32_t line, void *p) {
  if (!p || unmap_user(p)) return;
  give_back(file, line, p);
}

void *mica_arena(const char *file, int32_t line, int64_t size, int32_t zeroed) {
  void *p = make_block(size, 256, zeroed != 0);
  if (!p) mica_fail_memory(file, line, size);
  return p;
}

void mica_arena_free(void *p) {
  if (p) give_back(nullptr, 0, p);
}

void mica_push(const char *file, int32_t line, mica_stack *stack, const void *value, int64_t size) {
  if (stack->length + size > stack->capacity) {
    int64_t wanted = stack->capacity * 2;
    if (wanted < stack->length + size) wanted = stack->length + size;
    if (wanted < 4096) wanted = 4096;
    void *grown = realloc(stack->data, static_cast<size_t>(wanted));
    if (!grown) mica_fail_memory(file, line, wanted);
    stack->data = static_cast<uint8_t *>(grown);
    stack->capacity = wanted;
  }
  memcpy(stack->data + stack->length, value, static_cast<size_t>(size));
  stack->length += size;
}

void mica_pop(const char *file, int32_t line, mica_stack *stack, void *value, int64_t size) {
  if (stack->length < size)
    mica_fail(file, line, "the window holds no record of this step: it was not run, or was walked before");
  stack->length -= size;
  memcpy(value, stack->data + stack->length, static_cast<size_t>(size));
}

void mica_stack_clear(mica_stack *stack) { stack->length = 0; }
