// Dividing the keys of every sequence into parts.
//
// Attention over few query rows and many keys has too few tiles to occupy a GPU. Its keys can be
// divided: each part is a tile of its own, which leaves its rows' outputs, normalised by itself,
// and their LSE in the workspace, and a second kernel weighs the parts (combine.cu). Parts are in
// fp32, so that nothing is rounded twice; they cost 4 · head_dim bytes a row and part, written and
// read.
//
// The blocks of a part follow from the sequence's own length and the number of parts. So a given
// number of parts keeps a sequence's bits independent of its batch; as many parts as fill the
// device do not, since that number depends on everything.
#pragma once

#include <cstddef>
#include <cstdint>

#include "host_device.h"
#include "sequence.h"

namespace namesake::attention {

constexpr int kMostSplits = 128;
// A part of fewer blocks of keys costs more to begin and to combine than it saves.
constexpr int kLeastBlocksOfPart = 2;

// Parts that give each of `places` tiles at a time something to do.
constexpr int splits_to_fill(int64_t tiles, int64_t places, int64_t key_blocks) {
  if (tiles <= 0) return 1;
  int64_t splits = places / tiles;
  if (splits > key_blocks / kLeastBlocksOfPart) splits = key_blocks / kLeastBlocksOfPart;
  if (splits > kMostSplits) splits = kMostSplits;
  return splits < 1 ? 1 : static_cast<int>(splits);
}

// One part as a sequence of its own, which begins at the part's first key and reaches to the end of
// the whole one, so that masks stay where they were; `blocks` of it belong to the part.
struct Part {
  Sequence sequence;
  int32_t blocks;
};

NAMESAKE_HOST_DEVICE inline Part part_of(const Sequence& whole, int part, int splits, int block) {
  int32_t blocks = (whole.length_kv + block - 1) / block;
  if (splits == 1) return {whole, blocks};
  int32_t each = (blocks + splits - 1) / splits;
  int64_t first = int64_t{part} * each * block;
  Part result{whole, each};
  result.sequence.first_kv += first;
  result.sequence.length_kv = held_to(whole.length_kv - first, whole.length_kv);
  return result;
}

// What the parts leave: o[part][batch][head][row][head_dim] and lse[part][batch][head][row]; packed
// rows count over all sequences, with a batch of 1.
struct Partials {
  float* o = nullptr;
  float* lse = nullptr;
};

NAMESAKE_HOST_DEVICE inline int64_t partial_rows(const Problem& p) {
  return (p.cu_seqlens_q ? p.total_q : int64_t{p.batch} * p.seqlen_q) * p.heads_q;
}

// Which row of the partials belongs to a row of the (packed or batched) tensors.
NAMESAKE_HOST_DEVICE inline int64_t partial_row(const Problem& p, int part, int32_t batch,
                                                int32_t head, int64_t row) {
  int64_t rows = p.cu_seqlens_q ? p.total_q : p.seqlen_q;
  int64_t sequence = p.cu_seqlens_q ? 0 : batch;
  return part * partial_rows(p) + (sequence * p.heads_q + head) * rows + row;
}

inline size_t partials_bytes(const Problem& p) {
  if (p.key_splits <= 1) return 0;
  return static_cast<size_t>(p.key_splits) * partial_rows(p) * (p.head_dim + 1) * sizeof(float);
}

inline Partials partials_at(const Problem& p, void* workspace) {
  if (p.key_splits <= 1) return {};
  auto* o = static_cast<float*>(workspace);
  return {o, o + p.key_splits * partial_rows(p) * p.head_dim};
}

}  // namespace namesake::attention
