// Failures inside kernels (numerics.md 13): the slot keeps that of the lowest launch, then of the lowest
// cell, whatever order the threads come in, so that every run reports the same. The host reads it when it
// waits.
#include "failure.h"

namespace mica::device {
namespace {

void report(const Failures *at, u64 kind, i32 line, i64 a, i64 b, i64 c) {
  Slot *slot = at->slot;
  u64 key = at->launch << 40 | (at->cell & ((1ul << 40) - 1));
  if (__atomic_load_n(&slot->key, __ATOMIC_RELAXED) <= key) return;
  while (__atomic_exchange_n(&slot->lock, 1u, __ATOMIC_RELAXED)) {
  }
  __nvvm_membar_gl();
  if (__atomic_load_n(&slot->key, __ATOMIC_RELAXED) > key) {
    slot->kind = kind;
    slot->line = static_cast<u64>(line);
    slot->value[0] = a;
    slot->value[1] = b;
    slot->value[2] = c;
    __atomic_store_n(&slot->key, key, __ATOMIC_RELAXED);
  }
  __nvvm_membar_gl();
  __atomic_store_n(&slot->lock, 0u, __ATOMIC_RELAXED);
}

} // namespace
} // namespace mica::device

using namespace mica::device;

extern "C" {
void mica_fail_division(const Failures *at, i32 line) { report(at, 1, line, 0, 0, 0); }
void mica_fail_index(const Failures *at, i32 line, i64 i, i64 low, i64 high) {
  report(at, 2, line, i, low, high);
}
void mica_fail_overflow(const Failures *at, i32 line, const char *, const char *) {
  report(at, 3, line, 0, 0, 0);
}
void mica_fail_lossy(const Failures *at, i32 line, const char *, const char *) {
  report(at, 4, line, 0, 0, 0);
}
void mica_fail_nan(const Failures *at, i32 line, const char *) { report(at, 5, line, 0, 0, 0); }
void mica_fail_target(const Failures *at, i32 line, i64 row, i64 value, i64 classes) {
  report(at, 6, line, row, value, classes);
}
}
