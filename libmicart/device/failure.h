// Failures inside kernels (failure.cc): where generated code and routines put them.
#ifndef MICA_DEVICE_FAILURE_H
#define MICA_DEVICE_FAILURE_H

#include "card.h"

namespace mica::device {

/// micart.h, struct mica_card_failure.
struct Slot {
  u64 key, kind, line;
  i64 value[3];
  u32 lock, reserved;
};
/// What mica-codegen passes in place of a file's name.
struct Failures {
  Slot *slot;
  u64 launch, cell;
};

} // namespace mica::device

extern "C" {
void mica_fail_index(const mica::device::Failures *at, int line, long i, long low, long high);
void mica_fail_target(const mica::device::Failures *at, int line, long row, long value, long classes);
}
#endif
