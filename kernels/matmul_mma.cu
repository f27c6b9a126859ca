// C = A * B in half precision on Ampere's tensor cores: cp.async, ldmatrix, mma.sync.
//
// A block of eight warps owns a 128 x 128 tile of C, a warp 64 x 32 of it. Slices of A and B, 32
// deep, arrive three stages ahead by cp.async; ldmatrix turns them into fragments, 16 mma.sync a
// warp consume each 16 of k. Rows in shared memory are swizzled (16-byte chunks exchanged by an XOR
// of the row), so that neither the copies nor ldmatrix meet a bank twice.
//
// What it shows: the tensor-core kernel that most GPUs in use run. Its arithmetic is fixed by the
// mma instructions; what the name changes is the integer work around them, and that on some
// architectures only.
//
// A is m x k, B k x n, C m x n, all row-major; m and n are multiples of 128, k of 32. Sums are
// single precision. Shared memory: 3 * 16,384 bytes.

#include <cuda_fp16.h>

#include <cstdint>

namespace {
constexpr int kTile = 128;  // of C, per block, both ways
constexpr int kDepth = 32;  // of k, per step
constexpr int kStages = 3;
constexpr int kThreads = 256;
constexpr int kTileBytes = kTile * kDepth * 2;  // of A, and of B
constexpr int kChunk = 8;                       // halves in 16 bytes

__device__ uint32_t a_address(uint32_t tile, int row, int chunk) {
  return tile + row * (kDepth * 2) + ((chunk ^ (row / 2 % 4)) << 4);
}

__device__ uint32_t b_address(uint32_t tile, int row, int chunk) {
  return tile + row * (kTile * 2) + ((chunk ^ (row % 8)) << 4);
}

__device__ void copy16(uint32_t shared, const half* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global));
}

__device__ void copy_slices(uint32_t tile, const half* a, const half* b, int n, int k) {
  for (int i = threadIdx.x; i < kTile * kDepth / kChunk; i += kThreads) {
    const int row = i / 4, chunk = i % 4;
    copy16(a_address(tile, row, chunk), a + static_cast<size_t>(row) * k + chunk * kChunk);
  }
  for (int i = threadIdx.x; i < kTile * kDepth / kChunk; i += kThreads) {
    const int row = i / 16, chunk = i % 16;
    copy16(b_address(tile + kTileBytes, row, chunk),
           b + static_cast<size_t>(row) * n + chunk * kChunk);
  }
}

__device__ void load_fragment(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
}

__device__ void load_fragment_transposed(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
}

__device__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    matmul_mma_f16(const half* a, const half* b, half* c, int m, int n, int k) {
  extern __shared__ __align__(128) uint8_t shared[];
  const uint32_t tiles = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;

  a += static_cast<size_t>(blockIdx.y) * kTile * k;
  b += blockIdx.x * kTile;
  const int steps = k / kDepth;

  for (int stage = 0; stage < kStages - 1; stage++) {
    if (stage < steps)
      copy_slices(tiles + stage * 2 * kTileBytes, a + stage * kDepth,
                  b + static_cast<size_t>(stage) * kDepth * n, n, k);
    asm volatile("cp.async.commit_group;");
  }

  float sum[4][4][4] = {};
  for (int step = 0; step < steps; step++) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2));
    __syncthreads();
    const int next = step + kStages - 1;
    if (next < steps)
      copy_slices(tiles + next % kStages * 2 * kTileBytes, a + next * kDepth,
                  b + static_cast<size_t>(next) * kDepth * n, n, k);
    asm volatile("cp.async.commit_group;");

    const uint32_t a_tile = tiles + step % kStages * 2 * kTileBytes, b_tile = a_tile + kTileBytes;
#pragma unroll
    for (int depth = 0; depth < kDepth; depth += 16) {
      uint32_t left[4][4], right[2][4];
#pragma unroll
      for (int i = 0; i < 4; i++)
        load_fragment(left[i],
                      a_address(a_tile, warp_row + i * 16 + lane % 16, depth / kChunk + lane / 16));
#pragma unroll
      for (int j = 0; j < 2; j++)
        load_fragment_transposed(right[j], b_address(b_tile, depth + lane % 16,
                                                     (warp_column + j * 16) / kChunk + lane / 16));
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
          multiply(sum[i][j], left[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
    }
  }

  const int row = blockIdx.y * kTile + warp_row + lane / 4;
  const int column = blockIdx.x * kTile + warp_column + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++)
#pragma unroll
      for (int part = 0; part < 2; part++)
        *reinterpret_cast<half2*>(
            &c[static_cast<size_t>(row + i * 16 + part * 8) * n + column + j * 8]) =
            __floats2half2_rn(sum[i][j][part * 2], sum[i][j][part * 2 + 1]);
}
