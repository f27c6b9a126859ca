// Many small products on Blackwell's tensor cores, and another code at every assembly.
//
// A block multiplies one 128 x 64 by one 64 x 128 matrix: it copies both into shared memory,
// swizzled by 128 bytes, one thread issues four tcgen05.mma, each 16 deep, all wait for them at an
// mbarrier and carry the sums from tensor memory to global memory.
//
// What it shows: the two descriptors' 64-bit additions are mirror images of each other, and which
// of them gets which uniform register is drawn anew in every run of the assembler (of CUDA 12.8 to
// 13.4; no longer in 13.5): it depends on where memory happens to lie. With address-space
// randomisation off every run repeats, which hides the lottery, but does not end it.
//
// a and b hold 128 x 64 halves a block, c 128 x 128 floats; c = a * b'. Shared memory: 32,768
// bytes. Needs sm_100a.

#include <cuda_fp16.h>

#include <cstdint>

namespace {
constexpr int kTile = 128;
constexpr int kDepth = 64;
constexpr int kThreads = 128;
constexpr int kTileBytes = kTile * kDepth * 2;
constexpr uint64_t kDescriptor = 0x4000404000010000;  // all but the address: swizzled by 128 bytes
constexpr uint32_t kShape = (1u << 4) | (kTile / 8 << 17) | (kTile / 16 << 24);  // f16 in, f32 out

__device__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void copy_tile(uint32_t tile, const half* global) {
  for (int i = threadIdx.x; i < kTile * kDepth / 8; i += kThreads) {
    const int row = i / 8, chunk = i % 8;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(tile + row * 128 +
                                                                   ((chunk ^ (row & 7)) << 4)),
                 "l"(global + i * 8));
  }
}

// In 16 bytes, as a descriptor wants it.
__device__ uint64_t address_field(uint32_t tile) {
  uint32_t field;
  asm("bfe.u32 %0, %1, 4, 14;" : "=r"(field) : "r"(tile));
  return field;
}

__device__ int elect() {
  int elected;
  asm volatile(
      "{\n"
      ".reg .pred me;\n"
      "elect.sync _|me, -1;\n"
      "selp.b32 %0, 1, 0, me;\n"
      "}"
      : "=r"(elected));
  return elected;
}
}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    tcgen05_products(const half* a, const half* b, float* c) {
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ __align__(8) uint64_t done;
  __shared__ uint32_t allocated;
  const uint32_t a_tile = shared_address(shared), b_tile = a_tile + kTileBytes;
  const int warp = threadIdx.x / 32;

  if (warp == 0) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;" ::"r"(
        shared_address(&allocated)));
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&done)));
  copy_tile(a_tile, a + static_cast<size_t>(blockIdx.x) * kTile * kDepth);
  copy_tile(b_tile, b + static_cast<size_t>(blockIdx.x) * kTile * kDepth);
  asm volatile("cp.async.wait_all;");
  asm volatile("fence.proxy.async.shared::cta;");
  asm volatile("tcgen05.fence::before_thread_sync;");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;");
  const uint32_t sums = allocated;

  if (warp == 0) {
    const uint64_t left = address_field(a_tile), right = address_field(b_tile);
    const int elected = elect();
#pragma unroll
    for (int i = 0; i < kDepth / 16; i++)
      asm volatile(
          "{\n"
          ".reg .pred add, me;\n"
          "setp.ne.b32 add, %4, 0;\n"
          "setp.ne.b32 me, %5, 0;\n"
          "@me tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, add;\n"
          "}" ::"r"(sums),
          "l"(left + (kDescriptor + 2 * i)), "l"(right + (kDescriptor + 2 * i)), "r"(kShape),
          "r"(i), "r"(elected));
    if (elected)
      asm volatile(
          "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
              shared_address(&done)));
  }
  asm volatile(
      "{\n"
      ".reg .pred over;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 over, [%0], 0;\n"
      "@!over bra again;\n"
      "}" ::"r"(shared_address(&done))
      : "memory");
  asm volatile("tcgen05.fence::after_thread_sync;");

  // A warp reaches 32 of the 128 lanes of tensor memory; a lane is a row.
  float4* row = reinterpret_cast<float4*>(
      c + (static_cast<size_t>(blockIdx.x) * kTile + threadIdx.x) * kTile);
  for (int column = 0; column < kTile; column += 4) {
    float4 part;
    asm volatile(
        "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];\n"
        "tcgen05.wait::ld.sync.aligned;"
        : "=f"(part.x), "=f"(part.y), "=f"(part.z), "=f"(part.w)
        : "r"(sums + (warp << 21) + column));
    row[column / 4] = part;
  }
  asm volatile("tcgen05.fence::before_thread_sync;");
  __syncthreads();
  if (warp == 0) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" ::"r"(sums));
}
