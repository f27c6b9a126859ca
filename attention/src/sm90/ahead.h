// V turned ahead of the kernel that uses it.
//
// A turned V is read by every tile of its head: in a long sequence each block would be turned again
// for every 128 or 192 query rows, by warps that compete with the tensor cores for shared memory. A
// kernel that turns all of V once into the workspace costs one pass over V; which of the two is
// cheaper follows from how many query rows share a block (plan.cpp).
//
// The turned V lies in blocks of a tile's keys, each as it lies in shared memory (layout.h), so
// that a block is one copy: turned[batch][head][block]. Packed sequences lie behind one another,
// each from a block of its own. Keys beyond a sequence's end are zero.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "../sequence.h"
#include "layout.h"
#include "schedule.h"

namespace namesake::attention::sm90 {

struct Turned {
  uint8_t* data = nullptr;
  int64_t blocks = 0;  // of one head (packed: of all its sequences)
};

constexpr int64_t turned_blocks(const Problem& p, int keys) {
  if (p.cu_seqlens_kv) return p.total_kv / keys + p.batch;
  return ceil_div(p.seqlen_kv, keys);
}

// The first block of a sequence and head.
NAMESAKE_HOST_DEVICE inline int64_t first_turned(const Problem& p, const Turned& turned, int batch,
                                                 int head, int64_t first_kv, int keys) {
  if (p.cu_seqlens_kv) return head * turned.blocks + first_kv / keys + batch;
  return (int64_t{batch} * p.heads_kv + head) * turned.blocks;
}

inline size_t turned_bytes(const Problem& p, int keys, int head_dim) {
  return static_cast<size_t>(p.cu_seqlens_kv ? 1 : p.batch) * p.heads_kv * turned_blocks(p, keys) *
         turned_bytes(head_dim, keys);
}

// Whether one launch can do it.
constexpr bool turning_fits(const Problem& p) {
  return p.batch < 65536 && p.heads_kv < 65536;
}

// Fills `turned`, whose blocks are those of the one tile that takes it (tile.h).
cudaError_t turn_ahead(Problem problem, Turned turned, cudaStream_t stream);

}  // namespace namesake::attention::sm90
