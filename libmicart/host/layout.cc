// Moving cells about: permutations, slices, concatenations; and the check of classes.
#include "micart.h"

#include <cstring>

namespace {

constexpr int64_t kMaxRank = 16;

template <class Cell>
void permute(Cell *out, const Cell *source, int64_t rank, const int64_t *sizes, const int64_t *steps) {
  int64_t index[kMaxRank] = {};
  int64_t outer = 1;
  for (int64_t d = 0; d + 1 < rank; ++d) outer *= sizes[d];
  const int64_t inner = sizes[rank - 1];
  const int64_t step = steps[rank - 1];
  for (int64_t o = 0; o < outer; ++o) {
    const Cell *from = source;
    for (int64_t d = 0; d + 1 < rank; ++d) from += index[d] * steps[d];
    for (int64_t i = 0; i < inner; ++i) *out++ = from[i * step];
    for (int64_t d = rank - 1; d-- > 0;) { // the next outer index, like an odometer
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
  }
}

int64_t class_at(int32_t type, const void *targets, int64_t i) {
  switch (type) {
  case MICA_I64: return static_cast<const int64_t *>(targets)[i];
  case MICA_U8: return static_cast<const uint8_t *>(targets)[i];
  case MICA_I16: return static_cast<const int16_t *>(targets)[i];
  case MICA_U16: return static_cast<const uint16_t *>(targets)[i];
  default: return static_cast<const int32_t *>(targets)[i];
  }
}

} // namespace

extern "C" {

void mica_permute(void *out, const void *source, int64_t cell_bytes, int64_t rank, const int64_t *sizes,
                  const int64_t *steps) {
  for (int64_t d = 0; d < rank; ++d)
    if (sizes[d] == 0) return;
  switch (cell_bytes) {
  case 1:
    return permute(static_cast<uint8_t *>(out), static_cast<const uint8_t *>(source), rank, sizes, steps);
  case 2:
    return permute(static_cast<uint16_t *>(out), static_cast<const uint16_t *>(source), rank, sizes, steps);
  case 4:
    return permute(static_cast<uint32_t *>(out), static_cast<const uint32_t *>(source), rank, sizes, steps);
  default:
    return permute(static_cast<uint64_t *>(out), static_cast<const uint64_t *>(source), rank, sizes, steps);
  }
}

void mica_copy_rows(void *target, int64_t target_step, const void *source, int64_t source_step, int64_t width,
                    int64_t rows) {
  char *to = static_cast<char *>(target);
  const char *from = static_cast<const char *>(source);
  if (width)
    for (int64_t i = 0; i < rows; ++i)
      std::memcpy(to + i * target_step, from + i * source_step, static_cast<size_t>(width));
}

void mica_check_targets(const char *file, int32_t line, int32_t type, const void *targets, int64_t count,
                        int64_t classes) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t c = class_at(type, targets, i);
    if (c < -1 || c >= classes) mica_fail_target(file, line, i, c, classes);
  }
}
}
