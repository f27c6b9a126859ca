// C = A * B in single precision: the classic tiled matrix multiplication of plain CUDA.
//
// A block owns a 128 x 128 tile of C, a thread 8 x 8 of it. Per step of 8 along k the block stages a
// slice of A (transposed) and of B in shared memory, and each thread multiplies 8 values of one by 8
// of the other: 64 multiply-adds for 16 loads from shared memory.
//
// What it shows: no tensor core, no inline assembly, nothing that belongs to any library, and still
// the kernel's name changes its code. The loop is so tightly packed that a few instructions of
// address arithmetic more or less, or another register order, are felt at once.
//
// A is m x k, B k x n, C m x n, all row-major; m and n are multiples of 128, k of 8.

namespace {
constexpr int kTile = 128;   // of C, per block, both ways
constexpr int kDepth = 8;    // of k, per step
constexpr int kPatch = 8;    // of C, per thread, both ways
constexpr int kThreads = 256;
}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    sgemm_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float a_tile[kDepth][kTile];
  __shared__ float b_tile[kDepth][kTile];

  const int thread = threadIdx.x;
  const int row = thread / (kTile / kPatch) * kPatch;
  const int column = thread % (kTile / kPatch) * kPatch;

  // What this thread stages: four neighbours of A's slice along k, four of B's along n.
  const int a_row = thread / 2, a_depth = thread % 2 * 4;
  const int b_depth = thread / 32, b_column = thread % 32 * 4;

  a += blockIdx.y * kTile * k;
  b += blockIdx.x * kTile;
  c += blockIdx.y * kTile * n + blockIdx.x * kTile;

  float sum[kPatch][kPatch] = {};
  for (int step = 0; step < k; step += kDepth) {
    const float4 a_part = *reinterpret_cast<const float4*>(&a[a_row * k + step + a_depth]);
    const float4 b_part = *reinterpret_cast<const float4*>(&b[(step + b_depth) * n + b_column]);
    a_tile[a_depth + 0][a_row] = a_part.x;
    a_tile[a_depth + 1][a_row] = a_part.y;
    a_tile[a_depth + 2][a_row] = a_part.z;
    a_tile[a_depth + 3][a_row] = a_part.w;
    *reinterpret_cast<float4*>(&b_tile[b_depth][b_column]) = b_part;
    __syncthreads();

#pragma unroll
    for (int depth = 0; depth < kDepth; depth++) {
      float left[kPatch], right[kPatch];
#pragma unroll
      for (int i = 0; i < kPatch; i++) left[i] = a_tile[depth][row + i];
#pragma unroll
      for (int j = 0; j < kPatch; j++) right[j] = b_tile[depth][column + j];
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
    for (int j = 0; j < kPatch; j += 4)
      *reinterpret_cast<float4*>(&c[(row + i) * n + column + j]) =
          make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
}
