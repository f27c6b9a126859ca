// One forward call as every backend sees it: validated, normalised, with nothing optional left
// open.
#pragma once

#include <cstdint>

#include "../include/namesake/attention.h"  // DType, Tensor

namespace namesake::attention {

struct Problem {
  DType dtype = DType::fp16;
  int32_t batch = 0, seqlen_q = 0,
          seqlen_kv = 0;  // seqlen_*: the longest sequence when lengths vary
  int32_t heads_q = 0, heads_kv = 0, head_dim = 0;
  int64_t total_q = 0, total_kv = 0;  // packed variable lengths: rows in all; else 0

  Tensor q, k, v, o;
  float* lse = nullptr;  // lse[b][h][s], natural log; packed: lse[h][total_q]; null: not wanted
  int64_t lse_stride_batch = 0, lse_stride_head = 0;

  const int32_t* cu_seqlens_q = nullptr;  // packed: batch + 1 entries on the device, or null
  const int32_t* cu_seqlens_kv = nullptr;
  const int32_t* seqused_q =
      nullptr;  // padded: the length in use of each sequence, on the device, or null
  const int32_t* seqused_kv = nullptr;

  int32_t key_splits = 1;  // see split.h; 0: as many as fill the device
  bool causal = false;     // bottom-right aligned: query row i sees keys j <= i + len_kv - len_q
  float softmax_scale = 1.0f;
};

struct DeviceInfo {
  int ordinal = 0, major = 0, minor = 0, sm_count = 0;
  int max_smem_per_block = 0;  // bytes, with the opt-in
  int64_t l2_bytes = 0;
};

}  // namespace namesake::attention
