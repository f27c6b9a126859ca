// Each warp weighs the parts of one row: their LSEs say by how much, and the weighted sum of the
// outputs is the output. What there is to do is to read the partials once, from L2 mostly. An fp8
// call's scales are in the partials already.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "combine.h"
#include "sequence.h"

namespace namesake::attention {
namespace split {

constexpr int kThreads = 128;
constexpr int kRowsOfBlock = kThreads / 32;
constexpr int kColumns = 4;                     // of a lane at a time
constexpr int kChunks = 256 / (32 * kColumns);  // of such columns, at the largest head_dim

__device__ inline void put(__half* to, float x) {
  *to = __float2half_rn(x);
}
__device__ inline void put(__nv_bfloat16* to, float x) {
  *to = __float2bfloat16_rn(x);
}
__device__ inline void put(__nv_fp8_e4m3* to, float x) {
  to->__x = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
}
__device__ inline void put(__nv_fp8_e5m2* to, float x) {
  to->__x = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
}

template <typename Element>
__global__ void __launch_bounds__(kThreads)
    combine(const __grid_constant__ Problem p, const __grid_constant__ Partials partials) {
  const int lane = threadIdx.x % 32;
  const int64_t index = int64_t{blockIdx.x} * kRowsOfBlock + threadIdx.x / 32;
  const int row = static_cast<int>(index % p.seqlen_q);
  const int64_t pair = index / p.seqlen_q;
  const int head = static_cast<int>(pair % p.heads_q);
  const int64_t batch = pair / p.heads_q;
  if (batch >= p.batch) return;
  const Sequence s = sequence_of(p, static_cast<int>(batch));
  if (row >= s.length_q) return;
  const int64_t first = partial_row(p, 0, static_cast<int>(batch), head, s.first_q + row);
  const int64_t step = partial_rows(p);

  float top = -INFINITY;
  for (int part = lane; part < p.key_splits; part += 32)
    top = fmaxf(top, partials.lse[first + part * step]);
#pragma unroll
  for (int d = 16; d > 0; d /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
  const float around = top == -INFINITY ? 0.0f : top;

  float sum = 0.0f, output[kChunks][kColumns] = {};
  for (int part0 = 0; part0 < p.key_splits; part0 += 32) {
    const int own = part0 + lane;
    const float weight =
        own < p.key_splits ? __expf(partials.lse[first + own * step] - around) : 0.0f;
    for (int i = 0; i < 32 && part0 + i < p.key_splits; i++) {
      const float w = __shfl_sync(~0u, weight, i);
      if (w == 0.0f) continue;  // a part without a key
      sum += w;
      const float* from = partials.o + (first + (part0 + i) * step) * p.head_dim;
#pragma unroll
      for (int chunk = 0; chunk < kChunks; chunk++) {
        const int column = (chunk * 32 + lane) * kColumns;
        if (column >= p.head_dim) continue;
        const float4 x = *reinterpret_cast<const float4*>(from + column);
        output[chunk][0] += w * x.x;
        output[chunk][1] += w * x.y;
        output[chunk][2] += w * x.z;
        output[chunk][3] += w * x.w;
      }
    }
  }

  const bool empty = sum == 0.0f;
  const float inverse = empty ? 0.0f : 1.0f / sum;
  auto* to = static_cast<Element*>(p.o.data) +
             offset_of(p.o, static_cast<int>(batch), s.first_q + row, head);
#pragma unroll
  for (int chunk = 0; chunk < kChunks; chunk++) {
    const int column = (chunk * 32 + lane) * kColumns;
    if (column >= p.head_dim) continue;
#pragma unroll
    for (int j = 0; j < kColumns; j++) put(to + column + j, output[chunk][j] * inverse);
  }
  if (p.lse && lane == 0) {
    p.lse[batch * p.lse_stride_batch + head * p.lse_stride_head + s.first_q + row] =
        empty ? -INFINITY : around + logf(sum);
  }
}

const void* kernel_for(DType o_dtype) {
  switch (o_dtype) {
    case DType::fp16:
      return reinterpret_cast<const void*>(&combine<__half>);
    case DType::bf16:
      return reinterpret_cast<const void*>(&combine<__nv_bfloat16>);
    case DType::e4m3:
      return reinterpret_cast<const void*>(&combine<__nv_fp8_e4m3>);
    case DType::e5m2:
      return reinterpret_cast<const void*>(&combine<__nv_fp8_e5m2>);
  }
  return nullptr;
}

int64_t blocks(const Problem& p) {
  return (int64_t{p.batch} * p.heads_q * p.seqlen_q + kRowsOfBlock - 1) / kRowsOfBlock;
}

}  // namespace split

bool combine_fits(const Problem& p) {
  return int64_t{p.batch} * p.heads_q <= (int64_t{1} << 31) / (p.seqlen_q > 0 ? p.seqlen_q : 1);
}

cudaError_t combine(const Problem& p, const Partials& partials, cudaStream_t stream) {
  const void* kernel = split::kernel_for(p.o_dtype);
  void* arguments[] = {const_cast<Problem*>(&p), const_cast<Partials*>(&partials)};
  return cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(split::blocks(p))),
                          dim3(split::kThreads), arguments, 0, stream);
}

}  // namespace namesake::attention
