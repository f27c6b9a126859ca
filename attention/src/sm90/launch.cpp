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
  CUresult result = encoder(
      out,
      map.dtype == DType::fp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
      4, map.address ? map.address : stand_in, map.size, map.stride_bytes, map.box, kElementStrides,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

Steps steps(const TensorMap& map) {
  return {map.size[2] > 1 ? 1 : 0, map.size[3] > 1 ? 1 : 0};
}

template <int kHeadDim>
const void* kernel_of(const TileConfig& tile) {
  return tile.dtype == DType::bf16 ? sm90::kernel_of<kHeadDim, true>(tile.causal)
                                   : sm90::kernel_of<kHeadDim, false>(tile.causal);
}

const void* kernel_for(const TileConfig& tile) {
  if (tile.head_dim == 64) return kernel_of<64>(tile);
  if (tile.head_dim == 128) return kernel_of<128>(tile);
  return kernel_of<256>(tile);
}

}  // namespace

cudaError_t launch_kernel(const void* function, const Plan& plan, void* workspace,
                          cudaStream_t stream) {
  if (plan.grid == 0) return cudaSuccess;

  EncodeTiled encoder = nullptr;
  cudaError_t error = find_encoder(&encoder);
  if (error != cudaSuccess) return error;
  Params params;
  void* stand_in = plan.o.address;  // for K and V without a single row, which are never loaded
  if ((error = encode(encoder, plan.q, stand_in, &params.q)) != cudaSuccess) return error;
  if ((error = encode(encoder, plan.k, stand_in, &params.k)) != cudaSuccess) return error;
  if ((error = encode(encoder, plan.v, stand_in, &params.v)) != cudaSuccess) return error;
  if ((error = encode(encoder, plan.o, stand_in, &params.o)) != cudaSuccess) return error;
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
  params.partials = partials_at(plan.problem, static_cast<char*>(workspace) + counter_bytes(plan));

  error = cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               plan.tile.shared_bytes());
  if (error != cudaSuccess) return error;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(plan.grid);
  config.blockDim = dim3(plan.tile.threads());
  config.dynamicSmemBytes = plan.tile.shared_bytes();
  config.stream = stream;
  // The kernel waits for earlier grids itself, before it touches memory.
  cudaLaunchAttribute overlap;
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &overlap;
  config.numAttrs = 1;
  void* arguments[] = {&params};
  error = cudaLaunchKernelExC(&config, function, arguments);
  if (error != cudaSuccess || plan.problem.key_splits <= 1) return error;
  return combine(plan.problem, params.partials, stream);
}

cudaError_t launch(const Plan& plan, void* workspace, cudaStream_t stream) {
  return launch_kernel(kernel_for(plan.tile), plan, workspace, stream);
}

}  // namespace namesake::attention::sm90
