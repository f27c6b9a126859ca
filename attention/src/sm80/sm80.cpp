#include "sm80.h"

#include <limits>

#include "../combine.h"
#include "../describe.h"
#include "kernels.h"
#include "tile.h"

namespace namesake::attention::sm80 {
namespace {

int padded(int head_dim) {
  return head_dim <= 64 ? 64 : head_dim <= 128 ? 128 : 256;
}

int64_t tiles_per_head(const Problem& p) {
  const int rows = padded(p.head_dim) == 256 ? Tile<256>::kRows : Tile<128>::kRows;
  static_assert(Tile<64>::kRows == Tile<128>::kRows);
  return (p.seqlen_q + int64_t{rows} - 1) / rows;
}

bool rows_are_aligned(const Tensor& t) {
  constexpr int kElements = 16 / kElementBytes;
  return reinterpret_cast<uintptr_t>(t.data) % 16 == 0 && t.stride_batch % kElements == 0 &&
         t.stride_seq % kElements == 0 && t.stride_head % kElements == 0;
}

template <int kHeadDim>
void choose(const Problem& p, const DeviceInfo& device, Plan& plan) {
  using T = Tile<kHeadDim>;
  if (p.key_splits == 0) {
    plan.launch.problem.key_splits =
        splits_to_fill(tiles_per_head(p) * p.batch * p.heads_q,
                       int64_t{device.sm_count} * T::kBlocksPerMultiprocessor,
                       (int64_t{p.seqlen_kv} + T::kKeys - 1) / T::kKeys);
  }
  plan.kernel = p.dtype == DType::bf16 ? kernel_function<kHeadDim, static_cast<int>(DType::bf16)>()
                                       : kernel_function<kHeadDim, static_cast<int>(DType::fp16)>();
  plan.shared_bytes = Tile<kHeadDim>::kSharedBytes;
  plan.padded_head_dim = kHeadDim;
}

}  // namespace

bool supports(const Problem& p, const DeviceInfo& device, std::string* why) {
  const auto no = [&](std::string reason) {
    if (why) *why = std::move(reason);
    return false;
  };
  if (is_fp8(p.dtype)) return no("the portable kernel takes no fp8: the Hopper kernel does");
  if (device.major < 8)
    return no("the portable kernel needs compute capability 8.0, and device " +
              std::to_string(device.ordinal) + " has " + std::to_string(device.major) + "." +
              std::to_string(device.minor));
  const int shared = padded(p.head_dim) == 256   ? Tile<256>::kSharedBytes
                     : padded(p.head_dim) == 128 ? Tile<128>::kSharedBytes
                                                 : Tile<64>::kSharedBytes;
  if (device.max_smem_per_block < shared)
    return no("the portable kernel needs " + std::to_string(shared) +
              " bytes of shared memory at head_dim " + std::to_string(p.head_dim) +
              ", and device " + std::to_string(device.ordinal) + " gives a block " +
              std::to_string(device.max_smem_per_block));
  // Written as a division: the product of the three may exceed 64 bits.
  const int64_t most = std::numeric_limits<int32_t>::max();
  const int64_t splits = p.key_splits > 1 ? p.key_splits : 1;
  const int64_t pairs = int64_t{p.batch} * p.heads_q;
  if (pairs > most || (pairs > 0 && tiles_per_head(p) > most / pairs / splits) ||
      (splits > 1 && !combine_fits(p)))
    return no("batch × heads_q × seqlen_q is more than one launch can hold: split the batch");
  return true;
}

Plan plan(const Problem& p, const DeviceInfo& device) {
  Plan plan;
  plan.launch.problem = p;
  plan.launch.tiles_per_head = static_cast<int32_t>(tiles_per_head(p));
  plan.launch.aligned = rows_are_aligned(p.q) && rows_are_aligned(p.k) && rows_are_aligned(p.v) &&
                        rows_are_aligned(p.o);
  plan.threads = kThreads;
  switch (padded(p.head_dim)) {
    case 64:
      choose<64>(p, device, plan);
      break;
    case 128:
      choose<128>(p, device, plan);
      break;
    default:
      choose<256>(p, device, plan);
      break;
  }
  plan.blocks = static_cast<uint32_t>(tiles_per_head(p) * p.batch * p.heads_q *
                                      plan.launch.problem.key_splits);
  return plan;
}

size_t workspace_bytes(const Plan& plan) {
  return partials_bytes(plan.launch.problem);
}

cudaError_t launch(const Plan& plan, void* workspace, cudaStream_t stream) {
  if (plan.blocks == 0) return cudaSuccess;
  // Per device and cheap, so it is said at every launch and nothing needs to be remembered.
  cudaError_t error = cudaFuncSetAttribute(plan.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           plan.shared_bytes);
  if (error != cudaSuccess) return error;
  Launch launch = plan.launch;
  launch.partials = partials_at(launch.problem, workspace);
  void* arguments[] = {&launch};
  error = cudaLaunchKernel(plan.kernel, dim3(plan.blocks), dim3(plan.threads), arguments,
                           plan.shared_bytes, stream);
  if (error != cudaSuccess || launch.problem.key_splits <= 1) return error;
  return combine(launch.problem, launch.partials, stream);
}

std::string describe(const Plan& plan) {
  return "sm80::forward<" + std::string(name(plan.launch.problem.dtype)) + ", " +
         std::to_string(plan.padded_head_dim) + "> grid " + std::to_string(plan.blocks) +
         " block " + std::to_string(plan.threads) + " shared " + std::to_string(plan.shared_bytes) +
         " tiles_per_head " + std::to_string(plan.launch.tiles_per_head) + " aligned " +
         std::to_string(plan.launch.aligned) + " " + describe(plan.launch.problem);
}

}  // namespace namesake::attention::sm80
