// What every kernel of this backend has in its producer warpgroup: which tile comes next, told to
// all warps through one mailbox, and the copy engine's loads into rings of shared memory.
#pragma once

#include "../sequence.h"
#include "layout.h"
#include "params.h"
#include "ptx.cuh"
#include "schedule.h"
#include "tile.h"

namespace namesake::attention::sm90 {

// What the producer publishes about a tile.
struct Tile {
  int row0, head, batch;
  int blocks;  // of keys that its rows see together; negative: no more tiles
  int length_q, length_kv;
  int first_q, first_kv;
  int part;  // of the keys, where they are divided: length_kv and first_kv are the part's (split.h)
  float scale_log2, factor;  // fp8 alone: of the scores, and of the output (scales.h)
};

template <TileConfig T>
struct Control {
  uint64_t q_full[T.q_units], q_empty[T.q_units];
  uint64_t k_full[T.stages], k_empty[T.stages];
  uint64_t v_full[T.v_stages], v_empty[T.v_stages];
  // fp8 alone: V as it was loaded.
  uint64_t raw_full[max_of(T.raw_stages, 1)], raw_empty[max_of(T.raw_stages, 1)];
  uint64_t tile_full, tile_empty;
  Tile tile;
  uint64_t began_full, began;  // where V is turned ahead
};

// A place in a ring of buffers, and the parity of the barrier phase that belongs to this time
// round.
template <int kSize>
struct Ring {
  int slot = 0;
  uint32_t phase = 0;
  __device__ __forceinline__ void advance(int by = 1) {
    slot += by;
    if (slot >= kSize) {
      slot -= kSize;
      phase ^= 1;
    }
  }
};

// Finds tiles by index, for indices that only grow. All 32 lanes take part.
template <TileConfig T>
struct TileWalk {
  const Params& p;
  int batch0 = 0;        // lengths vary: this lane's sequence is batch0 + lane
  int tiles_before = 0;  // in the sequences before batch0

  __device__ __forceinline__ Tile tile(int batch, Place place) const {
    const int splits = p.problem.key_splits;
    const int part = splits > 1 ? place.row_tile % splits : 0;
    const int row0 = (splits > 1 ? place.row_tile / splits : place.row_tile) * T.rows();
    const auto [s, blocks] = part_of(sequence_of(p.problem, batch), part, splits, T.keys);
    Tile found = {
        row0,
        place.head,
        batch,
        min_of(blocks, visible_blocks(row0 + T.rows(), s.length_q, s.length_kv, T.causal, T.keys)),
        s.length_q,
        s.length_kv,
        static_cast<int>(s.first_q),
        static_cast<int>(s.first_kv),
        part};
    if constexpr (T.is_fp8()) {
      const int head_kv = place.head / p.heads_per_kv;
      found.scale_log2 = p.scale_log2 * scale_at(p.problem.q_descale, batch, place.head) *
                         scale_at(p.problem.k_descale, batch, head_kv);
      found.factor = scale_at(p.problem.v_descale, batch, head_kv) *
                     scale_at(p.problem.o_scale, batch, place.head);
    }
    return found;
  }

  // A tile by its head counted over the whole batch, where all lengths are equal.
  __device__ __forceinline__ Tile at(Place place) const {
    int batch = place.head / p.problem.heads_q;
    place.head -= batch * p.problem.heads_q;
    return tile(batch, place);
  }

  __device__ __forceinline__ Tile find(int index, int lane) {
    const int heads = p.problem.heads_q;
    if (!p.lengths_vary) {
      int all_heads = p.problem.batch * heads;
      if (index >= all_heads * p.row_tiles) return {.blocks = -1};
      return at(place_of(index, all_heads, p.row_tiles, p.section_heads, T.causal));
    }
    for (; batch0 < p.problem.batch; batch0 += 32) {
      int batch = batch0 + lane;
      int row_tiles =
          batch < p.problem.batch
              ? ceil_div(sequence_of(p.problem, batch).length_q, T.rows()) * p.problem.key_splits
              : 0;
      int end = row_tiles * heads;  // becomes the sum over this and all lower lanes
#pragma unroll
      for (int d = 1; d < 32; d *= 2) {
        int below = __shfl_up_sync(~0u, end, d);
        if (lane >= d) end += below;
      }
      unsigned reach = __ballot_sync(~0u, index < tiles_before + end);
      if (reach) {
        int owner = __ffs(reach) - 1;
        row_tiles = __shfl_sync(~0u, row_tiles, owner);
        end = __shfl_sync(~0u, end, owner);
        int local = index - (tiles_before + end - row_tiles * heads);
        return tile(batch0 + owner, place_of(local, heads, row_tiles, p.section_heads, T.causal));
      }
      tiles_before += __shfl_sync(~0u, end, 31);
    }
    return {.blocks = -1};
  }
};

__device__ __forceinline__ void claim(TileCounter& counter) {
  for (;;) {
    uint64_t seen = ptx::load_acquire(&counter.state);
    if (seen == kCounterReady) return;
    if (seen == kCounterClaimed ||
        ptx::compare_and_swap(&counter.state, seen, kCounterClaimed) != seen) {
      continue;
    }
    counter.next = counter.done = 0;
    ptx::store_release(&counter.state, kCounterReady);
    return;
  }
}

__device__ __forceinline__ void leave(TileCounter& counter) {
  if (ptx::add_one(&counter.done) == gridDim.x - 1) ptx::store_release(&counter.state, 0);
}

// Warp 0: decides and publishes, a tile ahead of the consumers, and calls `published` for each.
// With a counter a tile is asked for only when the loads of the one before have been issued: who
// asks then is about to be free.
template <TileConfig T, class Published>
__device__ __forceinline__ void schedule(const Params& p, Control<T>& control,
                                         Published&& published) {
  const int lane = threadIdx.x % 32;
  TileWalk<T> walk{p};
  uint32_t phase = 1;
  auto wait_empty = [&] { ptx::mbarrier_wait(ptx::shared_address(&control.tile_empty), phase); };
  auto publish = [&](const Tile& tile) {
    if (lane == 0) {
      control.tile = tile;
      ptx::mbarrier_arrive(ptx::shared_address(&control.tile_full));
    }
    phase ^= 1;
    published(tile);
  };

  if (p.order == Order::paired) {
    const int heads = p.problem.batch * p.problem.heads_q;
    for (int round = 0;; ++round) {
      Place place = paired_place(round, blockIdx.x, gridDim.x, heads, p.row_tiles);
      if (place.head >= 0 && place.row_tile < 0) continue;
      const Tile tile = place.head < 0 ? Tile{.blocks = -1} : walk.at(place);
      wait_empty();
      publish(tile);
      if (tile.blocks < 0) return;
    }
  }

  if (p.order == Order::strided) {
    for (int index = blockIdx.x;; index += gridDim.x) {
      const Tile tile = walk.find(index, lane);
      wait_empty();
      publish(tile);
      if (tile.blocks < 0) return;
    }
  }

  for (int index = blockIdx.x, round = 1;; ++round) {
    const Tile tile = walk.find(index, lane);
    publish(tile);
    if (tile.blocks < 0) break;
    wait_empty();
    if (lane == 0) {
      if (round == 1) claim(*p.counter);
      index = gridDim.x + ptx::add_one(&p.counter->next);
    }
    index = __shfl_sync(~0u, index, 0);
  }
  if (lane == 0) leave(*p.counter);
}

// Every lane's copy of what lane 0 read: that lane also says that the tile may be overwritten, so
// the order of the two is its own.
template <TileConfig T>
__device__ __forceinline__ Tile broadcast(Tile tile) {
  auto from_lane_0 = [](int& value) { value = __shfl_sync(~0u, value, 0); };
  from_lane_0(tile.row0), from_lane_0(tile.head), from_lane_0(tile.batch);
  from_lane_0(tile.blocks);
  from_lane_0(tile.length_q), from_lane_0(tile.length_kv);
  from_lane_0(tile.first_q), from_lane_0(tile.first_kv);
  from_lane_0(tile.part);
  if constexpr (T.is_fp8()) {
    tile.scale_log2 = __shfl_sync(~0u, tile.scale_log2, 0);
    tile.factor = __shfl_sync(~0u, tile.factor, 0);
  }
  return tile;
}

// Goes through the published tiles; every warp that does so is one arrival of tile_empty, on
// reading the tile or, where that is what the next one waits for, after its work.
template <TileConfig T, class Work>
__device__ __forceinline__ void for_each_tile(Control<T>& control, bool arrive_after, Work&& work) {
  const bool elected = threadIdx.x % 32 == 0;
  const uint32_t empty = ptx::shared_address(&control.tile_empty);
  for (uint32_t phase = 0;; phase ^= 1) {
    ptx::mbarrier_wait(ptx::shared_address(&control.tile_full), phase);
    Tile tile{};
    if (elected) tile = control.tile;
    tile = broadcast<T>(tile);
    if (elected && !arrive_after) ptx::mbarrier_arrive(empty);
    if (tile.blocks < 0) break;
    work(tile);
    __syncwarp();
    if (elected && arrive_after) ptx::mbarrier_arrive(empty);
  }
}

// One tile of `rows` rows into a ring of such tiles.
template <TileConfig T, int kRows, int kSize>
__device__ __forceinline__ void load(const CUtensorMap& map, uint64_t (&full)[kSize],
                                     uint64_t (&empty)[kSize], Ring<kSize>& ring, uint32_t buffers,
                                     int row, int head, int batch, uint64_t policy) {
  constexpr uint32_t kBlockBytes = kRows * T.row_bytes();
  constexpr uint32_t kBytes = T.blocks() * kBlockBytes;
  const uint32_t barrier = ptx::shared_address(&full[ring.slot]);
  ptx::mbarrier_wait(ptx::shared_address(&empty[ring.slot]), ring.phase ^ 1);
  ptx::mbarrier_arrive_expect(barrier, kBytes);
#pragma unroll
  for (int c = 0; c < T.blocks(); ++c) {
    ptx::tma_load(buffers + ring.slot * kBytes + c * kBlockBytes, &map, barrier,
                  c * T.block_columns(), row, head, batch, policy);
  }
  ring.advance();
}

// A tile's Q and K by one thread: the last block of K first, which with Q lets the tile begin.
// `after_k` is called after the loads that belong to each block.
template <TileConfig T, class AfterK>
__device__ __forceinline__ void load_tile(const Params& p, Control<T>& control, uint32_t shared,
                                          Ring<T.q_units>& q, Ring<T.stages>& k, const Tile& tile,
                                          AfterK&& after_k) {
  const int head = tile.head / p.heads_per_kv * p.k_steps.head,
            batch = tile.batch * p.k_steps.batch;
#pragma unroll 1
  for (int block = tile.blocks - 1; block >= 0; --block) {
    load<T, T.keys>(p.k, control.k_full, control.k_empty, k, shared + T.k_offset(),
                    tile.first_kv + block * T.keys, head, batch, ptx::kEvictLast);
    if (block == tile.blocks - 1) {
#pragma unroll 1
      for (int g = 0; g < T.groups; ++g) {
        load<T, kGroupRows>(p.q, control.q_full, control.q_empty, q, shared + T.q_offset(),
                            tile.first_q + tile.row0 + g * kGroupRows, tile.head * p.q_steps.head,
                            tile.batch * p.q_steps.batch, ptx::kEvictFirst);
      }
    }
    after_k(tile, block);
  }
}

}  // namespace namesake::attention::sm90
