// Where one sequence of a problem lies, on the CPU and in kernels.
#pragma once

#include "host_device.h"
#include "problem.h"

namespace namesake::attention {

struct Sequence {
  int64_t first_q = 0,
          first_kv = 0;  // first row, in the packed tensors; 0 where there is a batch stride
  int32_t length_q = 0,
          length_kv = 0;  // held to the maxima of the problem, whatever the device's arrays say
};

NAMESAKE_HOST_DEVICE inline int32_t held_to(int64_t length, int32_t maximum) {
  return length < 0 ? 0 : length > maximum ? maximum : static_cast<int32_t>(length);
}

NAMESAKE_HOST_DEVICE inline Sequence sequence_of(const Problem& p, int32_t batch) {
  Sequence s{0, 0, p.seqlen_q, p.seqlen_kv};
  if (p.cu_seqlens_q) {
    s.first_q = p.cu_seqlens_q[batch];
    s.length_q = held_to(p.cu_seqlens_q[batch + 1] - s.first_q, p.seqlen_q);
  }
  if (p.cu_seqlens_kv) {
    s.first_kv = p.cu_seqlens_kv[batch];
    s.length_kv = held_to(p.cu_seqlens_kv[batch + 1] - s.first_kv, p.seqlen_kv);
  }
  if (p.seqused_q) s.length_q = held_to(p.seqused_q[batch], p.seqlen_q);
  if (p.seqused_kv) s.length_kv = held_to(p.seqused_kv[batch], p.seqlen_kv);
  return s;
}

// Elements from tensor.data to row `first` of a sequence and head.
NAMESAKE_HOST_DEVICE inline int64_t offset_of(const Tensor& t, int32_t batch, int64_t first,
                                              int32_t head) {
  return batch * t.stride_batch + first * t.stride_seq + head * t.stride_head;
}

// How many keys a query row sees: those before this one.
NAMESAKE_HOST_DEVICE inline int32_t keys_seen(const Problem& p, const Sequence& s, int32_t row) {
  if (!p.causal) return s.length_kv;
  return held_to(static_cast<int64_t>(row) + 1 + s.length_kv - s.length_q, s.length_kv);
}

}  // namespace namesake::attention
