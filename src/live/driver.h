/* The part of the driver's C interface that the library speaks, declared by ourselves: it must be
 * built where there is no CUDA. */
#ifndef NAMESAKE_LIVE_DRIVER_H
#define NAMESAKE_LIVE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int result;
typedef void* handle;
typedef unsigned long long address;

enum {
  CU_SUCCESS = 0,
  CU_NOT_FOUND = 500,
  CU_NOT_READY = 600,
  CU_LAUNCH_FAILED = 719,
  CU_CAPTURE_NONE = 0,
  CU_CAPTURE_RELAXED = 2,
  CU_MULTIPROCESSORS = 16,
  CU_MAJOR = 75,
  CU_MINOR = 76,
  CU_PER_THREAD_STREAM = 2, /* a flag of cuGetProcAddress */
  CU_LAUNCH_COOPERATIVE = 2,
  CU_LAUNCH_CLUSTER = 4,
  CU_LAUNCH_PROGRAMMATIC = 6,
};

struct memory_handle {
  char bytes[64];
};

struct launch_attribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int number;
  } value;
};

struct launch_config {
  unsigned grid[3], block[3];
  unsigned shared;
  handle stream;
  struct launch_attribute* attributes;
  unsigned attribute_count;
};

/* X(name, parameters): stood before. The name is the exported symbol. */
#define WRAPPED(X)                                                                                 \
  X(cuGetProcAddress, (const char* symbol, void** function, int version, uint64_t flags))          \
  X(cuGetProcAddress_v2,                                                                           \
    (const char* symbol, void** function, int version, uint64_t flags, int* status))               \
  X(cuModuleLoad, (handle * module, const char* file))                                             \
  X(cuModuleLoadData, (handle * module, const void* image))                                        \
  X(cuModuleLoadDataEx,                                                                            \
    (handle * module, const void* image, unsigned count, int* options, void** values))             \
  X(cuModuleLoadFatBinary, (handle * module, const void* image))                                   \
  X(cuModuleUnload, (handle module))                                                               \
  X(cuModuleGetFunction, (handle * function, handle module, const char* name))                     \
  X(cuLibraryLoadData, (handle * library, const void* image, int* jit_options, void** jit_values,  \
                        unsigned jit_count, int* options, void** values, unsigned count))          \
  X(cuLibraryLoadFromFile,                                                                         \
    (handle * library, const char* file, int* jit_options, void** jit_values, unsigned jit_count,  \
     int* options, void** values, unsigned count))                                                 \
  X(cuLibraryUnload, (handle library))                                                             \
  X(cuLibraryGetKernel, (handle * kernel, handle library, const char* name))                       \
  X(cuLibraryGetModule, (handle * module, handle library))                                         \
  X(cuKernelGetFunction, (handle * function, handle kernel))                                       \
  X(cuFuncSetAttribute, (handle function, int attribute, int value))                               \
  X(cuKernelSetAttribute, (int attribute, int value, handle kernel, int device))                   \
  X(cuFuncSetCacheConfig, (handle function, int config))                                           \
  X(cuKernelSetCacheConfig, (handle kernel, int config, int device))                               \
  X(cuLaunchKernel,                                                                                \
    (handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,             \
     unsigned bz, unsigned shared, handle stream, void** arguments, void** extra))                 \
  X(cuLaunchKernel_ptsz,                                                                           \
    (handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,             \
     unsigned bz, unsigned shared, handle stream, void** arguments, void** extra))                 \
  X(cuLaunchKernelEx,                                                                              \
    (const struct launch_config* config, handle function, void** arguments, void** extra))         \
  X(cuLaunchKernelEx_ptsz,                                                                         \
    (const struct launch_config* config, handle function, void** arguments, void** extra))         \
  X(cuLaunchCooperativeKernel,                                                                     \
    (handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,             \
     unsigned bz, unsigned shared, handle stream, void** arguments))                               \
  X(cuLaunchCooperativeKernel_ptsz,                                                                \
    (handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,             \
     unsigned bz, unsigned shared, handle stream, void** arguments))                               \
  X(cuStreamBeginCapture, (handle stream))                                                         \
  X(cuStreamBeginCapture_ptsz, (handle stream))                                                    \
  X(cuStreamBeginCapture_v2, (handle stream, int mode))                                            \
  X(cuStreamBeginCapture_v2_ptsz, (handle stream, int mode))                                       \
  X(cuStreamBeginCaptureToGraph,                                                                   \
    (handle stream, handle graph, const handle* nodes, const void* edges, size_t count, int mode)) \
  X(cuStreamBeginCaptureToGraph_ptsz,                                                              \
    (handle stream, handle graph, const handle* nodes, const void* edges, size_t count, int mode)) \
  X(cuStreamEndCapture, (handle stream, handle * graph))                                           \
  X(cuStreamEndCapture_ptsz, (handle stream, handle * graph))                                      \
  X(cuCtxDestroy, (handle context))                                                                \
  X(cuCtxDestroy_v2, (handle context))                                                             \
  X(cuGreenCtxDestroy, (handle context))                                                           \
  X(cuDevicePrimaryCtxReset, (int device))                                                         \
  X(cuDevicePrimaryCtxReset_v2, (int device))                                                      \
  X(cuDevicePrimaryCtxRelease, (int device))                                                       \
  X(cuDevicePrimaryCtxRelease_v2, (int device))                                                    \
  X(cuMemAlloc_v2, (address * at, size_t size))                                                    \
  X(cuMemAllocPitch_v2,                                                                            \
    (address * at, size_t * pitch, size_t width, size_t height, unsigned element))                 \
  X(cuMemFree_v2, (address at))                                                                    \
  X(cuMemAllocAsync, (address * at, size_t size, handle stream))                                   \
  X(cuMemAllocAsync_ptsz, (address * at, size_t size, handle stream))                              \
  X(cuMemFreeAsync, (address at, handle stream))                                                   \
  X(cuMemFreeAsync_ptsz, (address at, handle stream))                                              \
  X(cuMemAllocFromPoolAsync, (address * at, size_t size, handle pool, handle stream))              \
  X(cuMemAllocFromPoolAsync_ptsz, (address * at, size_t size, handle pool, handle stream))         \
  X(cuMemAllocManaged, (address * at, size_t size, unsigned flags))                                \
  X(cuMemHostAlloc, (void** at, size_t size, unsigned flags))                                      \
  X(cuMemAllocHost_v2, (void** at, size_t size))                                                   \
  X(cuMemHostRegister_v2, (void* at, size_t size, unsigned flags))                                 \
  X(cuMemMap, (address at, size_t size, size_t offset, uint64_t memory, uint64_t flags))           \
  X(cuIpcOpenMemHandle_v2, (address * at, struct memory_handle memory, unsigned flags))            \
  X(cuImportExternalMemory, (handle * memory, const void* description))                            \
  X(cuMemPoolImportPointer, (address * at, handle pool, void* data))                               \
  X(cuGraphicsMapResources, (unsigned count, handle* resources, handle stream))                    \
  X(cuGraphicsMapResources_ptsz, (unsigned count, handle* resources, handle stream))               \
  X(cuGraphAddMemAllocNode,                                                                        \
    (handle * node, handle graph, const handle* before, size_t count, void* parameters))           \
  X(cuGraphAddNode,                                                                                \
    (handle * node, handle graph, const handle* before, size_t count, void* parameters))           \
  X(cuGraphAddNode_v2, (handle * node, handle graph, const handle* before, const void* edges,      \
                        size_t count, void* parameters))                                           \
  X(cuModuleGetGlobal_v2, (address * at, size_t * size, handle module, const char* name))          \
  X(cuLibraryGetGlobal, (address * at, size_t * size, handle library, const char* name))           \
  X(cuLibraryGetManaged, (address * at, size_t * size, handle library, const char* name))          \
  X(cuArrayCreate_v2, (handle * array, const void* description))                                   \
  X(cuArray3DCreate_v2, (handle * array, const void* description))                                 \
  X(cuMipmappedArrayCreate, (handle * array, const void* description, unsigned levels))

/* X(name, parameters): only called. */
#define CALLED(X)                                                                 \
  X(cuDriverGetVersion, (int* version))                                           \
  X(cuDeviceGetCount, (int* count))                                               \
  X(cuDeviceGetName, (char* name, int length, int device))                        \
  X(cuDeviceGetAttribute, (int* value, int attribute, int device))                \
  X(cuCtxGetCurrent, (handle * context))                                          \
  X(cuCtxGetDevice, (int* device))                                                \
  X(cuCtxSynchronize, (void))                                                     \
  X(cuMemcpyDtoH_v2, (void* to, address from, size_t size))                       \
  X(cuMemcpyHtoD_v2, (address to, const void* from, size_t size))                 \
  X(cuDevicePrimaryCtxGetState, (int device, unsigned* flags, int* active))       \
  X(cuStreamIsCapturing, (handle stream, int* status))                            \
  X(cuStreamIsCapturing_ptsz, (handle stream, int* status))                       \
  X(cuThreadExchangeStreamCaptureMode, (int* mode))                               \
  X(cuEventCreate, (handle * event, unsigned flags))                              \
  X(cuEventRecord, (handle event, handle stream))                                 \
  X(cuEventRecord_ptsz, (handle event, handle stream))                            \
  X(cuEventQuery, (handle event))                                                 \
  X(cuEventElapsedTime, (float* milliseconds, handle begin, handle end))          \
  X(cuFuncGetAttribute, (int* value, int attribute, handle function))             \
  X(cuKernelGetAttribute, (int* value, int attribute, handle kernel, int device)) \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                  \
    (int* blocks, handle function, int threads, size_t shared))

#endif
