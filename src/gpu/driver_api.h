// The part of the CUDA driver's C interface that we use, declared by ourselves.
//
// The tool must build on a machine without CUDA and start on one without a driver, so nothing here
// includes cuda.h and nothing is linked: load_driver() opens libcuda.so.1 and fills the table
// below. The opaque types carry the tags that cuda.h gives them, so handles pass to and from code
// compiled with cuda.h (cuDNN, the CUDA runtime) without a cast. tests/gpu/driver_abi_test.cpp
// compares every constant and layout with cuda.h where that is installed.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;
struct CUlinkState_st;

namespace namesake::gpu {

using DeviceAddress = unsigned long long;

enum ResultCode : int {
  kSuccess = 0,
  kErrorNoDevice = 100,
  kErrorNotReady = 600,
};

enum DeviceAttribute : int {
  kMultiprocessorCount = 16,
  kL2CacheBytes = 38,
  kMaxThreadsPerMultiprocessor = 39,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedBytesPerBlockOptin = 97,
};

enum FunctionAttribute : int {
  kMaxThreadsPerBlock = 0,
  kSharedBytes = 1,
  kConstantBytes = 2,
  kLocalBytes = 3,
  kRegisters = 4,
  kBinaryVersion = 6,
  kMaxDynamicSharedBytes = 8,
  kNonPortableClusterAllowed = 14,
};

enum JitOption : int {
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferBytes = 6,
};

enum LaunchAttributeId : int { kLaunchClusterDimension = 4 };

struct LaunchAttribute {
  LaunchAttributeId id;
  char pad[4];
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
  } value;
};

struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  CUstream_st* stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

// 128 opaque bytes that the hardware reads; passed to a kernel by value.
struct alignas(64) TensorMap {
  uint64_t opaque[16];
};

enum TensorElement : int {
  kTensorU8 = 0,
  kTensorU16 = 1,
  kTensorU32 = 2,
  kTensorS32 = 3,
  kTensorU64 = 4,
  kTensorS64 = 5,
  kTensorF16 = 6,
  kTensorF32 = 7,
  kTensorF64 = 8,
  kTensorBF16 = 9,
};
enum TensorSwizzle : int { kSwizzleNone = 0, kSwizzle32 = 1, kSwizzle64 = 2, kSwizzle128 = 3 };
enum TensorPromotion : int {
  kPromoteNone = 0,
  kPromoteL2_64 = 1,
  kPromoteL2_128 = 2,
  kPromoteL2_256 = 3
};
enum TensorFill : int { kFillZero = 0, kFillNan = 1 };

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr int kCaptureThreadLocal = 1;

// X(name in the table, symbol in the library, parameters)
#define NAMESAKE_DRIVER_FUNCTIONS(X)                                                               \
  X(init, "cuInit", (unsigned flags))                                                              \
  X(driver_version, "cuDriverGetVersion", (int* version))                                          \
  X(error_name, "cuGetErrorName", (int code, const char** name))                                   \
  X(error_string, "cuGetErrorString", (int code, const char** text))                               \
  X(device_count, "cuDeviceGetCount", (int* count))                                                \
  X(device_get, "cuDeviceGet", (int* device, int ordinal))                                         \
  X(device_name, "cuDeviceGetName", (char* name, int length, int device))                          \
  X(device_attribute, "cuDeviceGetAttribute", (int* value, int attribute, int device))             \
  X(device_memory, "cuDeviceTotalMem_v2", (size_t * bytes, int device))                            \
  X(device_bus_id, "cuDeviceGetPCIBusId", (char* text, int length, int device))                    \
  X(context_retain, "cuDevicePrimaryCtxRetain", (CUctx_st * *context, int device))                 \
  X(context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                                 \
  X(context_set, "cuCtxSetCurrent", (CUctx_st * context))                                          \
  X(context_synchronize, "cuCtxSynchronize", ())                                                   \
  X(module_load, "cuModuleLoadDataEx",                                                             \
    (CUmod_st * *module, const void* image, unsigned options, int* names, void** values))          \
  X(link_create, "cuLinkCreate_v2",                                                                \
    (unsigned options, int* names, void** values, CUlinkState_st** state))                         \
  X(link_add, "cuLinkAddData_v2",                                                                  \
    (CUlinkState_st * state, int kind, void* data, size_t bytes, const char* name,                 \
     unsigned options, int* names, void** values))                                                 \
  X(link_complete, "cuLinkComplete", (CUlinkState_st * state, void** cubin, size_t* bytes))        \
  X(link_destroy, "cuLinkDestroy", (CUlinkState_st * state))                                       \
  X(module_unload, "cuModuleUnload", (CUmod_st * module))                                          \
  X(module_function, "cuModuleGetFunction",                                                        \
    (CUfunc_st * *function, CUmod_st * module, const char* name))                                  \
  X(function_attribute, "cuFuncGetAttribute", (int* value, int attribute, CUfunc_st* function))    \
  X(function_set_attribute, "cuFuncSetAttribute",                                                  \
    (CUfunc_st * function, int attribute, int value))                                              \
  X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                      \
    (int* blocks, CUfunc_st* function, int block_size, size_t shared_bytes))                       \
  X(launch, "cuLaunchKernelEx",                                                                    \
    (const LaunchConfig* config, CUfunc_st* function, void** arguments, void** extra))             \
  X(memory_allocate, "cuMemAlloc_v2", (DeviceAddress * address, size_t bytes))                     \
  X(memory_free, "cuMemFree_v2", (DeviceAddress address))                                          \
  X(memory_info, "cuMemGetInfo_v2", (size_t * free, size_t * total))                               \
  X(copy_in, "cuMemcpyHtoDAsync_v2",                                                               \
    (DeviceAddress to, const void* from, size_t bytes, CUstream_st* stream))                       \
  X(copy_out, "cuMemcpyDtoHAsync_v2",                                                              \
    (void* to, DeviceAddress from, size_t bytes, CUstream_st* stream))                             \
  X(copy_across, "cuMemcpyDtoDAsync_v2",                                                           \
    (DeviceAddress to, DeviceAddress from, size_t bytes, CUstream_st * stream))                    \
  X(fill_bytes, "cuMemsetD8Async",                                                                 \
    (DeviceAddress to, unsigned char value, size_t count, CUstream_st* stream))                    \
  X(stream_create, "cuStreamCreate", (CUstream_st * *stream, unsigned flags))                      \
  X(stream_destroy, "cuStreamDestroy_v2", (CUstream_st * stream))                                  \
  X(stream_synchronize, "cuStreamSynchronize", (CUstream_st * stream))                             \
  X(capture_begin, "cuStreamBeginCapture_v2", (CUstream_st * stream, int mode))                    \
  X(capture_end, "cuStreamEndCapture", (CUstream_st * stream, CUgraph_st * *graph))                \
  X(event_create, "cuEventCreate", (CUevent_st * *event, unsigned flags))                          \
  X(event_destroy, "cuEventDestroy_v2", (CUevent_st * event))                                      \
  X(event_record, "cuEventRecord", (CUevent_st * event, CUstream_st * stream))                     \
  X(event_query, "cuEventQuery", (CUevent_st * event))                                             \
  X(event_elapsed, "cuEventElapsedTime",                                                           \
    (float* milliseconds, CUevent_st* start, CUevent_st* end))                                     \
  X(graph_instantiate, "cuGraphInstantiateWithFlags",                                              \
    (CUgraphExec_st * *executable, CUgraph_st * graph, unsigned long long flags))                  \
  X(graph_nodes, "cuGraphGetNodes", (CUgraph_st * graph, CUgraphNode_st * *nodes, size_t * count)) \
  X(graph_launch, "cuGraphLaunch", (CUgraphExec_st * executable, CUstream_st * stream))            \
  X(graph_destroy, "cuGraphDestroy", (CUgraph_st * graph))                                         \
  X(graph_executable_destroy, "cuGraphExecDestroy", (CUgraphExec_st * executable))                 \
  X(tensor_map_encode, "cuTensorMapEncodeTiled",                                                   \
    (TensorMap * map, int element, uint32_t rank, void* address, const uint64_t* sizes,            \
     const uint64_t* strides, const uint32_t* box, const uint32_t* element_strides,                \
     int interleave, int swizzle, int promotion, int fill))

struct Driver {
#define NAMESAKE_DECLARE(name, symbol, parameters) int(*name) parameters = nullptr;
  NAMESAKE_DRIVER_FUNCTIONS(NAMESAKE_DECLARE)
#undef NAMESAKE_DECLARE
};

}  // namespace namesake::gpu
