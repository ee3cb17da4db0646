// Products on the processor (numerics.md 5): batches, small shapes, integers, and the choice of the clone.
#include "product.h"

#include <cpuid.h>
#include <string.h>

namespace mica::rt {

int forced_width = 0;

bool has_avx512() {
  static int known = -1;
  if (known >= 0) return known;
  unsigned a = 0, b = 0, c = 0, d = 0, low = 0, high = 0;
  known = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  constexpr unsigned kNeeded = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31; // F, DQ, CD, BW, VL
  if ((b & kNeeded) != kNeeded) return false;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  known = (low & 0xE6) == 0xE6;
  return known;
}

void *scratch(i64 bytes) {
  static thread_local char *memory = nullptr;
  static thread_local i64 size = 0;
  if (bytes + 64 > size) {
    release(memory);
    size = bytes + 64;
    memory = static_cast<char *>(allocate(size));
  }
  return reinterpret_cast<void *>((reinterpret_cast<u64>(memory) + 63) & ~u64(63));
}

namespace {

// A product too small to be worth packing: a row of sums at a time, the order the same.
template <class T> void multiply_small(const Pair &p) {
  constexpr i64 kWidth = 64;
  T block[kWidth], total[kWidth];
  with_operand<T>(p.a, [&](auto *a) {
    with_operand<T>(p.b, [&](auto *b) {
      for (i64 i = 0; i < p.m; i++) {
        for (i64 j0 = 0; j0 < p.n; j0 += kWidth) {
          i64 width = p.n - j0 < kWidth ? p.n - j0 : kWidth;
          for (i64 k0 = 0; k0 < p.k; k0 += 128) {
            i64 end = k0 + 128 < p.k ? k0 + 128 : p.k;
            for (i64 j = 0; j < width; j++) block[j] = 0;
            for (i64 k = k0; k < end; k++) {
              T x = widen<T>(a[i * p.a.outer + k * p.a.inner]);
              auto *row = b + j0 * p.b.outer + k * p.b.inner;
              if (p.b.outer == 1) {
                for (i64 j = 0; j < width; j++)
                  block[j] = __builtin_elementwise_fma(x, widen<T>(row[j]), block[j]);
              } else {
                for (i64 j = 0; j < width; j++)
                  block[j] = __builtin_elementwise_fma(x, widen<T>(row[j * p.b.outer]), block[j]);
              }
            }
            for (i64 j = 0; j < width; j++) total[j] = k0 == 0 ? block[j] : total[j] + block[j];
          }
          for (i64 j = 0; j < width; j++)
            store_cell<T>(p.c, p.type_c, i * p.c_row + (j0 + j) * p.c_column, total[j]);
        }
      }
    });
  });
}

// Integers wrap, so any order gives the same bits.
template <class U> struct IntegerRows {
  const Pair *pair;
  static void run(void *context, int64_t begin, int64_t end) {
    const Pair &p = *static_cast<IntegerRows *>(context)->pair;
    const U *a = static_cast<const U *>(p.a.data);
    const U *b = static_cast<const U *>(p.b.data);
    U *c = reinterpret_cast<U *>(p.c);
    for (i64 i = begin; i < end; i++) {
      U *row = c + i * p.c_row;
      if (p.b.outer == 1) {
        for (i64 j = 0; j < p.n; j++) row[j] = 0;
        for (i64 k = 0; k < p.k; k++) {
          U x = a[i * p.a.outer + k * p.a.inner];
          const U *line = b + k * p.b.inner;
          for (i64 j = 0; j < p.n; j++) row[j] = static_cast<U>(row[j] + x * line[j]);
        }
      } else {
        for (i64 j = 0; j < p.n; j++) {
          U sum = 0;
          for (i64 k = 0; k < p.k; k++) {
            sum = static_cast<U>(sum + a[i * p.a.outer + k * p.a.inner] * b[j * p.b.outer + k * p.b.inner]);
          }
          row[j] = sum;
        }
      }
    }
  }
};

template <class U> void multiply_integers(const Pair &p) {
  IntegerRows<U> rows = {&p};
  i64 grain = 65536 / (p.n * p.k + 1) + 1;
  mica_parallel(IntegerRows<U>::run, &rows, p.m, grain);
}

void multiply_pair(const Pair &p) {
  switch (p.type_c) {
  case MICA_I32:
  case MICA_U32: return multiply_integers<u32>(p);
  case MICA_I64:
  case MICA_U64: return multiply_integers<u64>(p);
  case MICA_I8:
  case MICA_U8: return multiply_integers<u8>(p);
  default: break;
  }
  bool small = p.m * p.n * p.k <= 4096;
  bool wide = forced_width ? forced_width == 512 : has_avx512();
  if (p.type_c == MICA_F64) {
    if (small) return multiply_small<double>(p);
    return wide ? avx512::kKernels.f64(p) : avx2::kKernels.f64(p);
  }
  if (small) return multiply_small<float>(p);
  return wide ? avx512::kKernels.f32(p) : avx2::kKernels.f32(p);
}

struct Batch {
  const struct mica_product *p;
};

void run_batch(void *context, int64_t begin, int64_t end) {
  const struct mica_product &p = *static_cast<Batch *>(context)->p;
  for (i64 at = begin; at < end; at++) {
    i64 outer = at / p.batch1, inner = at % p.batch1;
    Pair pair;
    pair.a.data = static_cast<const char *>(p.a) + (outer * p.a0 + inner * p.a1) * type_size(p.type_a);
    pair.b.data = static_cast<const char *>(p.b) + (outer * p.b0 + inner * p.b1) * type_size(p.type_b);
    pair.c = static_cast<char *>(p.c) + (outer * p.c0 + inner * p.c1) * type_size(p.type_c);
    pair.a.type = p.type_a;
    pair.b.type = p.type_b;
    pair.type_c = p.type_c;
    pair.a.outer = p.transpose_a ? 1 : p.lda;
    pair.a.inner = p.transpose_a ? p.lda : 1;
    pair.b.outer = p.transpose_b ? p.ldb : 1;
    pair.b.inner = p.transpose_b ? 1 : p.ldb;
    pair.c_row = p.ldc;
    pair.c_column = 1;
    pair.m = p.m;
    pair.n = p.n;
    pair.k = p.k;
    if (p.k == 0) {
      for (i64 i = 0; i < p.m; i++)
        memset(pair.c + i * p.ldc * type_size(p.type_c), 0, static_cast<size_t>(p.n * type_size(p.type_c)));
      continue;
    }
    multiply_pair(pair);
  }
}
} // namespace
} // namespace mica::rt

using namespace mica::rt;

void mica_multiply(const struct mica_product *p) {
  i64 count = p->batch0 * p->batch1;
  if (count <= 0 || p->m <= 0 || p->n <= 0) return;
  double begin = tracing() ? seconds() : 0;
  Batch batch = {p};
  // Many pairs are split over the threads whole; few large ones each use all threads.
  i64 work = p->m * p->n * (p->k > 0 ? p->k : 1);
  if (count >= mica_thread_count() || work < 65536) {
    mica_parallel(run_batch, &batch, count, 262144 / work + 1);
  } else {
    run_batch(&batch, 0, count);
  }
  if (tracing()) trace_span("product", "processor", begin, seconds(), 0);
}
