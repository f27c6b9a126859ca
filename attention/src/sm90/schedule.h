// Which tile comes when, and which keys it reads.
//
// A tile is kRows query rows of one head of one sequence. Order matters twice. Tiles that run at
// the same time should read the same K and V, so heads are taken in sections whose K and V fit the
// L2 cache together, and inside a section the head changes fastest. And the work should run out
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

NAMESAKE_HOST_DEVICE constexpr int ceil_div(int a, int b) {
  return (a + b - 1) / b;
}
NAMESAKE_HOST_DEVICE constexpr int min_of(int a, int b) {
  return a < b ? a : b;
}
NAMESAKE_HOST_DEVICE constexpr int max_of(int a, int b) {
  return a > b ? a : b;
}

// ---- order -------------------------------------------------------------------------------------

// How a block of threads comes by its tiles. A counter levels out everything, but a tile asked for
// early is asked for by blocks that are not about to be free, and one asked for late arrives late:
// it pays where blocks take many tiles, or tiles of unequal cost.
enum class Order : uint8_t {
  strided,  // block b of a grid takes tiles b, b + grid, ... of place_of
  paired,   // the same with pairs of tiles that cost the same together, see paired_place
  counted,  // tiles of place_of, from a counter
};

struct Place {
  int head;  // counted over the whole batch when lengths are equal, else in the sequence
  int row_tile;
};

// The place of tile `index` among `heads` heads of `row_tiles` tiles each.
NAMESAKE_HOST_DEVICE constexpr Place place_of(int index, int heads, int row_tiles,
                                              int section_heads, bool last_rows_first) {
  int section_tiles = section_heads * row_tiles;
  int section = index / section_tiles;
  int rest = index - section * section_tiles;
  int first_head = section * section_heads;
  int heads_here = min_of(section_heads, heads - first_head);
  int row_tile = rest / heads_here;
  return {first_head + rest % heads_here, last_rows_first ? row_tiles - 1 - row_tile : row_tile};
}

// With a causal mask a head's row tiles r and row_tiles - 1 - r cost the same together whatever r
// is: a pair, taken long tile first in two rounds. Where the number of row tiles is odd, the pair
// in the middle is one tile, and its second place is empty: row_tile -1. Past the last pair there
// is no head: -1.
NAMESAKE_HOST_DEVICE constexpr Place paired_place(int round, int block, int grid, int heads,
                                                  int row_tiles) {
  int pairs = ceil_div(row_tiles, 2);
  int pair = round / 2 * grid + block;
  if (pair >= heads * pairs) return {-1, -1};
  int row_tile = pair % pairs;
  if (round % 2 == 0) return {pair / pairs, row_tiles - 1 - row_tile};
  return {pair / pairs, row_tile == row_tiles - 1 - row_tile ? -1 : row_tile};
}

// Query heads that keep all blocks of a grid busy with `waves` tiles each. Heads that share one K
// and V stay together, here and below.
constexpr int busy_heads(int group, int row_tiles, int grid, int waves) {
  return ceil_div(grid * waves, max_of(row_tiles, 1) * group) * group;
}

// Query heads of a section: all of them where their K and V fit the cache together; else as many as
// keep a grid busy, but no more than fit the cache.
constexpr int section_heads(int heads, int group, int row_tiles, int grid, int waves,
                            int64_t kv_bytes_per_head, int64_t cache_bytes) {
  int64_t fit = cache_bytes / (kv_bytes_per_head > 0 ? kv_bytes_per_head : 1);
  if (fit >= heads / group) return heads;
  int64_t busy = busy_heads(group, row_tiles, grid, waves) / group;
  int64_t kv_heads = fit < busy ? fit : busy;
  if (kv_heads >= heads / group) return heads;
  return static_cast<int>(kv_heads < 1 ? 1 : kv_heads) * group;
}

// The order for a problem of `tiles` tiles, `heads` heads of `length_q` rows each.
constexpr Order order_for(int64_t tiles, int heads, int length_q, int rows, int grid, bool causal,
                          bool lengths_vary, int splits = 1) {
  constexpr int kManyTiles = 16;  // per block
  if (splits > 1) return lengths_vary || tiles > grid ? Order::counted : Order::strided;
  if (lengths_vary || tiles >= int64_t{kManyTiles} * grid) return Order::counted;
  if (!causal || tiles <= grid) return Order::strided;
  // Pairs cost the same only where the last tile is whole, and level the work only where the last
  // round of them is nearly full.
  int64_t pairs = int64_t{heads} * ceil_div(ceil_div(length_q, rows), 2);
  int64_t places = (pairs + grid - 1) / grid * grid;
  return length_q % rows == 0 && pairs * 10 >= places * 9 ? Order::paired : Order::counted;
}

// ---- keys --------------------------------------------------------------------------------------

// Blocks of `block` keys that rows before `row_end` of the sequence can see: the blocks to visit.
NAMESAKE_HOST_DEVICE constexpr int visible_blocks(int row_end, int length_q, int length_kv,
                                                  bool causal, int block) {
  int end =
      causal ? min_of(length_kv, min_of(row_end, length_q) + length_kv - length_q) : length_kv;
  return end > 0 ? ceil_div(end, block) : 0;
}

// Of them, the leading ones that every row from `row_begin` on sees whole: they need no mask.
NAMESAKE_HOST_DEVICE constexpr int whole_blocks(int row_begin, int length_q, int length_kv,
                                                bool causal, int block) {
  int end = causal ? min_of(length_kv, row_begin + 1 + length_kv - length_q) : length_kv;
  return end > 0 ? end / block : 0;
}

// Keys that one row sees.
NAMESAKE_HOST_DEVICE constexpr int visible_keys(int row, int length_q, int length_kv, bool causal) {
  int end = causal ? min_of(length_kv, row + 1 + length_kv - length_q) : length_kv;
  return max_of(end, 0);
}

}  // namespace namesake::attention::sm90
