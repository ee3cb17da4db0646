// What the skeletons of kernels use: freestanding C++ that becomes bitcode when the toolchain is built, and
// part of a kernel when mica-codegen fixes its shapes (mica-codegen/card/skeleton.cc). No CUDA header.
//
// A skeleton is a function, not a kernel: the generated kernel calls it. `mica_constant(n)` becomes a number
// there, so that what depends on it folds; the hooks named `mica_hook_...` become calls of generated
// functions.
#ifndef MICA_DEVICE_CARD_H
#define MICA_DEVICE_CARD_H

namespace mica::device {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned;
using u64 = unsigned long;
using i32 = int;
using i64 = long;

#define MICA_INLINE static inline __attribute__((always_inline))
#define MICA_SHARED __attribute__((address_space(3)))

/// A routine: a kernel of its own, whose sizes are arguments (mica-codegen/card/run.cc).
#define MICA_KERNEL extern "C" __attribute__((nvptx_kernel)) void

extern "C" __attribute__((const)) i64 mica_constant(int which);

MICA_INLINE u32 thread() { return __nvvm_read_ptx_sreg_tid_x(); }
MICA_INLINE u32 block() { return __nvvm_read_ptx_sreg_ctaid_x(); }
MICA_INLINE u32 block_threads() { return __nvvm_read_ptx_sreg_ntid_x(); }
MICA_INLINE u64 global_thread() { return static_cast<u64>(block()) * block_threads() + thread(); }
/// An integer of a type that rows are numbered by: int32 (4), int64 (8), uint8 (1).
MICA_INLINE i64 read_id(const void *ids, i64 bytes, i64 i) {
  return bytes == 4   ? static_cast<const i32 *>(ids)[i]
         : bytes == 8 ? static_cast<const i64 *>(ids)[i]
                      : static_cast<i64>(static_cast<const u8 *>(ids)[i]);
}
MICA_INLINE void wait_for_block() { __syncthreads(); }

} // namespace mica::device
#endif
