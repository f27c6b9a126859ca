#include "validate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "split.h"

namespace namesake::attention {
namespace {

// Kernels count rows in 32 bits and look one tile ahead.
constexpr int64_t kMostRows = int64_t{1} << 30;
constexpr int64_t kMostHeads = int64_t{1} << 20;
constexpr int64_t kMostBatch = int64_t{1} << 30;
constexpr int64_t kMostElements = int64_t{1} << 60;  // offsets stay far from the end of 64 bits

Status invalid(std::string message) {
  return {Code::invalid_argument, std::move(message)};
}

std::string text(int64_t value) {
  return std::to_string(value);
}

Status check_size(const char* what, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return {};
  return invalid(std::string(what) + " is " + text(value) + ": give " + text(least) + " to " +
                 text(most));
}

Status check_stride(const char* what, const char* label, int64_t stride, int64_t size) {
  if (stride < 0)
    return invalid(std::string(what) + "." + label + " is " + text(stride) +
                   ": strides may not be negative");
  if (size > 1 && stride > kMostElements / size)
    return invalid(std::string(what) + "." + label + " is " + text(stride) +
                   ": no memory is that large");
  return {};
}

struct Extent {
  int64_t batch, rows, heads;
  bool empty() const { return batch == 0 || rows == 0 || heads == 0; }
};

Status check_tensor(const char* what, const Tensor& t, int element_bytes, const Extent& extent) {
  if (extent.empty()) return {};
  if (!t.data) return invalid(std::string(what) + " is null: give its address");
  if (reinterpret_cast<uintptr_t>(t.data) % element_bytes != 0)
    return invalid(std::string(what) + " does not start at a multiple of its element's size");
  const std::array<std::pair<const char*, std::pair<int64_t, int64_t>>, 3> dimensions = {{
      {"stride_batch", {t.stride_batch, extent.batch}},
      {"stride_seq", {t.stride_seq, extent.rows}},
      {"stride_head", {t.stride_head, extent.heads}},
  }};
  for (const auto& [label, dimension] : dimensions)
    if (Status s = check_stride(what, label, dimension.first, dimension.second); !s.ok()) return s;
  return {};
}

// Sorted by stride, each dimension must step over all that the smaller ones reach. That also
// refuses a few interleavings that happen not to collide; no tensor library makes those.
bool elements_are_distinct(const Tensor& t, const Extent& extent, int64_t head_dim) {
  std::array<std::pair<int64_t, int64_t>, 3> dimensions = {
      {{t.stride_batch, extent.batch}, {t.stride_seq, extent.rows}, {t.stride_head, extent.heads}}};
  std::sort(dimensions.begin(), dimensions.end());
  int64_t reach = head_dim;
  for (const auto& [stride, size] : dimensions) {
    if (size <= 1) continue;
    if (stride < reach) return false;
    reach += stride * (size - 1);
  }
  return true;
}

Status check_lengths(const Forward& call) {
  const bool packed_q = call.cu_seqlens_q, packed_kv = call.cu_seqlens_kv;
  if (packed_q != packed_kv)
    return invalid(std::string(packed_q ? "cu_seqlens_kv" : "cu_seqlens_q") +
                   " is null while the other is not: packed lengths come in pairs");
  if (packed_q && (call.seqused_q || call.seqused_kv))
    return invalid("cu_seqlens_* and seqused_* are both given: a call is packed or padded");
  for (const int32_t* lengths :
       {call.cu_seqlens_q, call.cu_seqlens_kv, call.seqused_q, call.seqused_kv})
    if (reinterpret_cast<uintptr_t>(lengths) % alignof(int32_t) != 0)
      return invalid("an array of lengths does not start at a multiple of 4 bytes");
  if (!packed_q) {
    if (call.total_q != 0 || call.total_kv != 0)
      return invalid(
          "total_q and total_kv count the rows of packed tensors: leave them 0 without "
          "cu_seqlens_*");
    return {};
  }
  if (Status s = check_size("total_q", call.total_q, 0, kMostElements); !s.ok()) return s;
  return check_size("total_kv", call.total_kv, 0, kMostElements);
}

Status check_lse(const Forward& call, int64_t rows, Problem& p) {
  if (!call.lse) return {};
  if (reinterpret_cast<uintptr_t>(call.lse) % alignof(float) != 0)
    return invalid("lse does not start at a multiple of 4 bytes");
  const bool packed = call.cu_seqlens_q;
  p.lse_stride_batch = call.lse_stride_batch;
  p.lse_stride_head = call.lse_stride_head;
  if (p.lse_stride_batch == 0 && p.lse_stride_head == 0) {
    p.lse_stride_head = rows;
    p.lse_stride_batch = rows * call.heads_q;
  }
  if (packed) p.lse_stride_batch = 0;
  const Extent extent{packed ? 1 : call.batch, rows, call.heads_q};
  if (Status s = check_tensor("lse", {call.lse, p.lse_stride_batch, 1, p.lse_stride_head},
                              sizeof(float), extent);
      !s.ok())
    return s;
  if (!extent.empty() &&
      !elements_are_distinct({call.lse, p.lse_stride_batch, 1, p.lse_stride_head}, extent, 1))
    return invalid(
        "lse's strides make two of its elements share memory: give larger ones, or 0 for dense");
  return {};
}

Status check_dtype(const char* what, DType dtype) {
  if (dtype <= DType::e5m2) return {};
  return invalid(std::string(what) + " is " + text(static_cast<int>(dtype)) +
                 ", which names no element type");
}

Status check_scale(const char* what, const Scale& scale, int64_t batch, int64_t heads) {
  if (!scale.data) return {};
  if (reinterpret_cast<uintptr_t>(scale.data) % alignof(float) != 0)
    return invalid(std::string(what) + " does not start at a multiple of 4 bytes");
  const std::pair<const char*, std::pair<int64_t, int64_t>> dimensions[] = {
      {"stride_batch", {scale.stride_batch, batch}}, {"stride_head", {scale.stride_head, heads}}};
  for (const auto& [label, dimension] : dimensions)
    if (Status s = check_stride(what, label, dimension.first, dimension.second); !s.ok()) return s;
  return {};
}

// What fp8 alone takes.
Status check_fp8(const Forward& call, Problem& p) {
  if (!is_fp8(call.dtype)) {
    for (const auto& [scale, what] : {std::pair{&call.q_descale, "q_descale"},
                                      {&call.k_descale, "k_descale"},
                                      {&call.v_descale, "v_descale"},
                                      {&call.o_scale, "o_scale"}})
      if (scale->data)
        return invalid(std::string(what) + " is given and dtype is " + name(call.dtype) +
                       ": only fp8 takes scales");
    if (call.v_transposed)
      return invalid(std::string("v_transposed is true and dtype is ") + name(call.dtype) +
                     ": only fp8 takes a transposed v");
    if (call.promote_keys != 0)
      return invalid("promote_keys is " + text(call.promote_keys) + " and dtype is " +
                     name(call.dtype) + ": only fp8 has sums to promote, leave it 0");
    if (call.spare_workspace)
      return invalid(std::string("spare_workspace is true and dtype is ") + name(call.dtype) +
                     ": only fp8 has workspace to spare");
    p.o_dtype = call.dtype;
    return {};
  }
  if (Status s = check_dtype("o_dtype", call.o_dtype); !s.ok()) return s;
  if (call.o_scale.data && !is_fp8(call.o_dtype))
    return invalid(std::string("o_scale is given and o_dtype is ") + name(call.o_dtype) +
                   ": only an fp8 o is scaled");
  if (call.promote_keys != kNeverPromote) {
    if (Status s = check_size("promote_keys", call.promote_keys, 0, kMostRows); !s.ok()) return s;
  }
  if (Status s = check_scale("q_descale", call.q_descale, call.batch, call.heads_q); !s.ok())
    return s;
  if (Status s = check_scale("k_descale", call.k_descale, call.batch, call.heads_kv); !s.ok())
    return s;
  if (Status s = check_scale("v_descale", call.v_descale, call.batch, call.heads_kv); !s.ok())
    return s;
  if (Status s = check_scale("o_scale", call.o_scale, call.batch, call.heads_q); !s.ok()) return s;
  p.o_dtype = call.o_dtype;
  p.q_descale = call.q_descale;
  p.k_descale = call.k_descale;
  p.v_descale = call.v_descale;
  p.o_scale = call.o_scale;
  p.v_transposed = call.v_transposed;
  p.spare_workspace = call.spare_workspace;
  p.promote_keys = call.promote_keys == kNeverPromote ? 0
                   : call.promote_keys == 0           ? kPromoteKeys
                                                      : static_cast<int32_t>(call.promote_keys);
  return {};
}

}  // namespace

Status validate(const Forward& call, Problem& problem) {
  if (Status s = check_dtype("dtype", call.dtype); !s.ok()) return s;
  if (Status s = check_size("batch", call.batch, 0, kMostBatch); !s.ok()) return s;
  if (Status s = check_size("seqlen_q", call.seqlen_q, 0, kMostRows); !s.ok()) return s;
  if (Status s = check_size("seqlen_kv", call.seqlen_kv, 0, kMostRows); !s.ok()) return s;
  if (Status s = check_size("heads_q", call.heads_q, 1, kMostHeads); !s.ok()) return s;
  if (Status s = check_size("heads_kv", call.heads_kv, 1, kMostHeads); !s.ok()) return s;
  if (call.heads_q % call.heads_kv != 0)
    return invalid("heads_q is " + text(call.heads_q) + " and heads_kv " + text(call.heads_kv) +
                   ": heads_q must be a multiple of heads_kv");
  if (call.head_dim < 8 || call.head_dim > 256 || call.head_dim % 8 != 0)
    return invalid("head_dim is " + text(call.head_dim) + ": give a multiple of 8 from 8 to 256");
  if (!std::isfinite(call.softmax_scale) || call.softmax_scale < 0)
    return invalid("softmax_scale is " + std::to_string(call.softmax_scale) +
                   ": give a positive number, or 0 for 1/sqrt(head_dim)");
  if (call.key_splits != kFillDevice) {
    if (Status s = check_size("key_splits", call.key_splits, 0, kMostSplits); !s.ok()) return s;
  }
  if (Status s = check_lengths(call); !s.ok()) return s;

  Problem p;
  p.dtype = call.dtype;
  if (Status s = check_fp8(call, p); !s.ok()) return s;
  p.batch = static_cast<int32_t>(call.batch);
  p.seqlen_q = static_cast<int32_t>(call.seqlen_q);
  p.seqlen_kv = static_cast<int32_t>(call.seqlen_kv);
  p.heads_q = static_cast<int32_t>(call.heads_q);
  p.heads_kv = static_cast<int32_t>(call.heads_kv);
  p.head_dim = static_cast<int32_t>(call.head_dim);
  p.total_q = call.total_q;
  p.total_kv = call.total_kv;
  p.q = call.q;
  p.k = call.k;
  p.v = call.v;
  p.o = call.o;
  p.lse = call.lse;
  p.cu_seqlens_q = call.cu_seqlens_q;
  p.cu_seqlens_kv = call.cu_seqlens_kv;
  p.seqused_q = call.seqused_q;
  p.seqused_kv = call.seqused_kv;
  p.key_splits = call.key_splits == kFillDevice ? 0
                 : call.key_splits == 0         ? 1
                                                : static_cast<int32_t>(call.key_splits);
  p.causal = call.causal;
  p.softmax_scale = call.softmax_scale > 0 ? call.softmax_scale
                                           : 1.0f / std::sqrt(static_cast<float>(call.head_dim));

  const bool packed = call.cu_seqlens_q;
  if (packed) p.q.stride_batch = p.k.stride_batch = p.v.stride_batch = p.o.stride_batch = 0;
  const Extent rows_q{packed ? 1 : call.batch, packed ? call.total_q : call.seqlen_q, call.heads_q};
  const Extent rows_kv{packed ? 1 : call.batch, packed ? call.total_kv : call.seqlen_kv,
                       call.heads_kv};
  Extent rows_v = rows_kv;
  if (p.v_transposed && !rows_kv.empty()) rows_v.rows = call.head_dim;
  const int bytes = bytes_of(p.dtype);
  if (Status s = check_tensor("q", p.q, bytes, rows_q); !s.ok()) return s;
  if (Status s = check_tensor("k", p.k, bytes, rows_kv); !s.ok()) return s;
  if (Status s = check_tensor("v", p.v, bytes, rows_v); !s.ok()) return s;
  if (Status s = check_tensor("o", p.o, bytes_of(p.o_dtype), rows_q); !s.ok()) return s;
  if (!rows_q.empty() && !elements_are_distinct(p.o, rows_q, call.head_dim))
    return invalid("o's strides make two of its elements share memory: give each element its own");
  if (Status s = check_lse(call, rows_q.rows, p); !s.ok()) return s;

  problem = p;
  return {};
}

}  // namespace namesake::attention
