// Packing of a product's operands, part of product_kernel.h: lines (rows of A, columns of B) become panels
// [k][W], which a tile reads from end to end. What a panel has beyond the last line repeats that line; a
// tile's cells there are thrown away.
#include "product.h"

#include <immintrin.h>
#include <string.h>

namespace mica::rt::MICA_ISA {
namespace {

/// Eight lines of eight floats turned over; the first `kStored` of each eight are written.
template <int kStored> inline void transpose8(const float *const *lines, i64 k, float *out, i64 out_stride) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps(lines[i] + k);
  for (int i = 0; i < 4; i++) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 2; i++) {
    r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
    r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xEE);
    r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
    r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xEE);
  }
  auto store = [](float *to, __m256 v) {
    if constexpr (kStored == 8) {
      _mm256_storeu_ps(to, v);
    } else { // 6
      static_assert(kStored == 6);
      _mm_storeu_ps(to, _mm256_castps256_ps128(v));
      _mm_storel_pi(reinterpret_cast<__m64 *>(to + 4), _mm256_extractf128_ps(v, 1));
    }
  };
  for (int i = 0; i < 4; i++) {
    store(out + i * out_stride, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    store(out + (i + 4) * out_stride, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}

/// Lines of floats, each dense in k.
template <int W> void pack_dense_lines(const float *s, i64 ws, i64 width, i64 depth, float *out) {
  const float *lines[(W + 7) / 8 * 8];
  for (i64 w = 0; w < (W + 7) / 8 * 8; w++) lines[w] = s + (w < width ? w : width - 1) * ws;
  i64 k = 0;
  for (; k + 8 <= depth; k += 8) {
    int w = 0;
    for (; w + 8 <= W; w += 8) transpose8<8>(lines + w, k, out + k * W + w, W);
    if constexpr (W % 8 != 0) transpose8<W % 8>(lines + w, k, out + k * W + w, W);
  }
  for (; k < depth; k++)
    for (int w = 0; w < W; w++) out[k * W + w] = lines[w][k];
}

/// The panel of `width` lines (up to W), line w's cell k at s[w * ws + k * ks].
template <class T, int W, class S> void pack_panel(const S *s, i64 ws, i64 ks, i64 width, i64 depth, T *out) {
  if constexpr (__is_same(S, T)) {
    if (ws == 1 && width == W) {
      for (i64 k = 0; k < depth; k++) __builtin_memcpy(out + k * W, s + k * ks, sizeof(T) * W);
      return;
    }
    if constexpr (__is_same(T, float)) {
      if (ks == 1) return pack_dense_lines<W>(s, ws, width, depth, out);
    }
  }
  for (i64 k = 0; k < depth; k++) {
    const S *cells = s + k * ks;
    T *to = out + k * W;
    for (i64 w = 0; w < width; w++) to[w] = widen<T>(cells[w * ws]);
    for (i64 w = width; w < W; w++) to[w] = to[width - 1];
  }
}

} // namespace
} // namespace mica::rt::MICA_ISA
