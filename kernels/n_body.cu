// Gravity among n bodies, all pairs: the arithmetic-bound kernel of every CUDA course.
//
// A thread owns one body and sums the pull of all others, which pass by in tiles of shared memory,
// one tile a block's width long. Per pair: three differences, a reciprocal square root, nine
// multiply-adds; next to no memory traffic.
//
// What it shows: a fifth of the speed and more, lost to a name in an inner loop of plain floating
// point whose only integer work are addresses in shared memory.
//
// A body is {x, y, z, mass}, an acceleration {x, y, z, 0}; n is a multiple of the block's width.

namespace {
constexpr int kThreads = 256;
constexpr float kSoftening = 1e-3f;  // squared; keeps a body's pull on itself at zero, not at 0/0
}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    n_body_forces(const float4* bodies, float4* accelerations, int n) {
  __shared__ float4 tile[kThreads];

  const int body = blockIdx.x * kThreads + threadIdx.x;
  const float4 self = bodies[body];
  float3 sum = {0, 0, 0};

  for (int first = 0; first < n; first += kThreads) {
    tile[threadIdx.x] = bodies[first + threadIdx.x];
    __syncthreads();
#pragma unroll 32
    for (int i = 0; i < kThreads; i++) {
      const float4 other = tile[i];
      const float x = other.x - self.x, y = other.y - self.y, z = other.z - self.z;
      const float inverse = rsqrtf(x * x + y * y + z * z + kSoftening);
      const float pull = other.w * inverse * inverse * inverse;
      sum.x += pull * x;
      sum.y += pull * y;
      sum.z += pull * z;
    }
    __syncthreads();
  }
  accelerations[body] = make_float4(sum.x, sum.y, sum.z, 0);
}
