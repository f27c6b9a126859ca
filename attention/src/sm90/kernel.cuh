// The Hopper forward kernel.
//
// One block of threads per multiprocessor stays for the whole launch and works through tiles (64
// query rows per consumer warpgroup, one head). Three warps produce: one decides which tile comes
// next and publishes it, one has the copy engine bring Q and K into rings of shared memory, one V,
// always as far ahead as the rings allow, so that the next tile's first blocks arrive while this
// one ends.
//
// Consumers visit the blocks of keys from the last to the first, which puts every block that a mask
// cuts at the beginning; what follows is a loop without a mask. In each step of it the tensor cores
// have two products of one warpgroup to work on, the scores of this block and the output of the
// previous one, while the warpgroup itself turns scores into probabilities:
//
//     tensor cores   | S1 = Q K1 | O += P0 V0 | S2 = Q K2 | O += P1 V1 | ...
//     this group                 | softmax S1              | softmax S2 | ...
//
// and warpgroups issue in turn where that helps, so that one's products run under another's
// exponentials. What a step cannot hide is packing the probabilities: the assembler serialises all
// products if registers that a later one reads are written while one is running.
//
// Softmax is online, in base 2, with each row's running maximum m (scaled): P = 2^(s·scale - m).
// The maximum moves only when a row outgrows it by kSlack: until then P may exceed 1 (up to
// 2^kSlack), which costs no accuracy in a floating-point P and saves rescaling the output nearly
// always. A thread keeps the sum of its own columns; four threads share a row and meet once, at the
// end.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "consumer.cuh"
#include "producer.cuh"

namespace namesake::attention::sm90 {

inline constexpr float kSlack = 8.0f;

template <TileConfig T>
using Element = std::conditional_t<T.dtype == DType::fp16, __half, __nv_bfloat16>;

// Warp 1 of the producers.
template <TileConfig T>
__device__ __forceinline__ void load_q_and_k(const Params& p, Control<T>& control,
                                             uint32_t shared) {
  Ring<T.q_units> q;
  Ring<T.stages> k;
  for_each_tile(control, p.order == Order::counted, [&](const Tile& tile) {
    if (threadIdx.x % 32 != 0) return;
    load_tile<T>(p, control, shared, q, k, tile, [](const Tile&, int) {});
  });
}

// Warp 2.
template <TileConfig T>
__device__ __forceinline__ void load_v(const Params& p, Control<T>& control, uint32_t shared) {
  Ring<T.v_stages> v;
  for_each_tile(control, false, [&](const Tile& tile) {
    if (threadIdx.x % 32 != 0) return;
    const int head = tile.head / p.heads_per_kv * p.v_steps.head,
              batch = tile.batch * p.v_steps.batch;
#pragma unroll 1
    for (int block = tile.blocks - 1; block >= 0; --block) {
      load<T, T.keys>(p.v, control.v_full, control.v_empty, v, shared + T.v_offset(),
                      tile.first_kv + block * T.keys, head, batch, ptx::kEvictLast);
    }
  });
}

// ================================================================================================
// Consumers
// ================================================================================================

// Turns a block's scores into probabilities in place, moves the running maximum and the sums of
// both rows of this thread, and says by what the output so far must be multiplied.
template <int kCount>
__device__ __forceinline__ void softmax(float (&scores)[kCount], float (&top)[2], float (&sum)[2],
                                        float (&alpha)[2], float scale_log2) {
  float shift[2];
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    float even = scores[2 * row], odd = scores[2 * row + 1];
#pragma unroll
    for (int i = 4; i < kCount; i += 4) {
      even = fmaxf(even, scores[i + 2 * row]);
      odd = fmaxf(odd, scores[i + 2 * row + 1]);
    }
    float highest = fmaxf(even, odd);
    highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 1));
    highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 2));
    highest *= scale_log2;
    float next = highest > top[row] + kSlack ? highest : top[row];
    shift[row] = next == -kInfinity ? 0.0f : next;  // a row that has seen no key yet
    alpha[row] = ptx::exp2(top[row] - shift[row]);
    top[row] = next;
    sum[row] *= alpha[row];
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    int row = i / 2 % 2;
    scores[i] = ptx::exp2(fmaf(scores[i], scale_log2, -shift[row]));
    sum[row] += scores[i];
  }
}

// Transposes 4 x 4 registers among the four lanes of a quad: lane t gives part t of the columns of
// every chunk and gets all four parts of chunk t.
__device__ __forceinline__ uint4 gather_chunk(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3,
                                              int t) {
  const bool odd = t & 1, high = t & 2;
  uint32_t a = __shfl_xor_sync(~0u, odd ? c0 : c1, 1);
  uint32_t b = __shfl_xor_sync(~0u, odd ? c2 : c3, 1);
  uint32_t first0 = odd ? a : c0, first1 = odd ? c1 : a;    // chunk odd, from this pair of lanes
  uint32_t second0 = odd ? b : c2, second1 = odd ? c3 : b;  // chunk 2 + odd
  uint32_t x = __shfl_xor_sync(~0u, high ? first0 : second0, 2);
  uint32_t y = __shfl_xor_sync(~0u, high ? first1 : second1, 2);
  return high ? make_uint4(x, y, second0, second1) : make_uint4(first0, first1, x, y);
}

// The normalised output from registers to memory, 16 bytes at a time, where rows are cut.
template <TileConfig T>
__device__ __forceinline__ void store_rows(const Params& p, const Tile& tile, int row0,
                                           const float (&output)[T.head_dim / 2]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int row = row0 + fragment_row(threadIdx.x % 128, 2 * half);
    bool inside = row < tile.length_q;
    char* to = static_cast<char*>(p.problem.o.data) +
               2 * (offset_of(p.problem.o, tile.batch, int64_t{tile.first_q} + row, tile.head));
#pragma unroll
    for (int i = 0; i < T.head_dim / 2; i += 16) {  // 32 columns: four chunks of 8
      uint32_t packed[4];
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        packed[c] =
            ptx::pack<Element<T>>(output[i + 4 * c + 2 * half], output[i + 4 * c + 2 * half + 1]);
      }
      uint4 chunk = gather_chunk(packed[0], packed[1], packed[2], packed[3], lane % 4);
      int column = i * 2 + lane % 4 * 8;
      if (inside && column < p.problem.head_dim) *reinterpret_cast<uint4*>(to + 2 * column) = chunk;
    }
  }
}

// The same in fp32, where the tile saw a part of the keys.
template <TileConfig T>
__device__ __forceinline__ void store_partial(const Params& p, const Tile& tile, int row0,
                                              const float (&output)[T.head_dim / 2]) {
  const int thread = threadIdx.x % 128;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int row = row0 + fragment_row(thread, 2 * half);
    if (row >= tile.length_q) continue;
    float* to = p.partials.o + partial_row(p.problem, tile.part, tile.batch, tile.head,
                                           int64_t{tile.first_q} + row) *
                                   p.problem.head_dim;
#pragma unroll
    for (int i = 2 * half; i < T.head_dim / 2; i += 4) {
      int column = fragment_column(thread, i);
      if (column < p.problem.head_dim)
        *reinterpret_cast<float2*>(to + column) = make_float2(output[i], output[i + 1]);
    }
  }
}

// The same through a Q unit that this tile no longer needs: each warp writes its sixteen rows and
// has the copy engine store them.
template <TileConfig T>
__device__ __forceinline__ void store_by_copy(const Params& p, const Tile& tile, int row0,
                                              uint32_t unit,
                                              const float (&output)[T.head_dim / 2]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
  const uint32_t rows = unit + warp * kWarpRows * kRowBytes;
#pragma unroll
  for (int i = 0; i < T.head_dim / 2; i += 8) {  // 16 columns
    uint32_t packed[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      packed[j] = ptx::pack<Element<T>>(output[i + 2 * j], output[i + 2 * j + 1]);
    }
    uint32_t block = rows + i / 32 * kGroupRows * kRowBytes;
    ptx::stmatrix(block + swizzled(stmatrix_row(lane), stmatrix_chunk(lane, i % 32 / 8)), packed[0],
                  packed[1], packed[2], packed[3]);
  }
  ptx::fence_async_proxy();
  __syncwarp();
  if (lane == 0) {
#pragma unroll
    for (int c = 0; c < T.blocks(); ++c) {
      ptx::tma_store(&p.o, rows + c * kGroupRows * kRowBytes, c * kBlockColumns,
                     row0 + warp * kWarpRows, tile.head, tile.batch);
    }
    ptx::bulk_commit();
  }
}

template <TileConfig T>
__device__ __forceinline__ void consume(const Params& p, Control<T>& control, uint32_t shared,
                                        int group) {
  constexpr int kScores = T.keys / 2, kOutput = T.head_dim / 2;
  const int thread = threadIdx.x % 128, lane = threadIdx.x % 32;
  const float scale_log2 = p.scale_log2;

  float scores[kScores], output[kOutput];
  uint32_t probabilities[T.keys / 4];
  float top[2], sum[2], alpha[2];
  Ring<T.q_units> q;
  q.slot = group;
  Ring<T.stages> k;
  Ring<T.v_stages> v;

  auto wait_full = [&](uint64_t* full, const auto& ring) {
    ptx::mbarrier_wait(ptx::shared_address(&full[ring.slot]), ring.phase);
  };
  auto release = [&](uint64_t* empty, auto& ring) {
    if (lane == 0) ptx::mbarrier_arrive(ptx::shared_address(&empty[ring.slot]));
    ring.advance();
  };
  auto release_q = [&](int slot) {
    if (lane == 0) ptx::mbarrier_arrive(ptx::shared_address(&control.q_empty[slot]));
  };
  int stored = -1;  // the Q unit that the last tile's output still leaves through
  auto release_stored = [&] {
    if (stored < 0) return;
    if (lane == 0) ptx::bulk_wait_read();
    release_q(stored);
    stored = -1;
  };
  // Starts S = Q K^T.
  auto start_scores = [&] {
    uint32_t a = descriptor_low(shared + T.q_offset() + q.slot * T.q_unit_bytes());
    uint32_t b = descriptor_low(shared + T.k_offset() + k.slot * T.kv_stage_bytes());
#pragma unroll
    for (int step = 0; step < T.head_dim / 16; ++step) {
      ptx::wgmma_shared<Element<T>>(scores, descriptor(a + k_major_step(kGroupRows, step)),
                                    descriptor(b + k_major_step(T.keys, step)), step > 0);
    }
    ptx::wgmma_commit();
  };
  // Starts O += P V.
  auto start_output = [&] {
    uint32_t b = descriptor_low(shared + T.v_offset() + v.slot * T.kv_stage_bytes(),
                                mn_major_leading(T.keys));
#pragma unroll
    for (int step = 0; step < T.keys / 16; ++step) {
      ptx::wgmma_registers<Element<T>>(output, &probabilities[4 * step],
                                       descriptor(b + mn_major_step(step)));
    }
    ptx::wgmma_commit();
  };
  auto pack_probabilities = [&] {
#pragma unroll
    for (int i = 0; i < kScores / 2; ++i) {
      probabilities[i] = ptx::pack<Element<T>>(scores[2 * i], scores[2 * i + 1]);
    }
  };

  if (group == T.groups - 1) pass_turn<T>(group);  // the first group begins

  for_each_tile(control, false, [&](const Tile& tile) {
    const int row0 = tile.row0 + group * kGroupRows;
    const int blocks = row0 < tile.length_q
                           ? min_of(tile.blocks, visible_blocks(row0 + kGroupRows, tile.length_q,
                                                                tile.length_kv, T.causal, T.keys))
                           : 0;
    const int whole =
        min_of(blocks, whole_blocks(row0, tile.length_q, tile.length_kv, T.causal, T.keys));

    top[0] = top[1] = -kInfinity;
    sum[0] = sum[1] = 0.0f;
#pragma unroll
    for (int i = 0; i < kOutput; ++i) output[i] = 0.0f;

      // Blocks that other groups of the tile see and this one does not. Every group takes
      // tile.blocks - 1 turns, whatever it has to do.
#pragma unroll 1
    for (int i = 1; i <= tile.blocks - blocks; ++i) {
      wait_full(control.k_full, k);
      release(control.k_empty, k);
      if (i < tile.blocks) {
        take_turn<T>(group);
        pass_turn<T>(group);
      }
      wait_full(control.v_full, v);
      release(control.v_empty, v);
    }

    if (tile.blocks > 0) ptx::mbarrier_wait(ptx::shared_address(&control.q_full[q.slot]), q.phase);

    if (blocks > 0) {
      // How far this thread's two rows see, counted from the current block.
      int limit_low =
          visible_keys(row0 + fragment_row(thread, 0), tile.length_q, tile.length_kv, T.causal) -
          (blocks - 1) * T.keys - fragment_column(thread, 0);
      int limit_high =
          visible_keys(row0 + fragment_row(thread, 2), tile.length_q, tile.length_kv, T.causal) -
          (blocks - 1) * T.keys - fragment_column(thread, 0);

      // The first block: scores alone.
      wait_full(control.k_full, k);
      ptx::wgmma_fence();
      start_scores();
      ptx::wgmma_wait<0>();
      ptx::settle(scores);
      release(control.k_empty, k);
      release_stored();
      if (whole < blocks) mask(scores, limit_low, limit_high);
      softmax(scores, top, sum, alpha, scale_log2);
      pack_probabilities();
      alpha[0] = alpha[1] = 1.0f;  // the output is still zero

      // Rows of V past the sequence's end belong to a neighbour: 0 · NaN must not reach the output.
      if (p.lengths_vary && blocks * T.keys > tile.length_kv) {
        wait_full(control.v_full, v);
        uint32_t stage = shared + T.v_offset() + v.slot * T.kv_stage_bytes();
        int first = tile.length_kv - (blocks - 1) * T.keys;
        for (int i = first * 8 + thread; i < T.keys * 8; i += 128) {
#pragma unroll
          for (int c = 0; c < T.blocks(); ++c) {
            ptx::store_shared_zero16(stage + c * T.keys * kRowBytes + i * kChunkBytes);
          }
        }
        ptx::fence_async_proxy();
        ptx::barrier_sync(kGroupBarrier + group, 128);
      }

      // One block: its scores, and the output of the block before.
      auto step = [&](auto masked) {
        wait_full(control.k_full, k);
        take_turn<T>(group);
        ptx::wgmma_fence();
        start_scores();
        if constexpr (T.rescale_early) rescale(output, alpha);
        wait_full(control.v_full, v);
        ptx::wgmma_fence();
        start_output();
        pass_turn<T>(group);
        ptx::wgmma_wait<1>();
        ptx::settle(scores);
        release(control.k_empty, k);
        if constexpr (decltype(masked)::value) {
          limit_low += T.keys;
          limit_high += T.keys;
          mask(scores, limit_low, limit_high);
        }
        softmax(scores, top, sum, alpha, scale_log2);
        ptx::pin(sum[0] + sum[1], shared);  // keeps the exponentials before the wait
        ptx::wgmma_wait<0>();
        ptx::settle(output);
        release(control.v_empty, v);
        pack_probabilities();
        if constexpr (!T.rescale_early) rescale(output, alpha);
      };
      int block = blocks - 1;
      if constexpr (T.causal) {
#pragma unroll 1
        for (; block > whole; --block) step(std::true_type{});
      }
#pragma unroll 1
      for (; block > 0; --block) step(std::false_type{});

      // The last output product.
      if constexpr (T.rescale_early) rescale(output, alpha);
      if constexpr (!T.store_by_copy) release_q(q.slot);
      wait_full(control.v_full, v);
      ptx::wgmma_fence();
      start_output();
      ptx::wgmma_wait<0>();
      ptx::settle(output);
      release(control.v_empty, v);
    } else if (tile.blocks > 0) {
      release_stored();
      if constexpr (!T.store_by_copy) release_q(q.slot);
    }

    // Normalise. A row that saw no key, or only keys of score -inf, is zero.
    if (row0 < tile.length_q) {
      float lse[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
        sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
        bool empty = sum[r] == 0.0f;
        float inverse = 1.0f / sum[r];
        lse[r] = empty ? -kInfinity : top[r] * kLn2 + logf(sum[r]);
#pragma unroll
        for (int i = 0; i < kOutput; i += 4) {
          output[i + 2 * r] = empty ? 0.0f : output[i + 2 * r] * inverse;
          output[i + 2 * r + 1] = empty ? 0.0f : output[i + 2 * r + 1] * inverse;
        }
      }
      const bool divided = p.problem.key_splits > 1;
      if ((divided || p.problem.lse) && lane % 4 == 0) {
        float* to = divided ? p.partials.lse + partial_row(p.problem, tile.part, tile.batch,
                                                           tile.head, tile.first_q)
                            : p.problem.lse + tile.batch * p.problem.lse_stride_batch +
                                  tile.head * p.problem.lse_stride_head + tile.first_q;
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          int row = row0 + fragment_row(thread, 2 * r);
          if (row < tile.length_q) to[row] = lse[r];
        }
      }
      bool copy =
          T.store_by_copy && tile.blocks > 0 && !divided &&
          (!p.lengths_vary || (!p.problem.cu_seqlens_q && row0 + kGroupRows <= tile.length_q));
      if (copy) {
        store_by_copy<T>(p, tile, row0, shared + T.q_offset() + q.slot * T.q_unit_bytes(), output);
        stored = q.slot;
      } else if (divided) {
        store_partial<T>(p, tile, row0, output);
      } else {
        store_rows<T>(p, tile, row0, output);
      }
    }
    if (tile.blocks > 0) {
      if (T.store_by_copy && stored != q.slot) release_q(q.slot);
      q.advance(T.groups);
    }
  });
  release_stored();  // shared memory must outlive the store
}

// ================================================================================================

template <class Shape>
__global__ void __launch_bounds__(Shape::kTile.threads(), 1)
    forward(const __grid_constant__ Params p) {
  constexpr TileConfig T = Shape::kTile;
  static_assert(T.shared_bytes() <= kSharedLimit);
  static_assert(!T.store_by_copy || T.q_units > T.groups, "a unit is released under the next tile");
  static_assert(sizeof(Control<T>) <= TileConfig::kControlBytes);
  extern __shared__ __align__(kTileAlignment) uint8_t memory[];
  const uint32_t shared = ptx::shared_address(memory);
  auto& control = *reinterpret_cast<Control<T>*>(memory + T.control_offset());

  if (threadIdx.x == 0) {
    ptx::prefetch_tensor_map(&p.q);
    ptx::prefetch_tensor_map(&p.k);
    ptx::prefetch_tensor_map(&p.v);
    if constexpr (T.store_by_copy) ptx::prefetch_tensor_map(&p.o);
    auto init = [](uint64_t* barriers, int size, int count) {
      for (int i = 0; i < size; ++i) ptx::mbarrier_init(ptx::shared_address(&barriers[i]), count);
    };
    init(control.q_full, T.q_units, 1);
    // Every warp that reads a buffer releases it by one arrival: what a warp still waits for is
    // then never loaded over, however far the other warps are.
    init(control.q_empty, T.q_units, 4);
    init(control.k_full, T.stages, 1);
    init(control.k_empty, T.stages, 4 * T.groups);
    init(control.v_full, T.v_stages, 1);
    init(control.v_empty, T.v_stages, 4 * T.groups);
    init(&control.tile_full, 1, 1);
    init(&control.tile_empty, 1, 2 + 4 * T.groups);  // the loading warps and the consumers' warps
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  ptx::wait_for_earlier_grids();
  ptx::let_later_grids_start();

  const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
  if (warpgroup == 0) {
    ptx::give_registers<T.producer_registers>();
    const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    if (warp == 0) schedule<T>(p, control, [](const Tile&) {});
    if (warp == 1) load_q_and_k<T>(p, control, shared);
    if (warp == 2) load_v<T>(p, control, shared);
  } else {
    ptx::take_registers<T.consumer_registers()>();
    consume<T>(p, control, shared, warpgroup - 1);
  }
}

}  // namespace namesake::attention::sm90
