// Which tile comes when, and which keys it reads.
//
// A tile is kRows query rows of one head of one sequence. Order matters twice. Tiles that run at the
// same time should read the same K and V, so heads are taken in sections whose K and V fit the L2
// cache together, and inside a section the head changes fastest. And the work should run out
// everywhere at once, so inside a section the longest tiles come first: with a causal mask the last
// rows, without one the whole tiles before the cut one.
//
// Where every sequence has the same length, a tile's place follows from its index by division.
// Where lengths vary, they are known on the device alone: the producer warp walks the batch, 32
// sequences at a time, and never turns back because indices only grow.
#pragma once

#include <cstdint>

#include "../host_device.h"

namespace namesake::attention::sm90 {

NAMESAKE_HOST_DEVICE constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
NAMESAKE_HOST_DEVICE constexpr int min_of(int a, int b) { return a < b ? a : b; }
NAMESAKE_HOST_DEVICE constexpr int max_of(int a, int b) { return a > b ? a : b; }

// ---- order -------------------------------------------------------------------------------------

struct Place {
  int head;       // counted over the whole batch when lengths are equal, else in the sequence
  int row_tile;
};

// The place of tile `index` among `heads` heads of `row_tiles` tiles each.
NAMESAKE_HOST_DEVICE constexpr Place place_of(int index, int heads, int row_tiles, int section_heads,
                                              bool last_rows_first) {
  int section_tiles = section_heads * row_tiles;
  int section = index / section_tiles;
  int rest = index - section * section_tiles;
  int first_head = section * section_heads;
  int heads_here = min_of(section_heads, heads - first_head);
  int row_tile = rest / heads_here;
  return {first_head + rest % heads_here, last_rows_first ? row_tiles - 1 - row_tile : row_tile};
}

// Query heads whose K and V fill the cache together; the heads that share one K and V stay together.
constexpr int section_heads(int heads, int group, int64_t kv_bytes_per_head, int64_t cache_bytes) {
  int64_t kv_heads = cache_bytes / (kv_bytes_per_head > 0 ? kv_bytes_per_head : 1);
  if (kv_heads >= heads / group) return heads;
  return static_cast<int>(kv_heads < 1 ? 1 : kv_heads) * group;
}

// Without a counter, block b of a grid takes tiles in boustrophedon: it is first in one round of the
// grid and last in the next, so that with the longest tiles first no block collects the long ones.
NAMESAKE_HOST_DEVICE constexpr int folded_index(int round, int block, int grid) {
  return round * grid + (round % 2 ? grid - 1 - block : block);
}

// ---- keys --------------------------------------------------------------------------------------

// Blocks of `block` keys that rows before `row_end` of the sequence can see: the blocks to visit.
NAMESAKE_HOST_DEVICE constexpr int visible_blocks(int row_end, int length_q, int length_kv, bool causal,
                                                  int block) {
  int end = causal ? min_of(length_kv, min_of(row_end, length_q) + length_kv - length_q) : length_kv;
  return end > 0 ? ceil_div(end, block) : 0;
}

// Of them, the leading ones that every row from `row_begin` on sees whole: they need no mask.
NAMESAKE_HOST_DEVICE constexpr int whole_blocks(int row_begin, int length_q, int length_kv, bool causal,
                                                int block) {
  int end = causal ? min_of(length_kv, row_begin + 1 + length_kv - length_q) : length_kv;
  return end > 0 ? end / block : 0;
}

// Keys that one row sees.
NAMESAKE_HOST_DEVICE constexpr int visible_keys(int row, int length_q, int length_kv, bool causal) {
  int end = causal ? min_of(length_kv, row + 1 + length_kv - length_q) : length_kv;
  return max_of(end, 0);
}

}  // namespace namesake::attention::sm90
