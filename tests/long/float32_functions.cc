// Every float32 argument of every function of one argument: the answer must be the correctly rounded one
// (numerics.md 6). A double that lies within 2^-49 of the middle between two floats is decided by MPFR; all
// others cannot round wrongly while the double is right to 2^-50, which the unit tests measure.
//
//   clang++ -std=c++20 -O3 -march=x86-64-v3 -ffp-contract=off tests/long/float32_functions.cc -lmpfr -o
//   float32_functions
//   ./float32_functions [name ...]     prints each wrong argument; exit code 1 where there was one
#include "../../libmicart/math/math.cc"

#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <string.h>

namespace {
constexpr mpfr_rnd_t kNear = MPFR_RNDN;
mpfr_t one, two, three;

void sigmoid(mpfr_t r, const mpfr_t x) {
  mpfr_neg(r, x, kNear);
  mpfr_exp(r, r, kNear);
  mpfr_add_ui(r, r, 1, kNear);
  mpfr_ui_div(r, 1, r, kNear);
}
void silu(mpfr_t r, const mpfr_t x) {
  sigmoid(one, x);
  mpfr_mul(r, one, x, kNear);
}
void gelu(mpfr_t r, const mpfr_t x) {
  mpfr_sqrt_ui(one, 2, kNear);
  mpfr_div(one, x, one, kNear);
  mpfr_neg(one, one, kNear);
  mpfr_erfc(one, one, kNear);
  mpfr_mul(one, one, x, kNear);
  mpfr_div_ui(r, one, 2, kNear);
}
void gelu_tanh(mpfr_t r, const mpfr_t x) {
  mpfr_set_str(two, "0.044715", 10, kNear);
  mpfr_mul(one, x, x, kNear);
  mpfr_mul(one, one, two, kNear);
  mpfr_add_ui(one, one, 1, kNear);
  mpfr_mul(one, one, x, kNear);
  mpfr_const_pi(two, kNear);
  mpfr_ui_div(two, 8, two, kNear);
  mpfr_sqrt(two, two, kNear);
  mpfr_mul(one, one, two, kNear);
  sigmoid(three, one);
  mpfr_mul(r, three, x, kNear);
}
template <int (*F)(mpfr_t, const mpfr_t, mpfr_rnd_t)> void plain(mpfr_t r, const mpfr_t x) { F(r, x, kNear); }

struct Case {
  const char *name;
  void (*exact)(mpfr_t, const mpfr_t);
  void (*block)(const float *x, double *y, float *z, int count);
};

template <double (*Wide)(float), float (*Narrow)(float)>
void run_block(const float *x, double *y, float *z, int count) {
  for (int i = 0; i < count; i++) y[i] = Wide(x[i]);
  for (int i = 0; i < count; i++) z[i] = Narrow(x[i]);
}

#define WIDE(name)                                                                                           \
  double wide_##name(float x) { return mica::math::name##_f64(static_cast<double>(x)); }
double wide_exp(float x) { return mica::math::exp_for_f32(static_cast<double>(x)); }
double wide_sin(float x) { return mica::math::sin_for_f32(x); }
double wide_cos(float x) { return mica::math::cos_for_f32(x); }
double wide_tan(float x) { return mica::math::tan_for_f32(x); }
WIDE(ln)
WIDE(log10)
WIDE(arcsin)
WIDE(arccos)
WIDE(arctan)
WIDE(tanh)
WIDE(erf)
WIDE(erfc)
WIDE(gelu)
WIDE(gelu_tanh)
WIDE(sigmoid)
WIDE(silu)

#define CASE(name, exact)                                                                                    \
  { #name, exact, run_block < wide_##name, mica_##name##_f32> }
const Case kCases[] = {
    CASE(exp, plain<mpfr_exp>),
    CASE(ln, plain<mpfr_log>),
    CASE(log10, plain<mpfr_log10>),
    CASE(sin, plain<mpfr_sin>),
    CASE(cos, plain<mpfr_cos>),
    CASE(tan, plain<mpfr_tan>),
    CASE(arcsin, plain<mpfr_asin>),
    CASE(arccos, plain<mpfr_acos>),
    CASE(arctan, plain<mpfr_atan>),
    CASE(tanh, plain<mpfr_tanh>),
    CASE(erf, plain<mpfr_erf>),
    CASE(erfc, plain<mpfr_erfc>),
    CASE(gelu, gelu),
    CASE(gelu_tanh, gelu_tanh),
    CASE(sigmoid, sigmoid),
    CASE(silu, silu),
};

long test(const Case &c) {
  constexpr int kBlock = 4096;
  static float x[kBlock], z[kBlock];
  static double y[kBlock];
  long wrong = 0, near = 0;
  mpfr_t argument, answer;
  mpfr_init2(argument, 24);
  mpfr_init2(answer, 200);
  for (unsigned long long base = 0; base < 1ull << 32; base += kBlock) {
    for (int i = 0; i < kBlock; i++) {
      unsigned word = static_cast<unsigned>(base) + static_cast<unsigned>(i);
      memcpy(&x[i], &word, 4);
    }
    c.block(x, y, z, kBlock);
    bool any = false;
    for (int i = 0; i < kBlock; i++) {
      float low = static_cast<float>(y[i] * (1 - 0x1p-49)), high = static_cast<float>(y[i] * (1 + 0x1p-49));
      any |= !(low == high && z[i] == low);
    }
    if (!any) continue;
    for (int i = 0; i < kBlock; i++) {
      float low = static_cast<float>(y[i] * (1 - 0x1p-49)), high = static_cast<float>(y[i] * (1 + 0x1p-49));
      if (low == high && z[i] == low) continue;
      if (z[i] != z[i] && y[i] != y[i]) continue;
      near++;
      mpfr_set_flt(argument, x[i], kNear);
      c.exact(answer, argument);
      float right = mpfr_get_flt(answer, kNear);
      if (right == z[i]) continue;
      unsigned from, to;
      memcpy(&from, &x[i], 4);
      memcpy(&to, &right, 4);
      if (wrong++ < 40)
        printf("%s: %#x gives %a, not %a (%#x)\n", c.name, from, static_cast<double>(z[i]),
               static_cast<double>(right), to);
    }
  }
  printf("%s: %ld near a middle, %ld wrong\n", c.name, near, wrong);
  fflush(stdout);
  mpfr_clear(argument);
  mpfr_clear(answer);
  return wrong;
}
} // namespace

int main(int count, char **names) {
  mpfr_init2(one, 260);
  mpfr_init2(two, 260);
  mpfr_init2(three, 260);
  long wrong = 0;
  for (const Case &c : kCases) {
    bool chosen = count < 2;
    for (int i = 1; i < count; i++) chosen |= strcmp(names[i], c.name) == 0;
    if (chosen) wrong += test(c);
  }
  return wrong != 0;
}
