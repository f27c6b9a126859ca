// Decoding: one query row a head. Each query head would fill a tile with a single row, and heads
// that share keys would read them once each. As rows of one head they share a tile, and the keys
// are read once: the same memory, seen with other strides. A row sees all keys, with a causal mask
// too.
#pragma once

#include "problem.h"

namespace namesake::attention {

inline Problem rows_from_heads(const Problem& p) {
  const int32_t group = p.heads_kv > 0 ? p.heads_q / p.heads_kv : 1;
  const bool lse_is_dense = !p.lse || p.lse_stride_head == 1;
  if (p.seqlen_q != 1 || group == 1 || p.cu_seqlens_q || p.seqused_q || !lse_is_dense ||
      p.q.stride_head == 0) {
    return p;
  }
  Problem rows = p;
  rows.seqlen_q = group;
  rows.heads_q = p.heads_kv;
  rows.causal = false;
  for (Tensor* t : {&rows.q, &rows.o}) {
    t->stride_seq = t->stride_head;
    t->stride_head *= group;
  }
  rows.lse_stride_head *= group;
  return rows;
}

}  // namespace namesake::attention
