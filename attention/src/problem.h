// One forward call as every backend sees it: validated, normalised, with nothing optional left
// open.
#pragma once

#include <cstdint>

#include "../include/namesake/attention.h"  // DType, Scale, Tensor
#include "host_device.h"

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

  DType o_dtype = DType::fp16;  // dtype, unless that is fp8
  Scale q_descale, k_descale, v_descale, o_scale;
  bool v_transposed = false;
  int32_t promote_keys = 0;  // 0: never
  bool spare_workspace = false;
};

// What 0 in Forward::promote_keys stands for.
inline constexpr int32_t kPromoteKeys = 4096;

NAMESAKE_HOST_DEVICE constexpr bool is_fp8(DType dtype) {
  return dtype == DType::e4m3 || dtype == DType::e5m2;
}
NAMESAKE_HOST_DEVICE constexpr int bytes_of(DType dtype) {
  return is_fp8(dtype) ? 1 : 2;
}

NAMESAKE_HOST_DEVICE inline float scale_at(const Scale& s, int32_t batch, int32_t head) {
  return s.data ? s.data[batch * s.stride_batch + head * s.stride_head] : 1.0f;
}

struct DeviceInfo {
  int ordinal = 0, major = 0, minor = 0, sm_count = 0;
  int max_smem_per_block = 0;  // bytes, with the opt-in
  int64_t l2_bytes = 0;
};

}  // namespace namesake::attention
