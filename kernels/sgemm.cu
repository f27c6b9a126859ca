// C = A * B in single precision: the classic tiled matrix multiplication of plain CUDA.
//
// A block owns a 128 x 128 tile of C, a thread 8 x 8 of it: four neighbouring rows and columns in
// each half of the tile, so that a warp's reads of shared memory meet no bank twice. Per step of 8
// along k the block stages a slice of A (transposed) and of B; while it multiplies them, the next
// slices are on their way into registers.
//
// What it shows: no tensor core, no inline assembly, nothing that belongs to any library, and yet
// the name decides about a quarter of its speed. Treated, the assembler keeps addresses of the
// results in registers throughout the loop (the launch bounds let it, they ask for one block a
// multiprocessor); half as many threads fit then.
//
// A is m x k, B k x n, C m x n, all row-major; m and n are multiples of 128, k of 8.

namespace {
constexpr int kTile = 128;  // of C, per block, both ways
constexpr int kDepth = 8;   // of k, per step
constexpr int kPatch = 8;   // of C, per thread, both ways
constexpr int kThreads = 256;

// The i-th of a thread's rows or columns.
__device__ int place(int thread, int i) {
  return thread * 4 + i / 4 * (kTile / 2) + i % 4;
}
}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    sgemm_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float a_slice[kDepth][kTile];
  __shared__ float b_slice[kDepth][kTile];

  const int thread = threadIdx.x;
  const int down = thread / (kTile / kPatch), across = thread % (kTile / kPatch);

  // What this thread stages: four neighbours of A's slice along k, four of B's along n.
  const int a_row = thread / 2, a_depth = thread % 2 * 4;
  const int b_depth = thread / 32, b_column = thread % 32 * 4;

  a += blockIdx.y * kTile * k + a_row * k + a_depth;
  b += blockIdx.x * kTile + b_depth * n + b_column;
  c += blockIdx.y * kTile * n + blockIdx.x * kTile;

  float4 a_next = *reinterpret_cast<const float4*>(a);
  float4 b_next = *reinterpret_cast<const float4*>(b);
  float sum[kPatch][kPatch] = {};
  for (int step = 0; step < k; step += kDepth) {
    a_slice[a_depth + 0][a_row] = a_next.x;
    a_slice[a_depth + 1][a_row] = a_next.y;
    a_slice[a_depth + 2][a_row] = a_next.z;
    a_slice[a_depth + 3][a_row] = a_next.w;
    *reinterpret_cast<float4*>(&b_slice[b_depth][b_column]) = b_next;
    __syncthreads();
    if (step + kDepth < k) {
      a_next = *reinterpret_cast<const float4*>(&a[step + kDepth]);
      b_next = *reinterpret_cast<const float4*>(&b[(step + kDepth) * n]);
    }

#pragma unroll
    for (int depth = 0; depth < kDepth; depth++) {
      float left[kPatch], right[kPatch];
#pragma unroll
      for (int i = 0; i < kPatch; i++) left[i] = a_slice[depth][place(down, i)];
#pragma unroll
      for (int j = 0; j < kPatch; j++) right[j] = b_slice[depth][place(across, j)];
#pragma unroll
      for (int i = 0; i < kPatch; i++)
#pragma unroll
        for (int j = 0; j < kPatch; j++) sum[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < kPatch; i++)
#pragma unroll
    for (int j = 0; j < kPatch; j++)
      c[static_cast<size_t>(place(down, i)) * n + place(across, j)] = sum[i][j];
}
