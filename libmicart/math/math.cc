// The math library's functions under the names that generated code calls; compiled to bitcode for the
// processor and for the card, and into libmicart for folding and host calls. README.md lists them.
#include "arc.h"
#include "basics.h"
#include "erf.h"
#include "exp.h"
#include "fmod.h"
#include "gelu.h"
#include "gelu_tanh.h"
#include "halves.h"
#include "ln.h"
#include "optimizer.h"
#include "pow.h"
#include "random.h"
#include "trig.h"

using namespace mica::math;

#define MICA_F64(name)                                                                                       \
  MICA_PUBLIC double mica_##name##_f64(double x) { return name##_f64(x); }

extern "C" {
MICA_F64(exp)
MICA_F64(ln)
MICA_F64(log10)
MICA_F64(sin)
MICA_F64(cos)
MICA_F64(tan)
MICA_F64(arcsin)
MICA_F64(arccos)
MICA_F64(arctan)
MICA_F64(tanh)
MICA_F64(erf)
MICA_F64(erfc)
MICA_F64(gelu)
MICA_F64(gelu_gradient)
MICA_F64(gelu_tanh)
MICA_F64(gelu_tanh_gradient)
MICA_F64(sigmoid)
MICA_F64(silu)
MICA_F64(silu_gradient)
double mica_pow_f64(double x, double y) { return pow_f64(x, y); }
MICA_PUBLIC double mica_sqrt_f64(double x) { return __builtin_sqrt(x); }
MICA_PUBLIC double mica_rsqrt_f64(double x) { return 1.0 / __builtin_sqrt(x); }
double mica_fmod_f64(double x, double y) { return fmod_f64(x, y); }
MICA_PUBLIC double mica_round_f64(double x) { return __builtin_round(x); }
MICA_PUBLIC double mica_trunc_f64(double x) { return __builtin_trunc(x); }
MICA_PUBLIC double mica_floor_f64(double x) { return __builtin_floor(x); }
MICA_PUBLIC double mica_ceil_f64(double x) { return __builtin_ceil(x); }
MICA_PUBLIC double mica_abs_f64(double x) { return __builtin_fabs(x); }
MICA_PUBLIC double mica_fma_f64(double x, double y, double z) { return __builtin_fma(x, y, z); }
MICA_PUBLIC float mica_sqrt_f32(float x) { return __builtin_sqrtf(x); }
MICA_PUBLIC float mica_rsqrt_f32(float x) { return 1.0f / __builtin_sqrtf(x); }
float mica_fmod_f32(float x, float y) { return static_cast<float>(fmod_f64(x, y)); }
MICA_PUBLIC float mica_round_f32(float x) { return __builtin_roundf(x); }
MICA_PUBLIC float mica_trunc_f32(float x) { return __builtin_truncf(x); }
MICA_PUBLIC float mica_floor_f32(float x) { return __builtin_floorf(x); }
MICA_PUBLIC float mica_ceil_f32(float x) { return __builtin_ceilf(x); }
MICA_PUBLIC float mica_abs_f32(float x) { return __builtin_fabsf(x); }
MICA_PUBLIC float mica_fma_f32(float x, float y, float z) { return __builtin_fmaf(x, y, z); }

MICA_PUBLIC float mica_f16_to_f32(u16 x) { return f16_to_f32(x); }
MICA_PUBLIC float mica_bf16_to_f32(u16 x) { return bf16_to_f32(x); }
MICA_PUBLIC u16 mica_f32_to_f16(float x) { return f32_to_f16(x); }
MICA_PUBLIC u16 mica_f32_to_bf16(float x) { return f32_to_bf16(x); }
MICA_PUBLIC u16 mica_f64_to_f16(double x) { return f64_to_f16(x); }
MICA_PUBLIC u16 mica_f64_to_bf16(double x) { return f64_to_bf16(x); }

MICA_PUBLIC double mica_uniform_cell_f32(u64 key, u64 counter, u64 i, double low, double high) {
  return uniform_cell_f32(key, counter, i, low, high);
}
MICA_PUBLIC double mica_uniform_cell_f64(u64 key, u64 counter, u64 i, double low, double high) {
  return uniform_cell_f64(key, counter, i, low, high);
}
MICA_PUBLIC double mica_normal_cell_f32(u64 key, u64 counter, u64 i, double mean, double deviation) {
  return normal_cell_f32(key, counter, i, mean, deviation);
}
MICA_PUBLIC double mica_normal_cell_f64(u64 key, u64 counter, u64 i, double mean, double deviation) {
  return normal_cell_f64(key, counter, i, mean, deviation);
}
MICA_PUBLIC u32 mica_draw16_cell(u64 key, u64 counter, u32 plane, u64 row, u64 column) {
  return draw16(key, counter, plane, row, column);
}
u32 mica_drop_threshold(double p) { return drop_threshold(p); }
void mica_philox(u64 key, u32 c0, u32 c1, u32 c2, u32 c3, u32 *out) {
  Philox p = philox(key, c0, c1, c2, c3);
  for (int i = 0; i < 4; i++) out[i] = p.w[i];
}

void mica_adamw_f32(i64 step, double alpha, double beta1, double beta2, double decay, float *out) {
  double wide[5];
  adamw(step, alpha, beta1, beta2, decay, wide);
  for (int i = 0; i < 5; i++) out[i] = static_cast<float>(wide[i]);
}
void mica_adamw_f64(i64 step, double alpha, double beta1, double beta2, double decay, double *out) {
  adamw(step, alpha, beta1, beta2, decay, out);
}
}

#include "float32.h"
