// What the parts of the attention share: the clones' entry points.
#ifndef MICA_HOST_ATTENTION_H
#define MICA_HOST_ATTENTION_H

#include "product.h"

namespace mica::rt {

/// The work on one query panel of one head, in the clone's own panel width.
struct AttentionKernels {
  void (*forward_f32)(const struct mica_attention &);
  void (*forward_f64)(const struct mica_attention &);
  void (*backward_f32)(const struct mica_attention &);
  void (*backward_f64)(const struct mica_attention &);
};
namespace avx2 {
extern const AttentionKernels kAttention;
}
namespace avx512 {
extern const AttentionKernels kAttention;
}

} // namespace mica::rt
#endif
