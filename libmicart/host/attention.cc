// Attention on the processor (numerics.md 2, 5, 9): the choice of the clone.
#include "attention.h"

using namespace mica::rt;

namespace {
const AttentionKernels &kernels() {
  bool wide = forced_width ? forced_width == 512 : has_avx512();
  return wide ? avx512::kAttention : avx2::kAttention;
}

void run(const char *name, const struct mica_attention &call, bool forward) {
  double begin = tracing() ? seconds() : 0;
  bool wide = call.type == MICA_F64;
  const AttentionKernels &k = kernels();
  if (forward) {
    (wide ? k.forward_f64 : k.forward_f32)(call);
  } else {
    (wide ? k.backward_f64 : k.backward_f32)(call);
  }
  if (tracing()) trace_span(name, "processor", begin, seconds(), 0);
}
} // namespace

void mica_attention(const struct mica_attention *call) { run("attention", *call, true); }
void mica_attention_gradient(const struct mica_attention *call) { run("attention gradient", *call, false); }
