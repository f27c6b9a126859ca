// The sum of each row of a matrix: one block a row.
//
// Every thread strides along the row with four sums of its own (so that additions need not wait for
// each other), the warp adds its lanes by shuffles, the first warp adds the warps' results.
//
// What it shows: a loop over memory followed by a fixed tree of additions, and no reaction: the
// counterpart of layer_norm.cu, which does almost the same and reacts.
//
// in is rows x columns, row-major, out one sum a row; columns is any number.

namespace {
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

__device__ float sum_of_warp(float value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffff, value, distance);
  return value;
}
}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    reduce_rows(const float* in, float* out, int columns) {
  __shared__ float of_warp[kWarps];

  in += static_cast<size_t>(blockIdx.x) * columns;
  float sum[4] = {};
  int column = threadIdx.x;
  for (; column + 3 * kThreads < columns; column += 4 * kThreads)
    for (int i = 0; i < 4; i++) sum[i] += in[column + i * kThreads];
  for (; column < columns; column += kThreads) sum[0] += in[column];

  const float warp_sum = sum_of_warp((sum[0] + sum[1]) + (sum[2] + sum[3]));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = warp_sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    const float total = sum_of_warp(threadIdx.x < kWarps ? of_warp[threadIdx.x] : 0);
    if (threadIdx.x == 0) out[blockIdx.x] = total;
  }
}
