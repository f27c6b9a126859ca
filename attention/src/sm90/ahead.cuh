// Turning blocks of V from global memory to global memory (ahead.h), through registers alone, for
// shared memory is taken. Sixteen keys of 64 columns are two reads and eight writes of a warp: a
// lane reads sixteen columns of two keys, eight apart, movmatrix transposes what ldmatrix does
// where V is turned on its way (turn.cuh), and each write fills four 32-byte sectors.
#pragma once

#include "ahead.h"
#include "ptx.cuh"
#include "tile.h"

namespace namesake::attention::sm90 {
namespace ahead {

inline constexpr TileConfig kTile = tile_for(DType::e4m3, 256, false, true);
inline constexpr int kHeadDim = kTile.head_dim, kKeys = kTile.keys, kSixteens = kKeys / 16;
inline constexpr int kBytes = turned_bytes(kHeadDim, kKeys);
inline constexpr int kColumns = 64, kParts = kHeadDim / kColumns;

// A lane's part of a block, from sixteen keys on: where it reads and writes, how many of the keys
// from its first one on exist, and how many columns.
struct Share {
  const uint8_t* from;
  uint8_t* to;
  int keys, columns;
};

__device__ __forceinline__ Share share_of(const Problem& p, const Turned& turned, int index,
                                          int sixteen) {
  const TurnedPlace place = turned_place(p, turned, index, kKeys);
  if (place.head >= p.heads_kv) return {};
  const Sequence s = sequence_of(p, place.batch);
  const int lane = threadIdx.x % 32;
  const int key = place.block * kKeys + sixteen * 16 + lane / 4, column = lane % 4 * kChunkBytes;
  // Whatever the lengths say, a packed tensor ends where it ends.
  const int64_t end = p.cu_seqlens_kv ? p.total_kv - s.first_kv : s.length_kv;
  return {static_cast<const uint8_t*>(p.v.data) +
              offset_of(p.v, place.batch, s.first_kv + key, place.head) + column,
          turned.data + int64_t{index} * kBytes +
              turned_chunk(kKeys, turned_lane_row(lane), sixteen) + turned_lane_byte(lane),
          static_cast<int>(end < s.length_kv ? end : s.length_kv) - key, p.head_dim - column};
}

// Sixteen columns of a key, of which `columns` exist, if any: a multiple of eight.
__device__ __forceinline__ uint4 read(const uint8_t* from, bool exists, int columns) {
  uint2 low = {}, high = {};
  if (exists && columns > 0) low = __ldg(reinterpret_cast<const uint2*>(from));
  if (exists && columns > 8) high = __ldg(reinterpret_cast<const uint2*>(from) + 1);
  return {low.x, low.y, high.x, high.y};
}

// What this lane read of two keys, eight apart.
__device__ __forceinline__ void write(uint8_t* to, const uint4& low, const uint4& high) {
  const uint32_t lows[4] = {low.x, low.y, low.z, low.w};
  const uint32_t highs[4] = {high.x, high.y, high.z, high.w};
#pragma unroll
  for (int word = 0; word < 4; ++word) {
    const uint32_t a = ptx::movmatrix_transposed(lows[word]);
    const uint32_t b = ptx::movmatrix_transposed(highs[word]);
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      *reinterpret_cast<uint32_t*>(to + turned_chunk(kKeys, turned_row(4 * word + odd), 0)) =
          __byte_perm(a, b, odd ? 0x7531 : 0x6420);
    }
  }
}

// One of the first blocks and the one `step` later, sixteen keys of each by one warp, all read at
// once.
__device__ __forceinline__ void turn_two(const Problem& p, const Turned& turned, int index,
                                         int step, int sixteen) {
  uint4 low[2][kParts], high[2][kParts];
  uint8_t* to[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const Share share = share_of(p, turned, index + i * step, sixteen);
    to[i] = share.to;
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const uint8_t* const at = share.from + part * kColumns;
      const int columns = share.columns - part * kColumns;
      low[i][part] = read(at, share.keys > 0, columns);
      high[i][part] = read(at + 8 * p.v.stride_seq, share.keys > 8, columns);
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (index + i * step >= turned.first) break;
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      write(to[i] + turned_chunk(kKeys, part * kColumns, 0), low[i][part], high[i][part]);
  }
}

// A block by one warp. It has few registers, so that of what it reads little is on its way at a
// time, and memory answers late while others load K and V: the block is asked into the L2 cache
// first, and whole ones have a loop without questions. Columns past the last keep what they were:
// they are columns of the output.
__device__ __forceinline__ void turn_one(const Problem& p, const Turned& turned, int index) {
  Share share = share_of(p, turned, index, 0);
  const int lane = threadIdx.x % 32;
  for (int i = 0; i < kKeys; i += 16) {  // a lane asks for half a key
    const int key = i + lane / 2 - lane / 4;
    if (share.keys > key) {
      ptx::prefetch_l2(share.from + key * p.v.stride_seq + lane % 2 * (kHeadDim / 2) -
                       lane % 4 * kChunkBytes);
    }
  }
  if (__all_sync(~0u, share.keys + lane / 4 >= kKeys) && p.head_dim % kColumns == 0) {
    const uint8_t* next = share.from + 8 * p.v.stride_seq;
#pragma unroll 1
    for (int sixteen = 0; sixteen < kSixteens; ++sixteen) {
#pragma unroll
      for (int column = 0; column < kHeadDim; column += kColumns) {
        if (column >= p.head_dim) break;
        const uint4 low = __ldg(reinterpret_cast<const uint4*>(share.from + column));
        const uint4 high = __ldg(reinterpret_cast<const uint4*>(next + column));
        write(share.to + turned_chunk(kKeys, column, 0), low, high);
      }
      share.from += 16 * p.v.stride_seq;
      next += 16 * p.v.stride_seq;
      share.to += turned_chunk(kKeys, 0, 1);
    }
    return;
  }
#pragma unroll 1
  for (int sixteen = 0; sixteen < kSixteens; ++sixteen) {
#pragma unroll 1
    for (int column = 0; column < p.head_dim; column += kColumns) {
      const uint8_t* const at = share.from + column;
      const uint4 low = read(at, share.keys > 0, share.columns - column);
      const uint4 high = read(at + 8 * p.v.stride_seq, share.keys > 8, share.columns - column);
      write(share.to + turned_chunk(kKeys, column, 0), low, high);
    }
    share.from += 16 * p.v.stride_seq;
    share.to += turned_chunk(kKeys, 0, 1);
    share.keys -= 16;
  }
}

// When this launch began, the same for all of its blocks of threads; by one thread of each.
__device__ __forceinline__ uint64_t enter(const Turned& turned) {
  TurnedState& state = *turned.state;
  const uint64_t now = ptx::global_timer();
  uint64_t expected[2] = {}, seen[2];
  for (;;) {
    ptx::compare_and_swap16(&state, expected, kTurnedMark, now, seen);
    if (seen[0] == kTurnedMark) return seen[1];
    if (seen[0] == expected[0] && seen[1] == expected[1]) break;
    expected[0] = seen[0], expected[1] = seen[1];
  }
  state.next = turned.first;
  state.left = 0;
  ptx::store_release(&state.open, now);
  return now;
}

__device__ __forceinline__ void raise_flag(const Turned& turned, int index, uint64_t began) {
  ptx::store_release(turned.ready + index, began);
}
__device__ __forceinline__ bool is_raised(const Turned& turned, int index, uint64_t began) {
  return ptx::load_acquire(turned.ready + index) == began;
}

// From `index` on, the first of the first blocks whose flag stays down; `turned.first` if there is
// none. Those whose it is to turn them may not be running, but most are: they are given some
// microseconds, in all.
__device__ __forceinline__ int missing(const Turned& turned, int index, uint64_t began,
                                       int& microseconds) {
  while (index < turned.first) {
    const int at = index + threadIdx.x % 32;
    const uint32_t down = __ballot_sync(~0u, at < turned.first && !is_raised(turned, at, began));
    if (!down) {
      index += 32;
    } else if (microseconds > 0) {
      --microseconds;
      __nanosleep(1000);
    } else {
      return index + __ffs(down) - 1;
    }
  }
  return turned.first;
}

// By each of `warps` warps of a block of threads, until no block is left.
__device__ __forceinline__ void turn_the_rest(const Problem& p, const Turned& turned,
                                              uint64_t began, int warps) {
  const bool elected = threadIdx.x % 32 == 0;
  if (elected) {
    while (ptx::load_acquire(&turned.state->open) != began) {
    }
  }
  int index = 0, patience = 20;
  for (bool claiming = true;;) {
    if (claiming) {
      if (elected) index = static_cast<int>(ptx::add_one_relaxed(&turned.state->next));
      index = __shfl_sync(~0u, index, 0);
      if (index >= turned.all) claiming = false, index = 0;
    }
    if (!claiming) {
      index = missing(turned, index, began, patience);
      if (index == turned.first) break;
    }
    turn_one(p, turned, index);
    ptx::fence_async_proxy_global();
    __syncwarp();
    if (elected) raise_flag(turned, index, began);
  }
  if (elected && ptx::add_one(&turned.state->left) == warps * gridDim.x - 1)
    turned.state->mark = turned.state->began = 0;
}

}  // namespace ahead
}  // namespace namesake::attention::sm90
