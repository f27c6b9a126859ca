#include "launch.h"

#include "../combine.h"
#include "kernels.h"
#include "params.h"

namespace namesake::attention::sm90 {
namespace {

constexpr float kLog2E = 1.44269504088896340736f;

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

// The driver's encoder; asked from the runtime, so that nothing links against libcuda.
cudaError_t find_encoder(EncodeTiled* encode) {
  cudaDriverEntryPointQueryResult result;
  void* function = nullptr;
  cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                                       cudaEnableDefault, &result);
  if (error != cudaSuccess) return error;
  if (result != cudaDriverEntryPointSuccess) return cudaErrorCallRequiresNewerDriver;
  *encode = reinterpret_cast<EncodeTiled>(function);
  return cudaSuccess;
}

cudaError_t encode(EncodeTiled encoder, const TensorMap& map, void* stand_in, CUtensorMap* out) {
  static constexpr uint32_t kElementStrides[4] = {1, 1, 1, 1};
  const CUtensorMapDataType type = is_fp8(map.dtype)          ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                   : map.dtype == DType::fp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                                              : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const CUtensorMapSwizzle swizzle = map.swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                     : map.swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                         : CU_TENSOR_MAP_SWIZZLE_32B;
  CUresult result =
      encoder(out, type, 4, map.address ? map.address : stand_in, map.size, map.stride_bytes,
              map.box, kElementStrides, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
              CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

Steps steps(const TensorMap& map) {
  return {map.size[2] > 1 ? 1 : 0, map.size[3] > 1 ? 1 : 0};
}

template <int kHeadDim>
const void* kernel_of(const TileConfig& tile) {
  switch (tile.dtype) {
    case DType::fp16:
      return sm90::kernel_of<kHeadDim, DType::fp16>(tile.causal);
    case DType::bf16:
      return sm90::kernel_of<kHeadDim, DType::bf16>(tile.causal);
    case DType::e4m3:
      return sm90::kernel_of<kHeadDim, DType::e4m3>(tile.causal);
    case DType::e5m2:
      return sm90::kernel_of<kHeadDim, DType::e5m2>(tile.causal);
  }
  return nullptr;
}

const void* kernel_for(const TileConfig& tile) {
  if (tile.ahead) {
    return tile.dtype == DType::e4m3 ? ahead_kernel_of<DType::e4m3>(tile.causal)
                                     : ahead_kernel_of<DType::e5m2>(tile.causal);
  }
  if (tile.head_dim == 64) return kernel_of<64>(tile);
  if (tile.head_dim == 128) return kernel_of<128>(tile);
  return kernel_of<256>(tile);
}

}  // namespace

cudaError_t launch_overlapped(const void* function, dim3 grid, int threads, int shared_bytes,
                              void** arguments, cudaStream_t stream) {
  cudaError_t error =
      cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (error != cudaSuccess) return error;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute overlap;
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &overlap;
  config.numAttrs = 1;
  return cudaLaunchKernelExC(&config, function, arguments);
}

cudaError_t launch_kernel(const void* function, const Plan& plan, void* workspace,
                          cudaStream_t stream) {
  if (plan.grid == 0) return cudaSuccess;

  EncodeTiled encoder = nullptr;
  cudaError_t error = find_encoder(&encoder);
  if (error != cudaSuccess) return error;
  Params params = {};
  void* stand_in = plan.o.address;  // for K and V without a single row, which are never loaded
  if ((error = encode(encoder, plan.q, stand_in, &params.q)) != cudaSuccess) return error;
  if ((error = encode(encoder, plan.k, stand_in, &params.k)) != cudaSuccess) return error;
  if ((error = encode(encoder, plan.v, stand_in, &params.v)) != cudaSuccess) return error;
  if (plan.tile.store_by_copy &&
      (error = encode(encoder, plan.o, stand_in, &params.o)) != cudaSuccess)
    return error;
  params.problem = plan.problem;
  params.q_steps = steps(plan.q);
  params.k_steps = steps(plan.k);
  params.v_steps = steps(plan.v);
  params.heads_per_kv = plan.problem.heads_q / plan.problem.heads_kv;
  params.row_tiles = plan.row_tiles;
  params.section_heads = plan.section_heads;
  params.lengths_vary = plan.lengths_vary;
  params.scale_log2 = plan.problem.softmax_scale * kLog2E;
  params.order = plan.order;
  params.counter = static_cast<TileCounter*>(workspace);
  params.promote_blocks = promote_blocks(plan);
  // Behind one another, each a multiple of 16 bytes but the last.
  char* const sums = static_cast<char*>(workspace) + counter_bytes(plan);
  char* const turned = sums + sums_bytes(plan);
  params.sums = reinterpret_cast<uint4*>(sums);
  params.partials = partials_at(plan.problem, turned + turned_bytes(plan));
  if (plan.tile.ahead) {
    params.turned = turned_at(plan.problem, plan.tile.keys, plan.tile.head_dim, plan.turned_first,
                              plan.turned_group, turned);
  }

  void* arguments[] = {&params};
  error = launch_overlapped(function, dim3(plan.grid), plan.tile.threads(),
                            plan.tile.shared_bytes(), arguments, stream);
  if (error != cudaSuccess || plan.problem.key_splits <= 1) return error;
  return combine(plan.problem, params.partials, stream);
}

cudaError_t launch(const Plan& plan, void* workspace, cudaStream_t stream) {
  return launch_kernel(kernel_for(plan.tile), plan, workspace, stream);
}

}  // namespace namesake::attention::sm90
