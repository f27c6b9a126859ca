// Prefix sums of each block's 256 values, by doubling distances in shared memory.
//
// What it shows: eight rounds of barrier, load, add, store. Barriers pin everything to its place;
// it does not react.

namespace {
constexpr int kThreads = 256;
}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads) scan_blocks(const int* in, int* out) {
  __shared__ int sums[kThreads];
  const int at = blockIdx.x * kThreads + threadIdx.x;
  sums[threadIdx.x] = in[at];
  __syncthreads();
  for (int distance = 1; distance < kThreads; distance *= 2) {
    const int left = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
    __syncthreads();
    sums[threadIdx.x] += left;
    __syncthreads();
  }
  out[at] = sums[threadIdx.x];
}
