// What the files about the card share: the driver's functions, found at run time, and facts about cards.
#ifndef MICA_HOST_CARD_H
#define MICA_HOST_CARD_H

#include "runtime.h"

namespace mica::rt {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUlib_st;
struct CUkern_st;
struct CUfunc_st;
struct CUmemPool_st;

// CUlaunchAttribute and CUlaunchConfig of the driver's cuda.h (version 12 and later).
struct CUlaunchAttribute {
  int id; // 2 cooperative, 4 cluster dimension
  char pad[4];
  union {
    char bytes[64];
    int cooperative;
    struct {
      unsigned x, y, z;
    } cluster;
  } value;
};
struct CUlaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared;
  CUstream_st *stream;
  CUlaunchAttribute *attributes;
  unsigned attribute_count;
};
struct CUmemPoolProps {
  int allocation_type; // 1 pinned
  int handle_types;    // 0 none
  int location_type;   // 1 device
  int location_id;
  void *win32;
  size_t max_size;
  unsigned short usage;
  unsigned char reserved[54];
};

// The driver's functions, as (result, name in cuda.h, parameters). cuda.h of CUDA 12 documents each.
#define MICA_DRIVER_FUNCTIONS(X)                                                                             \
  X(cuInit, (unsigned))                                                                                      \
  X(cuDriverGetVersion, (int *))                                                                             \
  X(cuGetErrorName, (CUresult, const char **))                                                               \
  X(cuGetErrorString, (CUresult, const char **))                                                             \
  X(cuDeviceGetCount, (int *))                                                                               \
  X(cuDeviceGet, (CUdevice *, int))                                                                          \
  X(cuDeviceGetName, (char *, int, CUdevice))                                                                \
  X(cuDeviceGetAttribute, (int *, int, CUdevice))                                                            \
  X(cuDeviceTotalMem_v2, (size_t *, CUdevice))                                                               \
  X(cuDevicePrimaryCtxRetain, (CUctx_st **, CUdevice))                                                       \
  X(cuCtxSetCurrent, (CUctx_st *))                                                                           \
  X(cuStreamCreate, (CUstream_st **, unsigned))                                                              \
  X(cuStreamSynchronize, (CUstream_st *))                                                                    \
  X(cuEventCreate, (CUevent_st **, unsigned))                                                                \
  X(cuEventRecord, (CUevent_st *, CUstream_st *))                                                            \
  X(cuEventSynchronize, (CUevent_st *))                                                                      \
  X(cuEventElapsedTime, (float *, CUevent_st *, CUevent_st *))                                               \
  X(cuMemAllocAsync, (CUdeviceptr *, size_t, CUstream_st *))                                                 \
  X(cuMemFreeAsync, (CUdeviceptr, CUstream_st *))                                                            \
  X(cuDeviceGetDefaultMemPool, (CUmemPool_st **, CUdevice))                                                  \
  X(cuMemPoolSetAttribute, (CUmemPool_st *, int, void *))                                                    \
  X(cuMemPoolTrimTo, (CUmemPool_st *, size_t))                                                               \
  X(cuMemGetInfo_v2, (size_t *, size_t *))                                                                   \
  X(cuMemHostAlloc, (void **, size_t, unsigned))                                                             \
  X(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream_st *))                                \
  X(cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream_st *))                                      \
  X(cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream_st *))                                 \
  X(cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream_st *))                                    \
  X(cuLibraryLoadData, (CUlib_st **, const void *, int *, void **, unsigned, int *, void **, unsigned))      \
  X(cuLibraryGetKernel, (CUkern_st **, CUlib_st *, const char *))                                            \
  X(cuKernelGetFunction, (CUfunc_st **, CUkern_st *))                                                        \
  X(cuFuncSetAttribute, (CUfunc_st *, int, int))                                                             \
  X(cuFuncGetAttribute, (int *, int, CUfunc_st *))                                                           \
  X(cuLaunchKernelEx, (const CUlaunchConfig *, CUfunc_st *, void **, void **))                               \
  X(cuTensorMapEncodeTiled, (void *, int, unsigned, void *, const u64 *, const u64 *, const unsigned *,      \
                             const unsigned *, int, int, int, int))

struct Driver {
#define MICA_MEMBER(name, parameters) CUresult(*name) parameters = nullptr;
  MICA_DRIVER_FUNCTIONS(MICA_MEMBER)
#undef MICA_MEMBER
};
extern Driver driver;

struct CardFacts {
  int number = 0;
  char name[256] = {};
  int major = 0, minor = 0;
  i64 memory = 0;
  bool precompiled = false;
  int multiprocessors = 0;
};
CardFacts card_facts(int number);
void start_card(const char *file, int line); // at the first use; ends the program where there is no card
bool precompiled_for(int major, int minor);  // whether this compiler assembles for the generation

} // namespace mica::rt
#endif
