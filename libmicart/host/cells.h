// Cells of any type, read as the type that a computation on them uses and written with one rounding.
#ifndef MICA_HOST_CELLS_H
#define MICA_HOST_CELLS_H

#include "halves.h"

namespace mica::rt {

template <class T> inline T cell_value(float x) { return static_cast<T>(x); }
template <class T> inline T cell_value(double x) { return static_cast<T>(x); }
template <class T> inline T cell_value(i64 x) { return static_cast<T>(x); }
template <class T> inline T cell_value(u64 x) { return static_cast<T>(x); }
template <class T> inline T cell_value(int x) { return static_cast<T>(x); }
template <class T> inline T cell_value(u32 x) { return static_cast<T>(x); }
template <class T> inline T cell_value(u8 x) { return static_cast<T>(x); }
template <class T> inline T cell_value(Float16 x) { return static_cast<T>(half_to_float(x)); }
template <class T> inline T cell_value(BFloat16 x) { return static_cast<T>(half_to_float(x)); }

inline void put_cell(float &to, float x) { to = x; }
inline void put_cell(double &to, double x) { to = x; }
inline void put_cell(u32 &to, u32 x) { to = x; }
inline void put_cell(u64 &to, u64 x) { to = x; }
inline void put_cell(Float16 &to, float x) { to = float_to_f16(x); }
inline void put_cell(BFloat16 &to, float x) { to = float_to_bf16(x); }

// Calls f(cell pointer, value of the computing type) for the float types, int32 and int64 (as unsigned: they
// wrap).
template <class F> inline bool with_cells(int type, F f) {
  switch (type) {
  case MICA_F16: f(static_cast<Float16 *>(nullptr), 0.0f); return true;
  case MICA_BF16: f(static_cast<BFloat16 *>(nullptr), 0.0f); return true;
  case MICA_F32: f(static_cast<float *>(nullptr), 0.0f); return true;
  case MICA_F64: f(static_cast<double *>(nullptr), 0.0); return true;
  case MICA_I32:
  case MICA_U32: f(static_cast<u32 *>(nullptr), u32(0)); return true;
  case MICA_I64:
  case MICA_U64: f(static_cast<u64 *>(nullptr), u64(0)); return true;
  default: return false;
  }
}

inline i64 read_id(int type, const void *ids, i64 i) {
  switch (type) {
  case MICA_I64: return static_cast<const i64 *>(ids)[i];
  case MICA_I32: return static_cast<const int *>(ids)[i];
  case MICA_U16: return static_cast<const u16 *>(ids)[i];
  default: return static_cast<const u8 *>(ids)[i];
  }
}

} // namespace mica::rt
#endif
