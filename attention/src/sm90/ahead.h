// V turned ahead of the products that use it.
//
// A turned V is read by every tile of its head: in a long sequence each block would be turned again
// for every 128 query rows, by warps that compete with the tensor cores for shared memory. Here
// each block is turned once, into the workspace. A kernel that did so first would have the tensor
// cores wait for a pass over V, 4% of a masked call of 4,096 rows; even a small one for the blocks
// that are needed at once stands between two launches that otherwise overlap. So the attention
// kernel does it all. Its consumers, who have nothing to do until K arrives, begin by turning a
// block or two together, the first ones by the number of their block of threads; two idle warps of
// each block of threads turn the rest, in the order in which tiles will come to it, while the
// products run.
//
// Who has turned a block raises its flag; who loads it waits for the flag. That ends wherever it
// runs, even if not all blocks of threads run at once: the rest is claimed from a counter by warps
// that wait for no block, and when nothing is left to claim, the same warps turn those of the first
// blocks whose flags stay down, whoever was to do it. Twice the same bytes do no harm.
//
// A workspace may hold anything, old flags too, and no launch of its own clears it. So a flag is
// raised by writing the time at which the launch began: the first block of threads to come writes
// it beside a mark, with one 128-bit compare-and-swap, and the last one to leave takes the mark
// back. No earlier launch had that time, and only a workspace that already holds the mark could be
// misread.
//
// A turned block has a tile's keys and lies as it lies in shared memory (layout.h), so that it is
// one copy. Blocks lie, and are claimed, as tiles want them: by groups of heads whose tiles run at
// the same time; in a group its last keys first, of each head in turn. Packed sequences are groups
// by themselves and have as many blocks as their first key's place leaves room for, whatever their
// length. Keys beyond a sequence's end are zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../sequence.h"
#include "layout.h"
#include "schedule.h"

namespace namesake::attention::sm90 {

// What the blocks of threads of a launch share.
struct alignas(16) TurnedState {
  uint64_t mark, began;  // the mark while a launch runs, and when it began
  uint64_t open;         // the same time once what follows holds
  uint32_t next, left;   // the block to claim next; warps that are done
};

inline constexpr uint64_t kTurnedMark = 0x7475726e65642056;

struct Turned {
  uint8_t* data = nullptr;
  TurnedState* state = nullptr;
  uint64_t* ready = nullptr;  // of each block: when the launch began that turned it
  int all = 0;                // blocks
  int of_head = 0;            // of them; packed: of all sequences
  int first = 0;              // turned by consumers, before their first tile
  int group = 1;              // heads whose tiles run at the same time
};

constexpr int64_t turned_of_head(const Problem& p, int keys) {
  if (p.cu_seqlens_kv) return p.total_kv / keys + p.batch;
  return ceil_div(p.seqlen_kv, keys);
}
constexpr int64_t turned_in_all(const Problem& p, int keys) {
  return (p.cu_seqlens_kv ? 1 : p.batch) * int64_t{p.heads_kv} * turned_of_head(p, keys);
}

struct TurnedPlace {
  int batch, head, block;
};

// Blocks of one head that lie before those of a packed sequence.
NAMESAKE_HOST_DEVICE inline int turned_before(const Problem& p, int batch, int keys) {
  return p.cu_seqlens_kv[batch] / keys + batch;
}

// Heads whose blocks lie in groups: of a packed sequence, else of the whole batch.
struct TurnedHeads {
  int first;    // where the first of them begins
  int heads;    // of them
  int of_head;  // blocks
};

NAMESAKE_HOST_DEVICE inline TurnedHeads turned_heads(const Problem& p, const Turned& turned,
                                                     int batch, int keys) {
  if (!p.cu_seqlens_kv) return {0, p.batch * p.heads_kv, turned.of_head};
  const int before = turned_before(p, batch, keys), end = turned_before(p, batch + 1, keys);
  return {p.heads_kv * before, p.heads_kv, max_of(end - before, 1)};
}

// Where the blocks of a head lie: block b at first - b * step.
struct TurnedBlocks {
  int first, step;
};

NAMESAKE_HOST_DEVICE inline TurnedBlocks turned_blocks(const Problem& p, const Turned& turned,
                                                       int batch, int head, int keys) {
  const TurnedHeads all = turned_heads(p, turned, batch, keys);
  if (!p.cu_seqlens_kv) head += batch * p.heads_kv;
  const int begin = head / turned.group * turned.group,
            step = min_of(turned.group, all.heads - begin);
  return {all.first + begin * all.of_head + (all.of_head - 1) * step + head - begin, step};
}

// The reverse. Places may lie past a sequence's end, or in a head past the last one.
NAMESAKE_HOST_DEVICE inline TurnedPlace turned_place(const Problem& p, const Turned& turned,
                                                     int index, int keys) {
  int batch = 0;
  for (int end = p.cu_seqlens_kv ? p.batch : 0; end - batch > 1;) {
    const int middle = batch + (end - batch) / 2;
    (p.heads_kv * turned_before(p, middle, keys) <= index ? batch : end) = middle;
  }
  const TurnedHeads all = turned_heads(p, turned, batch, keys);
  index -= all.first;
  if (index >= all.heads * all.of_head) return {batch, p.heads_kv, 0};
  const int begin = index / (turned.group * all.of_head) * turned.group;
  const int step = min_of(turned.group, all.heads - begin);
  index -= begin * all.of_head;
  const int head = begin + index % step, block = all.of_head - 1 - index / step;
  if (p.cu_seqlens_kv) return {batch, head, block};
  return {head / p.heads_kv, head % p.heads_kv, block};
}

// Of the workspace: what is shared, the blocks, and their flags to a multiple of 16 bytes.
inline size_t turned_bytes(const Problem& p, int keys, int head_dim) {
  const size_t all = turned_in_all(p, keys);
  return sizeof(TurnedState) + all * turned_bytes(head_dim, keys) +
         (all + all % 2) * sizeof(uint64_t);
}
inline Turned turned_at(const Problem& p, int keys, int head_dim, int first, int group,
                        void* workspace) {
  const int64_t all = turned_in_all(p, keys);
  auto* const state = static_cast<TurnedState*>(workspace);
  auto* const data = reinterpret_cast<uint8_t*>(state + 1);
  auto* const ready = reinterpret_cast<uint64_t*>(data + all * turned_bytes(head_dim, keys));
  return {data,
          state,
          ready,
          static_cast<int>(all),
          static_cast<int>(turned_of_head(p, keys)),
          static_cast<int>(all < first ? all : first),
          group};
}

// Whether blocks can be counted in 32 bits.
constexpr bool turning_fits(const Problem& p, int keys) {
  return turned_in_all(p, keys) < int64_t{1} << 30;
}

}  // namespace namesake::attention::sm90
