// The portable kernel: FlashAttention's loop on mma.sync, ldmatrix and cp.async, for compute
// capability 8.0 and newer.
//
// A block owns kRows query rows of one head and walks the keys from last to first in tiles, so that
// the tiles a mask cuts come first and the rest of the walk needs none. Scores, probabilities and
// the output stay in registers; K and V have one buffer each: V loads while Q Kᵀ is computed, the
// next K while P V is. A second block on the multiprocessor hides what that leaves open. Whatever
// TMA cannot load comes here, so every address is computed from 64-bit strides, and rows or columns
// that do not exist are zeros in shared memory.
#pragma once

#include "../sequence.h"
#include "launch.h"
#include "ptx.cuh"
#include "tile.h"

namespace namesake::attention::sm80 {

constexpr float kLog2e = 1.4426950408889634f;
constexpr float kLn2 = 0.6931471805599453f;

// Rows [first, first + kRows) of a tensor into shared memory; rows from `limit` on are zeros.
template <typename Element, int kHeadDim, int kRows>
__device__ inline void load_rows(uint32_t shared, const Element* base, int64_t stride, int first,
                                 int limit, int head_dim, bool aligned) {
  constexpr int kChunks = kHeadDim / 8;
  constexpr int kRowsAtOnce = kThreads / kChunks;
  static_assert(kRows % kRowsAtOnce == 0);
  const int chunk = threadIdx.x % kChunks;
  const int row0 = threadIdx.x / kChunks;
  const bool column_exists = chunk * 8 < head_dim;
  const Element* from = base + (first + row0) * stride + chunk * 8;

  if (aligned) {
#pragma unroll
    for (int i = 0; i < kRows / kRowsAtOnce; i++) {
      const int row = row0 + i * kRowsAtOnce;
      const bool exists = column_exists && first + row < limit;
      copy16(shared + tile_offset<kHeadDim>(row, chunk), from, exists);
      from += kRowsAtOnce * stride;
    }
  } else {
#pragma unroll 1
    for (int row = row0; row < kRows; row += kRowsAtOnce) {
      uint32_t pair[4] = {};
      if (column_exists && first + row < limit) {
        auto* element = reinterpret_cast<const uint16_t*>(from);
#pragma unroll
        for (int j = 0; j < 4; j++) pair[j] = element[2 * j] | uint32_t{element[2 * j + 1]} << 16;
      }
      store16(shared + tile_offset<kHeadDim>(row, chunk),
              make_uint4(pair[0], pair[1], pair[2], pair[3]));
      from += kRowsAtOnce * stride;
    }
  }
}

// Shared memory is read in steps of 16 columns: with the swizzle, step s of a 128-byte block is the
// lane's first address with two chunk bits flipped.
__device__ inline uint32_t step_address(uint32_t lane_address, int step) {
  return (lane_address ^ ((step % 4) * 32)) + (step / 4) * 128;
}

// What this block computes. Asked for before the loop and again after it: between the two, the
// registers are better used.
struct Work {
  int32_t batch, head, first_row, rows;
  int32_t part, blocks;  // of the keys, where they are divided (split.h); the blocks it may visit
  Sequence sequence;     // the part's
};

template <int kRows, int kKeys>
__device__ inline Work work_of(const Launch& launch) {
  const Problem& p = launch.problem;
  const int part = block_index() % p.key_splits;
  const int index = block_index() / p.key_splits;
  const int pair = index / launch.tiles_per_head;  // of batch and head
  int tile = index % launch.tiles_per_head;
  if (p.causal) tile = launch.tiles_per_head - 1 - tile;  // the longest first
  const int batch = pair / p.heads_q;
  const auto [s, blocks] = part_of(sequence_of(p, batch), part, p.key_splits, kKeys);
  return {
      batch, pair % p.heads_q, tile * kRows, min(kRows, s.length_q - tile * kRows), part, blocks,
      s};
}

template <typename Element, int kHeadDim>
__global__ void __launch_bounds__(kThreads, Tile<kHeadDim>::kBlocksPerMultiprocessor)
    forward(const __grid_constant__ Launch launch) {
  using T = Tile<kHeadDim>;
  constexpr int kRowBytes = kHeadDim * kElementBytes;
  constexpr int kKeyGroups = T::kKeys / 8;     // accumulator tiles of S along the keys
  constexpr int kColumnGroups = kHeadDim / 8;  // and of O along head_dim
  constexpr int kBandBytes = 16 * kRowBytes;

  extern __shared__ __align__(128) unsigned char memory[];
  const uint32_t shared_q = shared_address(memory);
  const uint32_t shared_k = shared_q + T::kRows * kRowBytes;
  const uint32_t shared_v = shared_k + T::kKeys * kRowBytes;

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  // This lane's rows of a band: group and group + 8; of each eight columns: 2·quad and the next.
  const int group = lane / 4, quad = lane % 4;
  const int warp_row = warp * T::kBands * 16;
  const uint32_t lane_q = shared_q + tile_offset<kHeadDim>(warp_row + lane % 16, lane / 16);
  const uint32_t lane_k = shared_k + tile_offset<kHeadDim>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
  const uint32_t lane_v = shared_v + tile_offset<kHeadDim>(lane % 16, lane / 16);

  const Problem& p = launch.problem;
  const float scale = p.softmax_scale * kLog2e;

  const Work work = work_of<T::kRows, T::kKeys>(launch);
  const Sequence& s = work.sequence;
  if (work.rows <= 0) return;
  const int first_row = work.first_row;
  const int keys_of_all =
      keys_seen(p, s, first_row);  // every row of the tile sees the keys before this one
  const int key_tiles =
      min(work.blocks, (keys_seen(p, s, first_row + work.rows - 1) + T::kKeys - 1) / T::kKeys);
  const int diagonal = s.length_kv - s.length_q;

  const int head_kv = work.head / (p.heads_q / p.heads_kv);
  auto* k = static_cast<const Element*>(p.k.data) + offset_of(p.k, work.batch, s.first_kv, head_kv);
  auto* v = static_cast<const Element*>(p.v.data) + offset_of(p.v, work.batch, s.first_kv, head_kv);

  float o[T::kBands][kColumnGroups][4] = {};
  float row_max[T::kBands][2], row_sum[T::kBands][2] = {};
#pragma unroll
  for (int band = 0; band < T::kBands; band++) row_max[band][0] = row_max[band][1] = -INFINITY;

  auto* q =
      static_cast<const Element*>(p.q.data) + offset_of(p.q, work.batch, s.first_q, work.head);
  load_rows<Element, kHeadDim, T::kRows>(shared_q, q, p.q.stride_seq, first_row, s.length_q,
                                         p.head_dim, launch.aligned);
  if (key_tiles > 0) {
    load_rows<Element, kHeadDim, T::kKeys>(shared_k, k, p.k.stride_seq, (key_tiles - 1) * T::kKeys,
                                           s.length_kv, p.head_dim, launch.aligned);
  }
  commit_copies();

  for (int n = key_tiles - 1; n >= 0; n--) {
    const int first_key = n * T::kKeys;
    wait_for_copies();
    __syncthreads();  // Q and K are here; V's last reader is done
    load_rows<Element, kHeadDim, T::kKeys>(shared_v, v, p.v.stride_seq, first_key, s.length_kv,
                                           p.head_dim, launch.aligned);
    commit_copies();

    float score[T::kBands][kKeyGroups][4] = {};
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; step++) {
      uint32_t a[T::kBands][4];
#pragma unroll
      for (int band = 0; band < T::kBands; band++)
        load_tiles(a[band], step_address(lane_q, step) + band * kBandBytes);
#pragma unroll
      for (int j = 0; j < kKeyGroups; j += 2) {
        uint32_t b[4];
        load_tiles(b, step_address(lane_k, step) + j * 8 * kRowBytes);
#pragma unroll
        for (int band = 0; band < T::kBands; band++) {
          multiply_add<Element>(score[band][j], a[band], b[0], b[1]);
          multiply_add<Element>(score[band][j + 1], a[band], b[2], b[3]);
        }
      }
    }

    wait_for_copies();
    __syncthreads();  // V is here; K's last reader is done
    if (n > 0) {
      load_rows<Element, kHeadDim, T::kKeys>(shared_k, k, p.k.stride_seq, first_key - T::kKeys,
                                             s.length_kv, p.head_dim, launch.aligned);
      commit_copies();
    }

    if (first_key + T::kKeys > keys_of_all) {
#pragma unroll
      for (int band = 0; band < T::kBands; band++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
          const int row = first_row + warp_row + band * 16 + half * 8 + group;
          const int seen = p.causal ? min(row + 1 + diagonal, s.length_kv) : s.length_kv;
          const int limit = seen - first_key - 2 * quad;
#pragma unroll
          for (int j = 0; j < kKeyGroups; j++) {
            if (8 * j >= limit) score[band][j][2 * half] = -INFINITY;
            if (8 * j + 1 >= limit) score[band][j][2 * half + 1] = -INFINITY;
          }
        }
      }
    }

#pragma unroll
    for (int band = 0; band < T::kBands; band++) {
#pragma unroll
      for (int half = 0; half < 2; half++) {
        float largest = row_max[band][half];
#pragma unroll
        for (int j = 0; j < kKeyGroups; j++)
          largest = fmaxf(largest, fmaxf(score[band][j][2 * half], score[band][j][2 * half + 1]));
        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 2));
        // A row that has seen nothing but -inf is scaled around 0: its probabilities are exact
        // zeros.
        const float around = largest == -INFINITY ? 0.f : largest * scale;
        // No fused multiply-add: where the maximum stays, the difference must be 0, or the sum
        // drifts tile by tile.
        const float shrink = exp2_approx(__fsub_rn(__fmul_rn(row_max[band][half], scale), around));
        row_max[band][half] = largest;
        float sum = 0;
#pragma unroll
        for (int j = 0; j < kKeyGroups; j++) {
#pragma unroll
          for (int e = 0; e < 2; e++) {
            float& x = score[band][j][2 * half + e];
            x = exp2_approx(__fmaf_rn(x, scale, -around));
            sum += x;
          }
        }
        row_sum[band][half] = row_sum[band][half] * shrink + sum;
#pragma unroll
        for (int j = 0; j < kColumnGroups; j++) {
          o[band][j][2 * half] *= shrink;
          o[band][j][2 * half + 1] *= shrink;
        }
      }
    }

#pragma unroll
    for (int step = 0; step < T::kKeys / 16; step++) {
      uint32_t a[T::kBands][4];
#pragma unroll
      for (int band = 0; band < T::kBands; band++) {
        const auto& left = score[band][2 * step];
        const auto& right = score[band][2 * step + 1];
        a[band][0] = pack<Element>(left[0], left[1]);
        a[band][1] = pack<Element>(left[2], left[3]);
        a[band][2] = pack<Element>(right[0], right[1]);
        a[band][3] = pack<Element>(right[2], right[3]);
      }
#pragma unroll
      for (int j = 0; j < kColumnGroups; j += 2) {
        uint32_t b[4];
        load_tiles_transposed(b, step_address(lane_v, j / 2) + step * 16 * kRowBytes);
#pragma unroll
        for (int band = 0; band < T::kBands; band++) {
          multiply_add<Element>(o[band][j], a[band], b[0], b[1]);
          multiply_add<Element>(o[band][j + 1], a[band], b[2], b[3]);
        }
      }
    }
  }

  // Each warp turns its own rows around in its own part of Q's buffer, which nobody else reads.
  wait_for_copies();
  __syncthreads();  // where there was no key, Q's copies may still have been under way
  const Work done = work_of<T::kRows, T::kKeys>(launch);
  const int64_t row0 = done.sequence.first_q + done.first_row;
#pragma unroll
  for (int band = 0; band < T::kBands; band++) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      float sum = row_sum[band][half];
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      const float inverse = sum == 0 ? 0 : 1 / sum;
#pragma unroll
      for (int j = 0; j < kColumnGroups; j++) {
        o[band][j][2 * half] *= inverse;
        o[band][j][2 * half + 1] *= inverse;
      }
      // From here on the sum is the row's LSE.
      row_sum[band][half] = sum == 0 ? -INFINITY : row_max[band][half] * scale * kLn2 + __logf(sum);
    }
  }

  if (p.key_splits > 1) {
#pragma unroll
    for (int band = 0; band < T::kBands; band++) {
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const int row = warp_row + band * 16 + half * 8 + group;
        if (row >= done.rows) continue;
        const int64_t at = partial_row(p, done.part, done.batch, done.head, row0 + row);
        float* to = launch.partials.o + at * p.head_dim + 2 * quad;
#pragma unroll
        for (int j = 0; j < kColumnGroups; j++) {
          if (8 * j < p.head_dim) {
            *reinterpret_cast<float2*>(to + 8 * j) =
                make_float2(o[band][j][2 * half], o[band][j][2 * half + 1]);
          }
        }
        if (quad == 0) launch.partials.lse[at] = row_sum[band][half];
      }
    }
    return;
  }

#pragma unroll
  for (int band = 0; band < T::kBands; band++) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int row = warp_row + band * 16 + half * 8 + group;
#pragma unroll
      for (int j = 0; j < kColumnGroups; j++) {
        store4(shared_q + tile_offset<kHeadDim>(row, j) + quad * 4,
               pack<Element>(o[band][j][2 * half], o[band][j][2 * half + 1]));
      }
      if (p.lse && quad == 0 && row < done.rows) {
        p.lse[done.batch * p.lse_stride_batch + done.head * p.lse_stride_head + row0 + row] =
            row_sum[band][half];
      }
    }
  }
  __syncwarp();

  constexpr int kChunks = kHeadDim / 8;
  constexpr int kRowsAtOnce = 32 / kChunks;
  const int chunk = lane % kChunks;
  if (chunk * 8 < p.head_dim) {
    auto* to =
        static_cast<uint16_t*>(p.o.data) + offset_of(p.o, done.batch, row0, done.head) + chunk * 8;
    for (int row = warp_row + lane / kChunks; row < warp_row + T::kBands * 16; row += kRowsAtOnce) {
      if (row >= done.rows) break;
      const uint4 x = load16(shared_q + tile_offset<kHeadDim>(row, chunk));
      uint16_t* at = to + row * p.o.stride_seq;
      if (launch.aligned) {
        *reinterpret_cast<uint4*>(at) = x;
      } else {
        const uint32_t pairs[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
          at[2 * i] = static_cast<uint16_t>(pairs[i]);
          at[2 * i + 1] = static_cast<uint16_t>(pairs[i] >> 16);
        }
      }
    }
  }
}

}  // namespace namesake::attention::sm80
