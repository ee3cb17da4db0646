// The fixed order of sums (numerics.md 4). Up to 1024 cells: 16 lanes from +0, cell i to lane i mod 16, then
// the tree +8, +4, +2, +1. Longer: the sum of the sums of consecutive blocks of 1024, recursively. `at(i)`
// gives cell i.
#ifndef MICA_HOST_SUMS_H
#define MICA_HOST_SUMS_H

#include "cells.h"

namespace mica::rt {

constexpr i64 kSumBlock = 1024;
constexpr int kSumLanes = 16;

template <class T> inline T add_lanes(T *lane) {
  for (int width = kSumLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; l++) lane[l] += lane[l + width];
  }
  return lane[0];
}

template <class T, class At> inline T sum_block(i64 begin, i64 end, At at) {
  T lane[kSumLanes] = {};
  i64 i = begin;
  for (; i + kSumLanes <= end; i += kSumLanes) {
    for (int l = 0; l < kSumLanes; l++) lane[l] += static_cast<T>(at(i + l));
  }
  for (int l = 0; i + l < end; l++) lane[l] += static_cast<T>(at(i + l));
  return add_lanes(lane);
}

// What the next level sums: the blocks' results. One type for every level, so that the recursion ends.
template <class T> struct Partials {
  const T *data;
  i64 columns;
  T operator()(i64 i) const { return data[i]; }
};
template <class T> struct PartialRows {
  const T *data;
  i64 columns;
  const T *operator()(i64 i) const { return data + i * columns; }
};

template <class T, class At> T sum_in_order(i64 count, At at) {
  if (count <= kSumBlock) return sum_block<T>(0, count, at);
  i64 blocks = (count + kSumBlock - 1) / kSumBlock;
  T *partial = static_cast<T *>(allocate(blocks * static_cast<i64>(sizeof(T))));
  struct Context {
    At *at;
    T *partial;
    i64 count;
  } context = {&at, partial, count};
  mica_parallel(
      [](void *opaque, int64_t begin, int64_t end) {
        Context &c = *static_cast<Context *>(opaque);
        for (i64 b = begin; b < end; b++) {
          i64 last = (b + 1) * kSumBlock < c.count ? (b + 1) * kSumBlock : c.count;
          c.partial[b] = sum_block<T>(b * kSumBlock, last, *c.at);
        }
      },
      &context, blocks, 64);
  T result = sum_in_order<T>(blocks, Partials<T>{partial, 1});
  release(partial);
  return result;
}

constexpr i64 kColumnsAtOnce = 64;

// The same over rows, for up to kColumnsAtOnce columns at once: row(i) points to the first of the cells of
// row i, which are converted to T; the sums go to out.
template <class T, class Row> void sum_rows_in_order(i64 rows, i64 columns, Row row, T *out) {
  T *partial = nullptr;
  i64 blocks = rows > kSumBlock ? (rows + kSumBlock - 1) / kSumBlock : 1;
  if (blocks > 1) partial = static_cast<T *>(allocate(blocks * columns * static_cast<i64>(sizeof(T))));
  for (i64 b = 0; b < blocks; b++) {
    T lane[kSumLanes][kColumnsAtOnce] = {};
    i64 last = (b + 1) * kSumBlock < rows ? (b + 1) * kSumBlock : rows;
    for (i64 i = b * kSumBlock; i < last; i++) {
      T *to = lane[i % kSumLanes];
      const auto *from = row(i);
      for (i64 j = 0; j < columns; j++) to[j] += cell_value<T>(from[j]);
    }
    for (int width = kSumLanes / 2; width > 0; width /= 2) {
      for (int l = 0; l < width; l++) {
        for (i64 j = 0; j < columns; j++) lane[l][j] += lane[l + width][j];
      }
    }
    T *to = partial ? partial + b * columns : out;
    for (i64 j = 0; j < columns; j++) to[j] = lane[0][j];
  }
  if (!partial) return;
  sum_rows_in_order<T>(blocks, columns, PartialRows<T>{partial, columns}, out);
  release(partial);
}

} // namespace mica::rt
#endif
