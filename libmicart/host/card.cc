// The card: one stream in order, memory from the driver's stream-ordered pool, a ring of pinned memory
// through which host values go up, launches of kernels by name from the program's fat binary. Nothing waits
// but what says so.
#include "card.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace mica::rt {
namespace {

struct Place {
  const char *file;
  int line;
};

// What is held on the card, for the message when there is no more: by address, newest first.
struct Held {
  Held *next;
  void *address;
  i64 size;
  Place place;
};

constexpr int kRingSlots = 8;
constexpr i64 kRingSlotBytes = i64(4) << 20;

bool started = false;
CardFacts facts;
CUstream_st *stream = nullptr;
CUlib_st *library = nullptr;
CUmemPool_st *pool = nullptr;
Held *held_list = nullptr;
char *ring = nullptr; // kRingSlots pinned buffers
CUevent_st *ring_free[kRingSlots];
bool ring_used[kRingSlots];
int ring_next = 0;
mica_card_failure *failure_slot = nullptr;  // on the card
mica_card_failure *failure_found = nullptr; // its copy on the host, pinned
Place last_launch = {nullptr, 0};
void *scratch = nullptr;
i64 scratch_size = 0;
// Launches since the last wait that may fail, for the file of the place that is reported.
constexpr u64 kFailing = 4096, kMostLaunches = (u64(1) << 24) - 2;
const mica_kernel *failing[kFailing];
u64 failing_count = 0, launch_number = 0;
bool debug_tier = false;
bool waiting_work = false;

const char *error_text(CUresult result) {
  const char *text = nullptr;
  driver.cuGetErrorString(result, &text);
  return text ? text : "unknown error";
}

// A kernel that went wrong is reported by whoever waits next, so the message says so.
[[noreturn]] void fail_card(const char *file, int line, const char *what, CUresult result) {
  if (result == 2) { // out of memory
    size_t free_bytes = 0, total = 0;
    driver.cuMemGetInfo_v2(&free_bytes, &total);
    char a[64], b[64];
    mica_fail(file, line, "%s: the card is out of memory (%s free of %s)", what,
              bytes_in_words(static_cast<i64>(free_bytes), a, sizeof a),
              bytes_in_words(static_cast<i64>(total), b, sizeof b));
  }
  bool queued = result >= 700 && !debug_tier;
  mica_fail(file, line, "%s: %s (error %d)%s", what, error_text(result), result,
            queued
                ? "; a kernel queued before this place failed, the debug tier (--optimize=debug) names which"
                : "");
}

void check(const char *file, int line, const char *what, CUresult result) {
  if (result != 0) fail_card(file, line, what, result);
}

} // namespace

// The device, its context, stream, pool and the program's kernels.
void start_card(const char *file, int line) {
  if (started) return;
  if (const char *why = card_unavailable()) {
    mica_fail(
        file, line,
        "this program needs a card, but %s; `micac --device cpu` builds the same program for the processor",
        why);
  }
  started = true;
  debug_tier = strcmp(mica_program.tier, "debug") == 0;
  int number = flags.gpu >= 0 ? flags.gpu : 0;
  facts = card_facts(number);
  if (facts.major < 8) {
    mica_fail(file, line, "card %d (%s, sm_%d%d) is too old: sm_80 or later is needed", number, facts.name,
              facts.major, facts.minor);
  }
  CUdevice device = 0;
  CUctx_st *context = nullptr;
  check(file, line, "the card did not start", driver.cuDeviceGet(&device, number));
  check(file, line, "the card did not start", driver.cuDevicePrimaryCtxRetain(&context, device));
  check(file, line, "the card did not start", driver.cuCtxSetCurrent(context));
  check(file, line, "the card did not start", driver.cuStreamCreate(&stream, 1));
  check(file, line, "the card did not start", driver.cuDeviceGetDefaultMemPool(&pool, device));
  u64 keep = ~u64(0); // freed memory stays in the pool
  check(file, line, "the card did not start", driver.cuMemPoolSetAttribute(pool, 4, &keep));
  if (mica_program.fat_binary) {
    check(file, line, "this program's kernels could not be loaded",
          driver.cuLibraryLoadData(&library, mica_program.fat_binary, nullptr, nullptr, 0, nullptr, nullptr,
                                   0));
  }
}

namespace {

CUfunc_st *find_kernel(const char *file, int line, mica_kernel *kernel) {
  if (kernel->handle) return static_cast<CUfunc_st *>(kernel->handle);
  CUkern_st *found = nullptr;
  CUfunc_st *function = nullptr;
  CUresult result = driver.cuLibraryGetKernel(&found, library, kernel->name);
  if (result == 209) {
    mica_fail(file, line,
              "this program carries no kernels for card %d (%s, sm_%d%d), and the driver could not make any",
              facts.number, facts.name, facts.major, facts.minor);
  }
  if (result != 0)
    mica_fail(file, line, "kernel %s could not be loaded: %s", kernel->name, error_text(result));
  result = driver.cuKernelGetFunction(&function, found);
  if (result != 0)
    mica_fail(file, line, "kernel %s could not be loaded: %s", kernel->name, error_text(result));
  if (kernel->shared > 48 * 1024) {
    result = driver.cuFuncSetAttribute(function, 8, kernel->shared);
    if (result != 0) {
      mica_fail(file, line, "kernel %s needs %d bytes of shared memory, more than this card has",
                kernel->name, kernel->shared);
    }
  }
  kernel->handle = function;
  return function;
}

CUdeviceptr device(const void *p) { return reinterpret_cast<CUdeviceptr>(p); }

[[noreturn]] void fail_allocation(const char *file, int line, i64 size) {
  size_t free_bytes = 0, total = 0;
  driver.cuMemGetInfo_v2(&free_bytes, &total);
  char asked[64], free_text[64], total_text[64], part[64];
  Text text;
  text.putf("out of device memory: %s asked for, %s held by this program, %s free of %s;",
            bytes_in_words(size, asked, sizeof asked),
            bytes_in_words(counters.device_held, part, sizeof part),
            bytes_in_words(static_cast<i64>(free_bytes), free_text, sizeof free_text),
            bytes_in_words(static_cast<i64>(total), total_text, sizeof total_text));
  // The three largest holders by name.
  text.put(" the largest:");
  Held *shown[3] = {};
  for (int i = 0; i < 3; i++) {
    Held *best = nullptr;
    for (Held *h = held_list; h; h = h->next) {
      if (h != shown[0] && h != shown[1] && (!best || h->size > best->size)) best = h;
    }
    if (!best) break;
    shown[i] = best;
    char size_text[64];
    text.putf("%s %s from %s:%d", i ? "," : "", bytes_in_words(best->size, size_text, sizeof size_text),
              best->place.file ? best->place.file : "?", best->place.line);
  }
  text.put("; ways out: a smaller batch, halves (bfloat16), `micac --report memory` for where the peak is");
  mica_fail(file, line, "%s", text.zero_ended());
}

constexpr mica_card_failure kNoFailure = {~u64(0), 0, 0, {0, 0, 0}, 0, 0};

// The slot, made at the first launch that may fail.
void make_failure_slot(const char *file, int line) {
  if (failure_slot) return;
  CUdeviceptr address = 0;
  void *pinned = nullptr;
  check(file, line, "device memory could not be had",
        driver.cuMemAllocAsync(&address, sizeof kNoFailure, stream));
  check(file, line, "memory for the card's failures could not be had",
        driver.cuMemHostAlloc(&pinned, sizeof kNoFailure, 0));
  failure_found = static_cast<mica_card_failure *>(pinned);
  *failure_found = kNoFailure;
  check(file, line, "a copy to the card failed",
        driver.cuMemcpyHtoDAsync_v2(address, failure_found, sizeof kNoFailure, stream));
  check(file, line, "a copy to the card failed", driver.cuStreamSynchronize(stream));
  failure_slot = reinterpret_cast<mica_card_failure *>(address);
}

// Reports the failure that a kernel left in the slot, as it was copied when the stream was waited for.
void report_failure() {
  const mica_card_failure &found = *failure_found;
  u64 launch = found.key >> 40;
  if (found.key == ~u64(0)) return;
  const mica_kernel *kernel = launch < kFailing ? failing[launch] : nullptr;
  const char *file = kernel ? kernel->file : mica_program.file_count ? mica_program.files[0] : nullptr;
  int at = static_cast<int>(found.line);
  switch (found.kind) {
  case 1: mica_fail_division(file, at);
  case 2: mica_fail_index(file, at, found.value[0], found.value[1], found.value[2]);
  case 3: mica_fail(file, at, "integer overflow on the card");
  case 4: mica_fail(file, at, "a value does not fit the type that it is converted to, on the card");
  case 5: mica_fail(file, at, "a not-a-number was made from operands that had none, on the card");
  case 6: mica_fail_target(file, at, found.value[0], found.value[1], found.value[2]);
  case 7: mica_fail_nil(file, at);
  default: mica_fail(file, at, "a kernel failed (kind %llu)", static_cast<unsigned long long>(found.kind));
  }
}

void wait_for_stream(const char *file, int line) {
  double begin = seconds();
  bool may_have_failed = failing_count != 0;
  if (may_have_failed)
    driver.cuMemcpyDtoHAsync_v2(failure_found, device(failure_slot), sizeof *failure_found, stream);
  CUresult result = driver.cuStreamSynchronize(stream);
  double end = seconds();
  counters.waited += end - begin;
  trace_span("wait", "card", begin, end, 0);
  waiting_work = false;
  if (result != 0) fail_card(file, line, "the card failed", result);
  failing_count = 0;
  if (may_have_failed) report_failure();
}
} // namespace

void finish_card() {
  if (!started || !waiting_work) return;
  wait_for_stream(last_launch.file, last_launch.line);
}

} // namespace mica::rt

using namespace mica::rt;

void mica_card_start(void) { start_card(nullptr, 0); }

void *mica_card_alloc(const char *file, int32_t line, int64_t size) {
  start_card(file, line);
  CUdeviceptr address = 0;
  size_t bytes = static_cast<size_t>(size > 0 ? (size + 255) / 256 * 256 : 256);
  CUresult result = driver.cuMemAllocAsync(&address, bytes, stream);
  if (result == 2) { // what was freed in stream order may come back once the stream has passed it
    driver.cuStreamSynchronize(stream);
    driver.cuMemPoolTrimTo(pool, 0);
    result = driver.cuMemAllocAsync(&address, bytes, stream);
  }
  if (result == 2) fail_allocation(file, line, size);
  check(file, line, "device memory could not be had", result);
  void *pointer = reinterpret_cast<void *>(address);
  Held *entry = static_cast<Held *>(allocate(sizeof(Held)));
  *entry = {held_list, pointer, static_cast<i64>(bytes), {file, line}};
  held_list = entry;
  counters.device_held += static_cast<i64>(bytes);
  if (counters.device_held > counters.device_highest) counters.device_highest = counters.device_held;
  return pointer;
}

void mica_card_free(void *address) {
  if (!address) return;
  for (Held **link = &held_list; *link; link = &(*link)->next) {
    if ((*link)->address != address) continue;
    Held *entry = *link;
    *link = entry->next;
    counters.device_held -= entry->size;
    release(entry);
    break;
  }
  driver.cuMemFreeAsync(device(address), stream);
}

void mica_card_zero(const char *file, int32_t line, void *address, int64_t size) {
  start_card(file, line);
  if (size <= 0) return;
  check(file, line, "device memory could not be cleared",
        driver.cuMemsetD8Async(device(address), 0, static_cast<size_t>(size), stream));
}

void mica_card_copy_up(const char *file, int32_t line, void *to, const void *from, int64_t size) {
  start_card(file, line);
  if (!ring && size > 0) {
    void *pinned = nullptr;
    check(file, line, "the staging ring could not be had",
          driver.cuMemHostAlloc(&pinned, static_cast<size_t>(kRingSlots * kRingSlotBytes), 0));
    ring = static_cast<char *>(pinned);
    for (CUevent_st *&event : ring_free)
      check(file, line, "the staging ring could not be had", driver.cuEventCreate(&event, 2));
  }
  const char *source = static_cast<const char *>(from);
  CUdeviceptr target = device(to);
  while (size > 0) {
    i64 part = size < kRingSlotBytes ? size : kRingSlotBytes;
    int slot = ring_next;
    ring_next = (ring_next + 1) % kRingSlots;
    if (ring_used[slot]) {
      double begin = seconds();
      CUresult result = driver.cuEventSynchronize(ring_free[slot]);
      counters.waited += seconds() - begin;
      check(file, line, "a copy to the card failed", result);
    }
    char *buffer = ring + slot * kRingSlotBytes;
    memcpy(buffer, source, static_cast<size_t>(part));
    check(file, line, "a copy to the card failed",
          driver.cuMemcpyHtoDAsync_v2(target, buffer, static_cast<size_t>(part), stream));
    check(file, line, "a copy to the card failed", driver.cuEventRecord(ring_free[slot], stream));
    ring_used[slot] = true;
    source += part;
    target += static_cast<u64>(part);
    size -= part;
  }
  waiting_work = true;
}

void mica_card_copy_down(const char *file, int32_t line, void *to, const void *from, int64_t size) {
  start_card(file, line);
  if (size > 0)
    check(file, line, "a copy from the card failed",
          driver.cuMemcpyDtoHAsync_v2(to, device(from), static_cast<size_t>(size), stream));
  wait_for_stream(file, line);
}

void mica_card_copy(const char *file, int32_t line, void *to, const void *from, int64_t size) {
  start_card(file, line);
  if (size <= 0) return;
  check(file, line, "a copy on the card failed",
        driver.cuMemcpyDtoDAsync_v2(device(to), device(from), static_cast<size_t>(size), stream));
}

void mica_card_launch(const char *file, int32_t line, mica_kernel *kernel, int32_t grid_x, int32_t grid_y,
                      int32_t grid_z, int32_t block, int64_t count, void **arguments) {
  start_card(file, line);
  if (grid_x <= 0 || grid_y <= 0 || grid_z <= 0) return; // nothing to compute
  if (kernel->flags & 2) {
    make_failure_slot(file, line);
    if (failing_count > kMostLaunches) wait_for_stream(file, line); // the numbers start again
    if (failing_count < kFailing) failing[failing_count] = kernel;
    launch_number = failing_count++;
    arguments[count - 2] = &failure_slot;
    arguments[count - 1] = &launch_number;
  }
  CUfunc_st *function = find_kernel(file, line, kernel);
  CUlaunchAttribute attributes[2] = {};
  CUlaunchConfig config = {};
  config.grid_x = static_cast<unsigned>(grid_x);
  config.grid_y = static_cast<unsigned>(grid_y);
  config.grid_z = static_cast<unsigned>(grid_z);
  config.block_x = static_cast<unsigned>(block);
  config.block_y = 1;
  config.block_z = 1;
  config.shared = static_cast<unsigned>(kernel->shared);
  config.stream = stream;
  config.attributes = attributes;
  if (kernel->cluster > 1) {
    CUlaunchAttribute &attribute = attributes[config.attribute_count++];
    attribute.id = 4;
    attribute.value.cluster = {static_cast<unsigned>(kernel->cluster), 1, 1};
  }
  if (kernel->flags & 1) {
    CUlaunchAttribute &attribute = attributes[config.attribute_count++];
    attribute.id = 2;
    attribute.value.cooperative = 1;
  }
  double begin = tracing() ? seconds() : 0;
  CUresult result = driver.cuLaunchKernelEx(&config, function, arguments, nullptr);
  if (result != 0) fail_card(file, line, kernel->label ? kernel->label : kernel->name, result);
  counters.launches++;
  last_launch = {file, line};
  waiting_work = true;
  if (debug_tier) wait_for_stream(file, line); // so that a failure is named where it happened
  if (tracing()) {
    // Under trace every launch is waited for, so that the span is the kernel's own time.
    wait_for_stream(file, line);
    trace_span(kernel->label ? kernel->label : kernel->name, "kernel", begin, seconds(), 1);
  }
}

void mica_card_wait(const char *file, int32_t line) {
  if (started) wait_for_stream(file, line);
}

void *mica_card_scratch(const char *file, int32_t line, int64_t size) {
  start_card(file, line);
  if (size <= scratch_size) return scratch;
  mica_card_free(scratch);
  scratch_size = size;
  return scratch = mica_card_alloc(file, line, size);
}

void mica_card_tensor_map(const char *file, int32_t line, void *map, int32_t type, int32_t rank,
                          void *address, const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                          int32_t swizzle) {
  start_card(file, line);
  // CUtensorMapDataType: uint8 0, uint16 1, uint32 2, int32 3, float16 6, float32 7, float64 8, bfloat16 9.
  int kind = type == MICA_F16    ? 6
             : type == MICA_BF16 ? 9
             : type == MICA_F32  ? 7
             : type == MICA_F64  ? 8
             : type == MICA_I32  ? 3
                                 : 0;
  unsigned ones[5] = {1, 1, 1, 1, 1};
  alignas(64) char built[128];
  check(file, line, "a tensor map could not be made",
        driver.cuTensorMapEncodeTiled(built, kind, static_cast<unsigned>(rank), address, sizes, strides, box,
                                      ones, 0, swizzle, 2, 0));
  memcpy(map, built, sizeof built);
}

int32_t mica_card_multiprocessors(void) {
  start_card(nullptr, 0);
  return facts.multiprocessors;
}
