// Causal attention in half precision on Ampere's tensor cores: softmax(Q K' / sqrt(64)) V, in which
// a query sees the keys up to its own place.
//
// A block of four warps owns 64 queries of one head, a warp 16 of them. Keys and values pass by in
// tiles of 64; each tile's scores live in the accumulators of one mma.sync chain, become weights
// there (maximum and sum kept per query and corrected as the tiles go by), and enter the second
// chain as its left operand without leaving the registers.
//
// What it shows: two chains of tensor-core work with scalar work between them, about as many values
// alive as there are registers: the kind of kernel on which the name effect was found. It also
// shows how fine the line is: with a loop over all keys, not only over a query's own, the same
// kernel does not react.
//
// q, k, v and out are length x heads x 64; length is a multiple of 64. Shared memory: 32,768 bytes.

#include <cuda_fp16.h>
#include <math_constants.h>

#include <cstdint>

namespace {
constexpr int kTile = 64;   // queries of a block, keys of a step
constexpr int kWidth = 64;  // of a head
constexpr int kThreads = 128;
constexpr int kTileBytes = kTile * kWidth * 2;
constexpr int kStages = 2;
constexpr float kScale = 0.125f * 1.4426950408889634f;  // 1 / sqrt(64), in powers of two

__device__ uint32_t address(uint32_t tile, int row, int chunk) {
  return tile + row * (kWidth * 2) + ((chunk ^ (row % 8)) << 4);
}

__device__ void copy_tile(uint32_t tile, const half* global, int stride) {
  for (int i = threadIdx.x; i < kTile * kWidth / 8; i += kThreads) {
    const int row = i / 8, chunk = i % 8;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(tile, row, chunk)),
                 "l"(global + static_cast<size_t>(row) * stride + chunk * 8));
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

__device__ uint32_t pack(float low, float high) {
  const half2 pair = __floats2half2_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}
}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    attention_mma_f16(const half* q, const half* k, const half* v, half* out, int length,
                      int heads) {
  extern __shared__ __align__(128) uint8_t shared[];
  const uint32_t tiles = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * 16;

  const int stride = heads * kWidth;  // from one query or key to the next
  const size_t first = static_cast<size_t>(blockIdx.x) * kTile * stride + blockIdx.y * kWidth;
  k += blockIdx.y * kWidth;
  v += blockIdx.y * kWidth;

  // The queries pass through the second stage's keys, before those arrive.
  const uint32_t q_tile = tiles + 2 * kTileBytes;
  copy_tile(q_tile, q + first, stride);
  copy_tile(tiles, k, stride);
  copy_tile(tiles + kTileBytes, v, stride);
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  uint32_t query[4][4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    load_fragment(query[i], address(q_tile, warp_row + lane % 16, i * 2 + lane / 16));

  float result[8][4] = {};
  float largest[2] = {-CUDART_INF_F, -CUDART_INF_F}, sum[2] = {};
  const int steps = blockIdx.x + 1;  // later keys have no say
  for (int step = 0; step < steps; step++) {
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    if (step + 1 < steps) {
      const uint32_t next = tiles + (step + 1) % kStages * 2 * kTileBytes;
      copy_tile(next, k + static_cast<size_t>(step + 1) * kTile * stride, stride);
      copy_tile(next + kTileBytes, v + static_cast<size_t>(step + 1) * kTile * stride, stride);
    }
    const uint32_t k_tile = tiles + step % kStages * 2 * kTileBytes, v_tile = k_tile + kTileBytes;

    float score[8][4] = {};
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int j = 0; j < 4; j++) {
        uint32_t key[4];
        load_fragment(key,
                      address(k_tile, j * 16 + lane / 16 * 8 + lane % 8, i * 2 + lane / 8 % 2));
        multiply(score[j * 2], query[i], key[0], key[1]);
        multiply(score[j * 2 + 1], query[i], key[2], key[3]);
      }

    if (step + 1 == steps)
#pragma unroll
      for (int j = 0; j < 8; j++)
#pragma unroll
        for (int i = 0; i < 4; i++)
          if (j * 8 + lane % 4 * 2 + i % 2 > warp_row + lane / 4 + i / 2 * 8)
            score[j][i] = -CUDART_INF_F;

            // A lane holds two queries' scores, [0, 1] and [2, 3] of each fragment; four lanes
            // share a query.
#pragma unroll
    for (int part = 0; part < 2; part++) {
      float maximum = largest[part];
#pragma unroll
      for (int j = 0; j < 8; j++)
        maximum = fmaxf(maximum, fmaxf(score[j][part * 2], score[j][part * 2 + 1]));
      maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffff, maximum, 1));
      maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffff, maximum, 2));
      const float correction = exp2f((largest[part] - maximum) * kScale);
      largest[part] = maximum;
      sum[part] *= correction;
#pragma unroll
      for (int j = 0; j < 8; j++)
#pragma unroll
        for (int i = part * 2; i < part * 2 + 2; i++) {
          score[j][i] = exp2f((score[j][i] - maximum) * kScale);
          sum[part] += score[j][i];
          result[j][i] *= correction;
        }
    }

#pragma unroll
    for (int i = 0; i < 4; i++) {
      const uint32_t weight[4] = {pack(score[i * 2][0], score[i * 2][1]),
                                  pack(score[i * 2][2], score[i * 2][3]),
                                  pack(score[i * 2 + 1][0], score[i * 2 + 1][1]),
                                  pack(score[i * 2 + 1][2], score[i * 2 + 1][3])};
#pragma unroll
      for (int j = 0; j < 4; j++) {
        uint32_t value[4];
        load_fragment_transposed(value, address(v_tile, i * 16 + lane % 16, j * 2 + lane / 16));
        multiply(result[j * 2], weight, value[0], value[1]);
        multiply(result[j * 2 + 1], weight, value[2], value[3]);
      }
    }
  }

#pragma unroll
  for (int part = 0; part < 2; part++) {
    sum[part] += __shfl_xor_sync(0xffffffff, sum[part], 1);
    sum[part] += __shfl_xor_sync(0xffffffff, sum[part], 2);
    const float scale = 1 / sum[part];
    half* row =
        out + first + static_cast<size_t>(warp_row + lane / 4 + part * 8) * stride + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < 8; j++)
      *reinterpret_cast<half2*>(row + j * 8) =
          __floats2half2_rn(result[j][part * 2] * scale, result[j][part * 2 + 1] * scale);
  }
}
