// Decoding: one query row a head. Each query head would fill a tile with a single row, and heads
// that share keys would read them once each. As rows of one head they share a tile, and the keys
// are read once: the same memory, seen with other strides. A row sees all keys, with a causal mask
// too. What an fp8 call gives for each query head would have to be given for each row, so it must
// be one for all.
#pragma once

#include "problem.h"

namespace namesake::attention {

inline bool same_for_all_heads(const Scale& scale) {
  return !scale.data || scale.stride_head == 0;
}

inline Problem rows_from_heads(const Problem& p) {
  const int32_t group = p.heads_kv > 0 ? p.heads_q / p.heads_kv : 1;
  const bool lse_is_dense = !p.lse || p.lse_stride_head == 1;
  if (p.seqlen_q != 1 || group == 1 || p.cu_seqlens_q || p.seqused_q || !lse_is_dense ||
      p.q.stride_head == 0 || !same_for_all_heads(p.q_descale) || !same_for_all_heads(p.o_scale)) {
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
