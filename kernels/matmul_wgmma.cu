// C = A * B' in half precision on Hopper's tensor cores: TMA, mbarriers, wgmma.
//
// A block of two warpgroups owns a 128 x 128 tile of C, a warpgroup 64 rows of it. One thread asks
// the copy engine (TMA) for 64-deep slices of A and B, four stages ahead; the slices land swizzled
// by 128 bytes, as the descriptors that wgmma reads expect them; a stage is asked for again as soon
// as the products of the step before are known to be done.
//
// What it shows: the copy engine computes the addresses and the tensor core fetches its own
// operands, so little is left around the instructions that a treatment could turn.
//
// A is m x k, B n x k, C m x n, all row-major; m and n are multiples of 128, k of 64. Sums are
// single precision. The tensor maps have boxes of 64 x 128 halves. Shared memory: 4 * 32,768 bytes,
// and 1,024 to align them. Needs sm_90a.

#include <cuda_fp16.h>

#include <cstdint>

struct alignas(64) TensorMap {  // as the driver encodes it
  uint64_t opaque[16];
};

namespace {
constexpr int kTile = 128;  // of C, per block, both ways
constexpr int kDepth = 64;  // of k, per step
constexpr int kStages = 4;
constexpr int kThreads = 256;
constexpr int kTileBytes = kTile * kDepth * 2;  // of A, and of B

__device__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void request(uint32_t tile, const TensorMap* map, int column, int row,
                        uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%4];" ::"r"(tile),
      "l"(map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}

__device__ void expect(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

__device__ void wait(uint32_t barrier, int phase) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(barrier),
      "r"(phase)
      : "memory");
}

// Rows of 128 bytes, swizzled by 128; eight rows are 1,024 bytes.
__device__ uint64_t descriptor(uint32_t tile) {
  return (uint64_t{1} << 62) | (uint64_t{1024 / 16} << 32) | (uint64_t{1} << 16) |
         ((tile & 0x3ffff) >> 4);
}

#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(d, i) FOUR(d, i), FOUR(d, i + 4), FOUR(d, i + 8), FOUR(d, i + 12)

// 64 x 128 += (64 x 16) * (16 x 128)
__device__ void multiply(float (&d)[64], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, 1, 1, 1, 0, 0;"
      : SIXTEEN(d, 0), SIXTEEN(d, 16), SIXTEEN(d, 32), SIXTEEN(d, 48)
      : "l"(a), "l"(b));
}
}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    matmul_wgmma_f16(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                     half* c, int m, int n, int k) {
  extern __shared__ uint8_t shared[];
  __shared__ __align__(8) uint64_t barriers[kStages];
  const uint32_t tiles = (shared_address(shared) + 1023) / 1024 * 1024;
  const uint32_t full = shared_address(barriers);
  const int row = blockIdx.y * kTile, column = blockIdx.x * kTile;
  const int steps = k / kDepth;

  auto fetch = [&](int step) {
    const int stage = step % kStages;
    const uint32_t tile = tiles + stage * 2 * kTileBytes, barrier = full + stage * 8;
    expect(barrier, 2 * kTileBytes);
    request(tile, &a, step * kDepth, row, barrier);
    request(tile + kTileBytes, &b, step * kDepth, column, barrier);
  };

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; stage++)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full + stage * 8));
    asm volatile("fence.mbarrier_init.release.cluster;");
    for (int step = 0; step < kStages - 1 && step < steps; step++) fetch(step);
  }
  __syncthreads();

  const uint32_t my_rows = threadIdx.x / 128 * (64 * kDepth * 2);
  float sum[64] = {};
  for (int step = 0; step < steps; step++) {
    const int stage = step % kStages;
    wait(full + stage * 8, step / kStages % 2);
    const uint64_t left = descriptor(tiles + stage * 2 * kTileBytes + my_rows);
    const uint64_t right = descriptor(tiles + stage * 2 * kTileBytes + kTileBytes);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int i = 0; i < kDepth / 16; i++) multiply(sum, left + i * 2, right + i * 2);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    __syncthreads();  // both warpgroups are done with the step before: its stage is free
    if (threadIdx.x == 0 && step + kStages - 1 < steps) fetch(step + kStages - 1);
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");

  const int lane = threadIdx.x % 32;
  c += static_cast<size_t>(row + threadIdx.x / 32 * 16 + lane / 4) * n + column + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < 16; i++)
#pragma unroll
    for (int part = 0; part < 2; part++)
      *reinterpret_cast<half2*>(c + static_cast<size_t>(part) * 8 * n + i * 8) =
          __floats2half2_rn(sum[i * 4 + part * 2], sum[i * 4 + part * 2 + 1]);
}
