// Threads of the processor. A call's range is cut into chunks, a part of them for each thread; a thread that
// is through with its own part takes chunks of the others. The caller works like the rest and never waits for
// a thread that has not begun: where the other cores are busy with something else, it does all the work
// itself, and a call costs no more than a few atomic steps. A thread without work looks for more for a
// moment, since kernels follow each other closely, and then sleeps on a futex.
#include "runtime.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

namespace mica::rt {
namespace {

constexpr int kMostThreads = 1024;
constexpr i64 kChunksPerPart = 4;
// Ticks of the time stamp counter (0.3 to 0.5 ns).
/// A thread without work, or one that waits for the others, looks so long before it sleeps, and lets others
/// have the core after a first moment. One whose last look was in vain looks for a quarter of the time.
constexpr u64 kLook = 300'000, kShortestLook = 50'000, kMoment = 4'000;
/// So much work must be left for waking a sleeper (some 5 µs here, tens until it runs) to be worth it.
constexpr u64 kWorthWaking = 60'000;
/// Where a woken thread came too late, the cores have other work: no thread is woken for so long, twice as
/// long after each further time.
constexpr u64 kNoWaking = 250'000;
constexpr int kMostDoublings = 9;
/// Where a worker lost its core in the middle of a chunk, the caller had to wait for a time slice of the
/// system's. A wait this long, and half as long as the work itself, is such a stall; the caller then works
/// alone so many times as long.
constexpr u64 kStall = 600'000, kAlone = 24;

/// The gate of the job that is offered: how many workers are inside; kOpen while more may enter; kAwaited
/// where the caller sleeps until the last one has left.
constexpr u32 kOpen = 1u << 31, kAwaited = 1u << 30;

struct Job {
  void (*body)(void *, int64_t, int64_t);
  void *context;
  i64 count;
  i64 chunk; // items of a chunk, a multiple of the grain
  int parts;
};
struct alignas(64) Part { // of the chunks
  i64 next;
  i64 end;
};

Job job;
Part parts_of_job[kMostThreads];
alignas(64) u32 gate = 0;
alignas(64) u32 generation = 0; // counts jobs; sleepers wait for it to change
alignas(64) int sleepers = 0;
bool busy = false;                // a job is offered
alignas(64) bool entered = false; // a worker has taken part in the job
// The caller's own.
u64 alone_until = 0, no_waking_until = 0;
int late = 0; // woken threads that came too late, in a row
int workers = 0;
thread_local bool inside = false; // a body is running on this thread

void futex_wait(u32 *word, u32 value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void futex_wake(u32 *word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

int thread_limit() {
  static int limit = 0;
  if (limit) return limit;
  int wanted = flags.threads;
  if (wanted == 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    wanted = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  }
  limit = wanted < 1 ? 1 : wanted > kMostThreads ? kMostThreads : wanted;
  return limit;
}

bool run_chunk(Part &part) {
  if (__atomic_load_n(&part.next, __ATOMIC_RELAXED) >= part.end) return false;
  i64 at = __atomic_fetch_add(&part.next, 1, __ATOMIC_RELAXED);
  if (at >= part.end) return false;
  i64 begin = at * job.chunk, end = begin + job.chunk;
  job.body(job.context, begin, end < job.count ? end : job.count);
  return true;
}

/// This thread's part, then what is left of the others'.
void run_parts(int own) {
  for (int i = 0; i < job.parts; i++) {
    Part &part = parts_of_job[(own + i) % job.parts];
    while (run_chunk(part)) {
    }
  }
}

bool wake_sleepers() {
  if (__atomic_load_n(&sleepers, __ATOMIC_SEQ_CST) == 0 || __rdtsc() < no_waking_until) return false;
  futex_wake(&generation, job.parts - 1);
  return true;
}

/// The caller's turn: sleepers are woken once the first chunk has shown that there is work enough for them.
void run_and_wake() {
  u64 chunks = static_cast<u64>(parts_of_job[0].end), begun = __rdtsc();
  if (chunks > 1) run_chunk(parts_of_job[0]);
  bool woken = (chunks == 1 || (__rdtsc() - begun) * chunks * static_cast<u64>(job.parts) > kWorthWaking) &&
               wake_sleepers();
  run_parts(0);
  if (__atomic_load_n(&entered, __ATOMIC_RELAXED)) {
    late = 0;
  } else if (woken) {
    no_waking_until = __rdtsc() + (kNoWaking << late);
    if (late < kMostDoublings) late++;
  }
}

bool enter() {
  u32 seen = __atomic_load_n(&gate, __ATOMIC_ACQUIRE);
  while (seen & kOpen)
    if (__atomic_compare_exchange_n(&gate, &seen, seen + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return true;
  return false;
}

void leave() {
  if (__atomic_sub_fetch(&gate, 1, __ATOMIC_ACQ_REL) == kAwaited) futex_wake(&gate, 1);
}

void rest(u64 since) {
  if (__rdtsc() - since < kMoment)
    _mm_pause();
  else
    sched_yield();
}

/// The next generation after `seen`, awaited awake for a while and then asleep.
u32 await_job(u32 seen, u64 &look) {
  u64 begun = __rdtsc();
  for (;;) {
    u32 now = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
    if (now != seen) return now;
    if (__rdtsc() - begun < look) {
      rest(begun);
      continue;
    }
    look = look / 4 > kShortestLook ? look / 4 : kShortestLook;
    __atomic_add_fetch(&sleepers, 1, __ATOMIC_SEQ_CST);
    futex_wait(&generation, seen);
    __atomic_sub_fetch(&sleepers, 1, __ATOMIC_SEQ_CST);
  }
}

void *work(void *argument) {
  int own = static_cast<int>(reinterpret_cast<i64>(argument));
  inside = true;
  u32 seen = 0;
  u64 look = kLook;
  for (;;) {
    if (enter()) {
      __atomic_store_n(&entered, true, __ATOMIC_RELAXED);
      run_parts(own % job.parts);
      leave();
      look = kLook;
    }
    seen = await_job(seen, look);
  }
  return nullptr;
}

/// Starts workers up to `wanted` threads in all; where there can't be so many, fewer give the same bits.
void start_workers(int wanted) {
  while (workers + 1 < wanted) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 8 << 20);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int result =
        pthread_create(&thread, &attributes, work, reinterpret_cast<void *>(static_cast<i64>(workers + 1)));
    pthread_attr_destroy(&attributes);
    if (result != 0) return;
    workers++;
  }
}

void close_and_await(u64 job_begun) {
  u32 seen = __atomic_and_fetch(&gate, ~kOpen, __ATOMIC_ACQ_REL);
  if (seen == 0) return;
  u64 begun = __rdtsc();
  while (seen != 0) {
    if (__rdtsc() - begun < kLook) {
      rest(begun);
    } else {
      seen = __atomic_or_fetch(&gate, kAwaited, __ATOMIC_ACQ_REL);
      if (seen != kAwaited) futex_wait(&gate, seen);
    }
    seen = __atomic_load_n(&gate, __ATOMIC_ACQUIRE) & ~kAwaited;
  }
  __atomic_store_n(&gate, 0, __ATOMIC_RELAXED);
  u64 now = __rdtsc(), waited = now - begun;
  if (waited > kStall && waited > (begun - job_begun) / 2) alone_until = now + waited * kAlone;
}

} // namespace
} // namespace mica::rt

using namespace mica::rt;

int32_t mica_thread_count(void) { return thread_limit(); }

void mica_parallel(void (*body)(void *, int64_t, int64_t), void *context, int64_t count, int64_t grain) {
  if (count <= 0) return;
  if (grain < 1) grain = 1;
  int64_t grains = (count + grain - 1) / grain;
  int parts = thread_limit();
  if (parts > grains) parts = static_cast<int>(grains);
  if (parts <= 1 || inside) return body(context, 0, count);
  // A second thread of the program's own works alone.
  if (__atomic_exchange_n(&busy, true, __ATOMIC_ACQUIRE)) return body(context, 0, count);
  u64 begun = __rdtsc();
  if (begun < alone_until) {
    __atomic_store_n(&busy, false, __ATOMIC_RELEASE);
    return body(context, 0, count);
  }
  start_workers(parts);
  int64_t grains_of_chunk = (grains + parts * kChunksPerPart - 1) / (parts * kChunksPerPart);
  int64_t chunks = (grains + grains_of_chunk - 1) / grains_of_chunk;
  job = {body, context, count, grains_of_chunk * grain, parts};
  for (int p = 0; p < parts; p++) parts_of_job[p] = {chunks * p / parts, chunks * (p + 1) / parts};
  entered = false;
  __atomic_store_n(&gate, kOpen, __ATOMIC_RELEASE);
  __atomic_add_fetch(&generation, 1, __ATOMIC_SEQ_CST);
  inside = true;
  run_and_wake();
  inside = false;
  close_and_await(begun);
  __atomic_store_n(&busy, false, __ATOMIC_RELEASE);
}
