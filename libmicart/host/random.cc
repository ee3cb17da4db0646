// Random numbers for whole values and for the host's calls; what one cell gets is in math/random.h.
#include "../math/random.h"
#include "../math/halves.h"
#include "halves.h"
#include "runtime.h"

using namespace mica::rt;
namespace math = mica::math;

void mica_seed(mica_random *r, int64_t seed) { *r = {static_cast<uint64_t>(seed), 0}; }

uint64_t mica_random_reserve(mica_random *r) { return r->counter++; }

uint64_t mica_random_reserve_for(mica_random *r, double chance) {
  return chance == 0 ? r->counter : mica_random_reserve(r);
}

// Unbiased by rejection: of the 2^64 draws those beyond the last whole multiple of n are drawn again, at the
// next place.
int64_t mica_random_int(const char *file, int32_t line, mica_random *r, int64_t n) {
  if (n < 1) mica_fail(file, line, "RandomInt: the range 0..%lld is empty", static_cast<long long>(n) - 1);
  uint64_t counter = mica_random_reserve(r), range = static_cast<uint64_t>(n);
  uint64_t surplus = (0 - range) % range; // 2^64 mod n
  for (uint64_t place = 0;; place++) {
    math::Philox p = math::draw(r->key, counter, place, 0);
    for (int half = 0; half < 2; half++) {
      uint64_t word = static_cast<uint64_t>(p.w[2 * half]) << 32 | p.w[2 * half + 1];
      if (word >= surplus) return static_cast<int64_t>(word % range);
    }
  }
}

double mica_random_float(mica_random *r) {
  math::Philox p = math::draw(r->key, mica_random_reserve(r), 0, 0);
  return math::unit_f64(p.w[0], p.w[1]);
}

namespace {
struct FillJob {
  int type;
  void *x;
  double a, b; // low and high, or mean and deviation
  u64 key, counter;
};

// The number just below, where a value of [low, high) rounded up to high.
u16 step_down(u16 bits) {
  return bits & 0x8000 ? static_cast<u16>(bits + 1) : bits ? static_cast<u16>(bits - 1) : u16(0x8001);
}

void fill_uniform(void *context, int64_t begin, int64_t end) {
  const FillJob &job = *static_cast<FillJob *>(context);
  bool range = job.b > job.a;
  switch (job.type) {
  case MICA_F64: {
    double *x = static_cast<double *>(job.x);
    for (i64 i = begin; i < end; i++) {
      double value = math::uniform_cell_f64(job.key, job.counter, static_cast<u64>(i), job.a, job.b);
      double below =
          __builtin_bit_cast(double, __builtin_bit_cast(u64, job.b) + (job.b > 0 ? ~u64(0) : u64(1)));
      if (job.b == 0) below = -0x1p-1074;
      x[i] = range && value >= job.b ? below : value;
    }
    return;
  }
  case MICA_F32: {
    float *x = static_cast<float *>(job.x);
    float high = static_cast<float>(job.b);
    for (i64 i = begin; i < end; i++) {
      double value = math::uniform_cell_f32(job.key, job.counter, static_cast<u64>(i), job.a, job.b);
      x[i] = range ? math::below_f32(value, high) : static_cast<float>(value);
    }
    return;
  }
  default: {
    u16 *x = static_cast<u16 *>(job.x);
    bool f16 = job.type == MICA_F16;
    for (i64 i = begin; i < end; i++) {
      float value = math::f64_to_f32_odd(
          math::uniform_cell_f32(job.key, job.counter, static_cast<u64>(i), job.a, job.b));
      u16 bits = f16 ? float_to_f16(value).bits : float_to_bf16(value).bits;
      float back = f16 ? half_to_float(Float16{bits}) : half_to_float(BFloat16{bits});
      x[i] = range && static_cast<double>(back) >= job.b ? step_down(bits) : bits;
    }
  }
  }
}

void fill_normal(void *context, int64_t begin, int64_t end) {
  const FillJob &job = *static_cast<FillJob *>(context);
  switch (job.type) {
  case MICA_F64: {
    double *x = static_cast<double *>(job.x);
    for (i64 i = begin; i < end; i++)
      x[i] = math::normal_cell_f64(job.key, job.counter, static_cast<u64>(i), job.a, job.b);
    return;
  }
  case MICA_F32: {
    float *x = static_cast<float *>(job.x);
    for (i64 i = begin; i < end; i++) {
      x[i] =
          static_cast<float>(math::normal_cell_f32(job.key, job.counter, static_cast<u64>(i), job.a, job.b));
    }
    return;
  }
  default: {
    u16 *x = static_cast<u16 *>(job.x);
    bool f16 = job.type == MICA_F16;
    for (i64 i = begin; i < end; i++) {
      float value = math::f64_to_f32_odd(
          math::normal_cell_f32(job.key, job.counter, static_cast<u64>(i), job.a, job.b));
      x[i] = f16 ? float_to_f16(value).bits : float_to_bf16(value).bits;
    }
  }
  }
}
} // namespace

void mica_fill_uniform(int32_t type, void *x, int64_t count, double low, double high, uint64_t key,
                       uint64_t counter) {
  FillJob job = {type, x, low, high, key, counter};
  mica_parallel(fill_uniform, &job, count, 4096);
}

void mica_fill_normal(int32_t type, void *x, int64_t count, double mean, double deviation, uint64_t key,
                      uint64_t counter) {
  FillJob job = {type, x, mean, deviation, key, counter};
  mica_parallel(fill_normal, &job, count, 4096);
}

// Eight draws a call: two rows and eight columns at once would be faster still; a row at a time is simple.
void mica_draw16(uint16_t *out, int64_t row0, int64_t rows, int64_t columns, uint32_t plane, uint64_t key,
                 uint64_t counter) {
  u64 generator = math::generator_key(key, counter);
  u32 last = static_cast<u32>(counter);
  for (i64 r = 0; r < rows; r++) {
    u64 i = static_cast<u64>(row0 + r);
    u32 row = static_cast<u32>((i >> 4 << 3) + (i & 7));
    int shift = i >> 3 & 1 ? 16 : 0;
    u16 *to = out + r * columns;
    for (i64 j = 0; j < columns; j += 16) {
      for (u32 b = 0; b < 4; b++) {
        math::Philox p = math::philox(generator, static_cast<u32>(j >> 2) + b, row, plane, last);
        for (int w = 0; w < 4; w++) { // word 2 s + q is column 2 b + 8 q + s
          i64 column = j + 2 * static_cast<i64>(b) + 8 * (w & 1) + (w >> 1);
          if (column < columns) to[column] = static_cast<u16>(p.w[w] >> shift);
        }
      }
    }
  }
}
