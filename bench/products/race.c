// Products of libmicart and of OpenBLAS in turns, in one process: medians, and their ratio.
//   race BLAS_LIBRARY THREADS [M N K TRANSPOSE_A TRANSPOSE_B]...
#define _GNU_SOURCE
#include "../../libmicart/include/micart.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const struct mica_program mica_program; // what a built program says of itself
int32_t mica_main(void) { return 0; }

typedef void (*sgemm)(int order, int ta, int tb, long m, long n, long k, float alpha, const float *a, long lda,
                      const float *b, long ldb, float beta, float *c, long ldc);
typedef void (*sgemm32)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                        const float *b, int ldb, float beta, float *c, int ldc);
static sgemm blas64; // numpy's OpenBLAS counts in 64 bits, Debian's in 32
static sgemm32 blas32;

// On one thread the processor's time, which other work on the machine touches least.
static clockid_t timer = CLOCK_MONOTONIC;
static double seconds(void) {
  struct timespec t;
  clock_gettime(timer, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static int by_size(const void *x, const void *y) {
  double d = *(const double *)x - *(const double *)y;
  return d < 0 ? -1 : d > 0;
}
static float *numbers(long count) {
  float *x = aligned_alloc(64, ((size_t)count * 4 + 127) / 64 * 64);
  for (long i = 0; i < count; i++) x[i] = (float)rand() / (float)RAND_MAX - 0.5f;
  return x;
}
static void run(int who, long m, long n, long k, int ta, int tb, const float *a, const float *b, float *c) {
  if (who == 0) {
    struct mica_product p = {a, b, c, m, n, k, ta ? m : k, tb ? k : n, n, 1, 1, 0, 0, 0, 0, 0, 0,
                             MICA_F32, MICA_F32, MICA_F32, ta, tb, 0};
    mica_multiply(&p);
  } else if (blas64) {
    blas64(101, 111 + ta, 111 + tb, m, n, k, 1, a, ta ? m : k, b, tb ? k : n, 0, c, n);
  } else {
    blas32(101, 111 + ta, 111 + tb, (int)m, (int)n, (int)k, 1, a, (int)(ta ? m : k), b, (int)(tb ? k : n), 0, c,
           (int)n);
  }
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  blas64 = (sgemm)dlsym(library, "scipy_cblas_sgemm64_");
  blas32 = (sgemm32)dlsym(library, "cblas_sgemm");
  void (*threads)(int) = (void (*)(int))dlsym(library, "scipy_openblas_set_num_threads64_");
  if (!threads) threads = (void (*)(int))dlsym(library, "openblas_set_num_threads");
  if (!blas64 && !blas32) return 2;
  if (threads) threads(atoi(argv[2]));
  if (atoi(argv[2]) == 1) timer = CLOCK_THREAD_CPUTIME_ID;
  for (int at = 3; at + 4 < argc; at += 5) {
    long m = atol(argv[at]), n = atol(argv[at + 1]), k = atol(argv[at + 2]);
    int ta = atoi(argv[at + 3]), tb = atoi(argv[at + 4]);
    float *a = numbers(m * k), *b = numbers(k * n), *c = numbers(m * n);
    double work = 2e-9 * (double)m * (double)n * (double)k;
    enum { kMost = 201 };
    double times[2][kMost];
    long inner = 1 + (long)(2e-3 / (work / 100));
    int rounds = 0;
    double begun = seconds();
    for (; rounds < kMost && (rounds < 15 || seconds() - begun < 1.5); rounds++)
      for (int who = 0; who < 2; who++) {
        run(who, m, n, k, ta, tb, a, b, c); // the caches are its own
        double start = seconds();
        for (long i = 0; i < inner; i++) run(who, m, n, k, ta, tb, a, b, c);
        times[who][rounds] = (seconds() - start) / (double)inner;
      }
    for (int who = 0; who < 2; who++) qsort(times[who], (size_t)rounds, sizeof(double), by_size);
    double mine = times[0][rounds / 2], other = times[1][rounds / 2];
    printf("| %ld x %ld x %ld | %s | %.1f | %.1f | %.2f |\n", m, n, k,
           ta ? (tb ? "TT" : "TN") : (tb ? "NT" : "NN"), work / mine, work / other, other / mine);
    fflush(stdout);
    free(a);
    free(b);
    free(c);
  }
}
