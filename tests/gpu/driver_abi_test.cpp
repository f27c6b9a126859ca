// Our declarations against cuda.h, where it is installed.
#include "gpu/driver_api.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>

#include <cstddef>
#include <type_traits>

namespace gpu = namesake::gpu;

namespace {

TEST(DriverAbi, EveryFunctionTakesTheParametersThatCudaHDeclares) {
  // Same number of parameters, each of the same size: enumerations are ints, handles are pointers.
  const auto same = []<class... Ours, class... Theirs>(int (*)(Ours...), CUresult (*)(Theirs...)) {
    if constexpr (sizeof...(Ours) != sizeof...(Theirs)) {
      return false;
    } else {
      return ((sizeof(Ours) == sizeof(Theirs) &&
               std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>)&&...);
    }
  };
#define EXPECT_SAME(name, function) EXPECT_TRUE(same(gpu::Driver{}.name, &function)) << #function
  EXPECT_SAME(init, cuInit);
  EXPECT_SAME(device_attribute, cuDeviceGetAttribute);
  EXPECT_SAME(device_memory, cuDeviceTotalMem);
  EXPECT_SAME(device_bus_id, cuDeviceGetPCIBusId);
  EXPECT_SAME(context_retain, cuDevicePrimaryCtxRetain);
  EXPECT_SAME(context_release, cuDevicePrimaryCtxRelease);
  EXPECT_SAME(module_load, cuModuleLoadDataEx);
  EXPECT_SAME(module_function, cuModuleGetFunction);
  EXPECT_SAME(function_attribute, cuFuncGetAttribute);
  EXPECT_SAME(function_set_attribute, cuFuncSetAttribute);
  EXPECT_SAME(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor);
  EXPECT_SAME(launch, cuLaunchKernelEx);
  EXPECT_SAME(memory_allocate, cuMemAlloc);
  EXPECT_SAME(copy_in, cuMemcpyHtoDAsync);
  EXPECT_SAME(copy_out, cuMemcpyDtoHAsync);
  EXPECT_SAME(copy_across, cuMemcpyDtoDAsync);
  EXPECT_SAME(fill_bytes, cuMemsetD8Async);
  EXPECT_SAME(stream_create, cuStreamCreate);
  EXPECT_SAME(capture_begin, cuStreamBeginCapture);
  EXPECT_SAME(capture_end, cuStreamEndCapture);
  EXPECT_SAME(event_create, cuEventCreate);
  EXPECT_SAME(event_elapsed, cuEventElapsedTime);
  EXPECT_SAME(graph_instantiate, cuGraphInstantiateWithFlags);
  EXPECT_SAME(graph_nodes, cuGraphGetNodes);
  EXPECT_SAME(graph_launch, cuGraphLaunch);
  EXPECT_SAME(tensor_map_encode, cuTensorMapEncodeTiled);
#undef EXPECT_SAME
}

TEST(DriverAbi, ConstantsAreThoseOfCudaH) {
  EXPECT_EQ(gpu::kErrorNoDevice, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(gpu::kErrorNotReady, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(gpu::kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(gpu::kL2CacheBytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  EXPECT_EQ(gpu::kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(gpu::kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(gpu::kMaxSharedBytesPerBlockOptin,
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  EXPECT_EQ(gpu::kMaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  EXPECT_EQ(gpu::kSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  EXPECT_EQ(gpu::kConstantBytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  EXPECT_EQ(gpu::kLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  EXPECT_EQ(gpu::kRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS);
  EXPECT_EQ(gpu::kBinaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  EXPECT_EQ(gpu::kMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_EQ(gpu::kNonPortableClusterAllowed, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  EXPECT_EQ(gpu::kJitErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
  EXPECT_EQ(gpu::kJitErrorLogBufferBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  EXPECT_EQ(gpu::kLaunchClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(gpu::kTensorU8, CU_TENSOR_MAP_DATA_TYPE_UINT8);
  EXPECT_EQ(gpu::kTensorU16, CU_TENSOR_MAP_DATA_TYPE_UINT16);
  EXPECT_EQ(gpu::kTensorU32, CU_TENSOR_MAP_DATA_TYPE_UINT32);
  EXPECT_EQ(gpu::kTensorS32, CU_TENSOR_MAP_DATA_TYPE_INT32);
  EXPECT_EQ(gpu::kTensorU64, CU_TENSOR_MAP_DATA_TYPE_UINT64);
  EXPECT_EQ(gpu::kTensorS64, CU_TENSOR_MAP_DATA_TYPE_INT64);
  EXPECT_EQ(gpu::kTensorF16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
  EXPECT_EQ(gpu::kTensorF32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
  EXPECT_EQ(gpu::kTensorF64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64);
  EXPECT_EQ(gpu::kTensorBF16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(gpu::kSwizzle128, CU_TENSOR_MAP_SWIZZLE_128B);
  EXPECT_EQ(gpu::kSwizzle32, CU_TENSOR_MAP_SWIZZLE_32B);
  EXPECT_EQ(gpu::kPromoteL2_256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  EXPECT_EQ(gpu::kFillNan, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
  EXPECT_EQ(gpu::kStreamNonBlocking, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(gpu::kCaptureThreadLocal, static_cast<int>(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

TEST(DriverAbi, LayoutsAreThoseOfCudaH) {
  EXPECT_EQ(sizeof(gpu::LaunchConfig), sizeof(CUlaunchConfig));
  EXPECT_EQ(offsetof(gpu::LaunchConfig, shared_bytes), offsetof(CUlaunchConfig, sharedMemBytes));
  EXPECT_EQ(offsetof(gpu::LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
  EXPECT_EQ(offsetof(gpu::LaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
  EXPECT_EQ(offsetof(gpu::LaunchConfig, attribute_count), offsetof(CUlaunchConfig, numAttrs));
  EXPECT_EQ(sizeof(gpu::LaunchAttribute), sizeof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(gpu::LaunchAttribute, value), offsetof(CUlaunchAttribute, value));
  EXPECT_EQ(sizeof(gpu::TensorMap), sizeof(CUtensorMap));
  EXPECT_EQ(alignof(gpu::TensorMap), 64u);
}

}  // namespace

#else

TEST(DriverAbi, EveryFunctionTakesTheParametersThatCudaHDeclares) {
  GTEST_SKIP()
      << "cuda.h is not installed here: configure with -DCUDA_INCLUDE=FOLDER to compare with it";
}

#endif
