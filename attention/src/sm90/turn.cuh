// Turning V: from the rows that the copy engine brought to the columns that an 8-bit product wants
// (layout.h). Two or three warps of the producer warpgroup do it while the consumers compute; each
// takes its share of every block.
#pragma once

#include "producer.cuh"

namespace namesake::attention::sm90 {

// Keeps, of a word that holds keys 2t, 2t + 1, 2t + 8, 2t + 9 of sixteen, those before `inside`.
__device__ __forceinline__ uint32_t kept_bytes(int inside, int t) {
  const int low = inside - 2 * t, high = low - 8;
  const uint32_t a = low >= 2 ? 0xffffu : low == 1 ? 0xffu : 0u;
  const uint32_t b = high >= 2 ? 0xffffu : high == 1 ? 0xffu : 0u;
  return a | b << 16;
}

// V row-major: keys x head_dim. ldmatrix takes two neighbouring columns for one 16-bit element, so
// its transposed 8x8 matrices give lane (c, t) columns 2c and 2c + 1 of keys 2t and 2t + 1; two of
// them, eight keys apart, make a word of four keys for each column.
//
// A unit is sixteen keys of 32 columns: one load, one store. This warp has every second or third
// sixteen. All loops are unrolled, and an address is a lane's base with constants added and, for
// the swizzle of another chunk it loads, bits flipped: few warps must keep up with all the others,
// in few registers.
template <TileConfig T, bool kCut>
__device__ __forceinline__ void turn_rows(uint32_t from, uint32_t to, int warp, int inside) {
  constexpr int kPairs = T.head_dim / 32;  // of 16-byte chunks of a key: the units of sixteen keys
  constexpr int kSixteens = T.keys / 16;
  constexpr int kPairsOfRow = T.row_bytes() / 32;
  constexpr uint32_t kPairBytes = 2 * kChunkBytes;
  constexpr int kAhead = 2;  // units that are loaded before the first of them is stored
  static_assert(kPairs % kAhead == 0);
  const int lane = threadIdx.x % 32, matrix = lane / 8, row = lane % 8;

  const uint32_t key = warp * 16 + matrix % 2 * 8 + row;
  const uint32_t load_base = from + swizzled_in(T.row_bytes(), key, matrix / 2);
  const uint32_t store_base = to + turned_chunk(T.keys, matrix * 8 + row, warp);

  uint32_t loaded[2][kAhead][4];
  auto load = [&](int first) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int turn = (first + i) / kPairs, pair = (first + i) % kPairs;
      ptx::ldmatrix_transposed((load_base ^ (pair % kPairsOfRow * kPairBytes)) +
                                   pair / kPairsOfRow * T.keys * T.row_bytes() +
                                   turn * 16 * T.turning_warps * T.row_bytes(),
                               loaded[first / kAhead % 2][i]);
    }
  };
  // Whether this warp has a unit: not all have as many sixteens.
  auto has = [&](int unit) {
    const int turn = unit / kPairs;
    return (turn + 1) * T.turning_warps <= kSixteens || turn * T.turning_warps + warp < kSixteens;
  };
  load(0);
#pragma unroll
  for (int first = 0; first < ceil_div(kSixteens, T.turning_warps) * kPairs; first += kAhead) {
    if (!has(first)) break;
    if (has(first + kAhead)) load(first + kAhead);
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int sixteen = (first + i) / kPairs * T.turning_warps, pair = (first + i) % kPairs;
      const uint32_t(&w)[4] = loaded[first / kAhead % 2][i];
      uint32_t turned[4] = {__byte_perm(w[0], w[1], 0x6420), __byte_perm(w[0], w[1], 0x7531),
                            __byte_perm(w[2], w[3], 0x6420), __byte_perm(w[2], w[3], 0x7531)};
      if constexpr (kCut) {
        const uint32_t kept = kept_bytes(inside - (sixteen + warp) * 16, lane % 4);
#pragma unroll
        for (uint32_t& word : turned) word &= kept;
      }
      ptx::stmatrix(store_base + turned_chunk(T.keys, pair * 32, sixteen), turned[0], turned[1],
                    turned[2], turned[3]);
    }
  }
}

// V transposed already: head_dim x keys. What is left is the order of the rows and, of sixteen
// keys, that of the words' halves. This warp has every second or third 32 columns, a lane one of
// them.
template <TileConfig T, bool kCut>
__device__ __forceinline__ void turn_columns(uint32_t from, uint32_t to, int warp, int inside) {
  constexpr int kBox = transposed_box(T.keys), kChunksOfBox = kBox / kChunkBytes;
  constexpr int kChunks = T.keys / kChunkBytes, kAtOnce = 2;
  static_assert(kChunks % kAtOnce == 0);
  const int column = warp * 32 + column_of_lane(threadIdx.x % 32);
  // The swizzle of chunk c is that of chunk 0 with c's bits flipped.
  const uint32_t load_base = from + swizzled_in(kBox, column, 0);
  const uint32_t store_base = to + turned_chunk(T.keys, turned_row(column), 0);
#pragma unroll
  for (int more = 0; more < T.head_dim; more += 32 * T.turning_warps) {
    if (more + warp * 32 >= T.head_dim) break;
#pragma unroll
    for (int first = 0; first < kChunks; first += kAtOnce) {
      uint32_t loaded[kAtOnce][4];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int chunk = first + i;
        ptx::load_shared16((load_base ^ (chunk % kChunksOfBox * kChunkBytes)) +
                               chunk / kChunksOfBox * T.head_dim * kBox + more * kBox,
                           loaded[i]);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int chunk = first + i;
        const uint32_t(&w)[4] = loaded[i];
        uint32_t turned[4] = {__byte_perm(w[0], w[2], 0x5410), __byte_perm(w[0], w[2], 0x7632),
                              __byte_perm(w[1], w[3], 0x5410), __byte_perm(w[1], w[3], 0x7632)};
        if constexpr (kCut) {
#pragma unroll
          for (int t = 0; t < 4; ++t) turned[t] &= kept_bytes(inside - chunk * 16, t);
        }
        ptx::store_shared16(store_base + turned_chunk(T.keys, more, chunk), turned[0], turned[1],
                            turned[2], turned[3]);
      }
    }
  }
}

// The last warps of the producers. Keys past a sequence's end may be a neighbour's, or anything:
// they become zero, for 0 · NaN must not reach the output.
template <TileConfig T>
__device__ __forceinline__ void turn_v(const Params& p, Control<T>& control, uint32_t shared,
                                       int warp) {
  Ring<T.raw_stages> raw;
  Ring<T.v_stages> v;
  for_each_tile(control, false, [&](const Tile& tile) {
#pragma unroll 1
    for (int block = tile.blocks - 1; block >= 0; --block) {
      ptx::mbarrier_wait(ptx::shared_address(&control.raw_full[raw.slot]), raw.phase);
      ptx::mbarrier_wait(ptx::shared_address(&control.v_empty[v.slot]), v.phase ^ 1);
      const uint32_t from = shared + T.raw_offset() + raw.slot * T.kv_stage_bytes();
      const uint32_t to = shared + T.v_offset() + v.slot * T.v_stage_bytes();
      const int inside = p.lengths_vary ? tile.length_kv - block * T.keys : T.keys;
      const bool cut = inside < T.keys;
      if (p.problem.v_transposed) {
        cut ? turn_columns<T, true>(from, to, warp, inside)
            : turn_columns<T, false>(from, to, warp, inside);
      } else {
        cut ? turn_rows<T, true>(from, to, warp, inside)
            : turn_rows<T, false>(from, to, warp, inside);
      }
      ptx::fence_async_proxy();
      __syncwarp();
      if (threadIdx.x % 32 == 0) {
        ptx::mbarrier_arrive(ptx::shared_address(&control.v_full[v.slot]));
        ptx::mbarrier_arrive(ptx::shared_address(&control.raw_empty[raw.slot]));
      }
      raw.advance();
      v.advance();
    }
  });
}

}  // namespace namesake::attention::sm90
