// AdamW's scalars (numerics.md 10) where the step or the rate is the card's.
#include "../math/optimizer.h"
#include "../math/basics.h"
#include "../math/exp.h"
#include "../math/ln.h"
#include "../math/pow.h"
#include "card.h"

namespace mica::device {
namespace {

/// A number that is given, or lies at an address on the card.
struct Number {
  const void *at;
  i64 kind; ///< 0: given; else the cell's: 1 float32, 2 float64, 3 int32, 4 int64
  double real;
  i64 whole;
};
MICA_INLINE double real_of(const Number &n) {
  return n.kind == 1   ? static_cast<double>(*static_cast<const float *>(n.at))
         : n.kind == 2 ? *static_cast<const double *>(n.at)
                       : n.real;
}
MICA_INLINE i64 whole_of(const Number &n) {
  return n.kind == 3   ? *static_cast<const i32 *>(n.at)
         : n.kind == 4 ? *static_cast<const i64 *>(n.at)
                       : n.whole;
}
struct Numbers {
  Number step, alpha, beta1, beta2, decay;
};
MICA_INLINE void scalars(const Numbers &n, double *out) {
  mica::math::adamw(whole_of(n.step), real_of(n.alpha), real_of(n.beta1), real_of(n.beta2), real_of(n.decay),
                    out);
}

} // namespace
} // namespace mica::device

using namespace mica::device;

MICA_KERNEL mica_adamw_scalars_f32(float *out, Numbers n) {
  if (global_thread()) return;
  double wide[5];
  scalars(n, wide);
#pragma clang loop unroll(full)
  for (int i = 0; i < 5; i++) out[i] = static_cast<float>(wide[i]);
}
MICA_KERNEL mica_adamw_scalars_f64(double *out, Numbers n) {
  if (global_thread()) return;
  double wide[5];
  scalars(n, wide);
#pragma clang loop unroll(full)
  for (int i = 0; i < 5; i++) out[i] = wide[i];
}
