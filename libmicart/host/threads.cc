// Threads of the processor: started when the first call wants them, each given one contiguous range, fixed by
// the number of threads alone.
#include "runtime.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

namespace mica::rt {
namespace {
struct Job {
  void (*body)(void *, int64_t, int64_t);
  void *context;
  i64 count;
  i64 grain;
  int parts;
};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t begun = PTHREAD_COND_INITIALIZER;
pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
Job job;
u64 generation = 0; // of the job that workers are to run
int unfinished_parts = 0;
int workers = 0;
thread_local bool inside = false; // a body is running on this thread
bool busy = false;

int thread_limit() {
  static int limit = 0;
  if (limit) return limit;
  limit = flags.threads;
  if (limit == 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    limit = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  }
  if (limit < 1) limit = 1;
  return limit;
}

void run_part(const Job &now, int part) {
  i64 grains = (now.count + now.grain - 1) / now.grain;
  i64 begin = static_cast<i64>(static_cast<i128>(grains) * part / now.parts) * now.grain;
  i64 end = static_cast<i64>(static_cast<i128>(grains) * (part + 1) / now.parts) * now.grain;
  if (end > now.count) end = now.count;
  if (begin < end) now.body(now.context, begin, end);
}

void *work(void *argument) {
  int part = static_cast<int>(reinterpret_cast<i64>(argument));
  inside = true;
  u64 seen = 0;
  pthread_mutex_lock(&lock);
  for (;;) {
    while (generation == seen) pthread_cond_wait(&begun, &lock);
    seen = generation;
    if (part >= job.parts) continue;
    Job now = job;
    pthread_mutex_unlock(&lock);
    run_part(now, part);
    pthread_mutex_lock(&lock);
    if (--unfinished_parts == 0) pthread_cond_signal(&ended);
  }
  return nullptr;
}

// Starts workers up to `wanted` in all (this thread is one of them); gives how many there are.
int start_workers(int wanted) {
  while (workers + 1 < wanted) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 8 << 20);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int result =
        pthread_create(&thread, &attributes, work, reinterpret_cast<void *>(static_cast<i64>(workers + 1)));
    pthread_attr_destroy(&attributes);
    if (result != 0) break; // fewer threads give the same bits
    workers++;
  }
  return workers + 1;
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
  pthread_mutex_lock(&lock);
  if (busy) { // a second thread of the program's own: it works alone
    pthread_mutex_unlock(&lock);
    return body(context, 0, count);
  }
  busy = true;
  parts = start_workers(parts) < parts ? workers + 1 : parts;
  job = {body, context, count, grain, parts};
  unfinished_parts = parts - 1;
  generation++;
  pthread_cond_broadcast(&begun);
  pthread_mutex_unlock(&lock);
  inside = true;
  run_part(job, 0);
  inside = false;
  pthread_mutex_lock(&lock);
  while (unfinished_parts > 0) pthread_cond_wait(&ended, &lock);
  busy = false;
  pthread_mutex_unlock(&lock);
}
