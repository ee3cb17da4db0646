// The card's driver: libcuda.so.1, found at run time when a card is first asked for, and facts about the
// cards there are.
#include "card.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

namespace mica::rt {

Driver driver;

namespace {
bool tried = false;
const char *reason = nullptr; // why there is no card
char reason_text[512];
int cards = 0;

const char *start_driver() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "this machine has no NVIDIA driver (libcuda.so.1 was not found)";
#define MICA_FIND(name, parameters)                                                                          \
  driver.name = reinterpret_cast<CUresult(*) parameters>(dlsym(library, #name));                             \
  if (!driver.name)                                                                                          \
    return "this machine's NVIDIA driver is too old: it has no " #name " (version 525 or later is needed)";
  MICA_DRIVER_FUNCTIONS(MICA_FIND)
#undef MICA_FIND
  CUresult result = driver.cuInit(0);
  if (result == 100) return "the NVIDIA driver is there, but no card is";
  if (result != 0) {
    const char *text = nullptr;
    driver.cuGetErrorString(result, &text);
    snprintf(reason_text, sizeof reason_text, "the NVIDIA driver did not start: %s (error %d)",
             text ? text : "unknown", result);
    return reason_text;
  }
  if (driver.cuDeviceGetCount(&cards) != 0 || cards == 0) return "the NVIDIA driver is there, but no card is";
  return nullptr;
}
} // namespace

const char *card_unavailable() {
  if (!tried) {
    tried = true;
    reason = start_driver();
  }
  return reason;
}

int card_count() { return card_unavailable() ? 0 : cards; }

bool precompiled_for(int major, int minor) {
  int generation = major * 10 + minor;
  return generation == 80 || generation == 86 || generation == 89 || generation == 90 || generation == 120;
}

CardFacts card_facts(int number) {
  CardFacts facts;
  facts.number = number;
  CUdevice device = 0;
  if (driver.cuDeviceGet(&device, number) != 0) return facts;
  driver.cuDeviceGetName(facts.name, sizeof facts.name - 1, device);
  driver.cuDeviceGetAttribute(&facts.major, 75, device);
  driver.cuDeviceGetAttribute(&facts.minor, 76, device);
  driver.cuDeviceGetAttribute(&facts.multiprocessors, 16, device);
  size_t bytes = 0;
  driver.cuDeviceTotalMem_v2(&bytes, device);
  facts.memory = static_cast<i64>(bytes);
  facts.precompiled = precompiled_for(facts.major, facts.minor);
  return facts;
}

} // namespace mica::rt
