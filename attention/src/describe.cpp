#include "describe.h"

#include <cstdio>

namespace namesake::attention {
namespace {

void append(std::string& text, const char* label, int64_t value) {
  if (!text.empty()) text += ' ';
  text += label;
  text += ' ';
  text += std::to_string(value);
}

void append(std::string& text, const char* label, const Tensor& t) {
  text += ' ';
  text += label;
  text += '[' + std::to_string(t.stride_batch) + ' ' + std::to_string(t.stride_seq) + ' ' +
          std::to_string(t.stride_head) + ']';
}

void append(std::string& text, const char* label, const Scale& s) {
  if (!s.data) return;
  text += ' ';
  text += label;
  text += '[' + std::to_string(s.stride_batch) + ' ' + std::to_string(s.stride_head) + ']';
}

}  // namespace

const char* name(Kernel kernel) {
  switch (kernel) {
    case Kernel::automatic:
      return "automatic";
    case Kernel::reference:
      return "reference";
    case Kernel::portable:
      return "portable";
    case Kernel::hopper:
      return "hopper";
  }
  return "unknown";
}

const char* name(DType dtype) {
  switch (dtype) {
    case DType::fp16:
      return "fp16";
    case DType::bf16:
      return "bf16";
    case DType::e4m3:
      return "e4m3";
    case DType::e5m2:
      return "e5m2";
  }
  return "unknown";
}

std::string describe(const Problem& p) {
  std::string text = name(p.dtype);
  append(text, "batch", p.batch);
  append(text, "seqlen_q", p.seqlen_q);
  append(text, "seqlen_kv", p.seqlen_kv);
  append(text, "heads_q", p.heads_q);
  append(text, "heads_kv", p.heads_kv);
  append(text, "head_dim", p.head_dim);
  if (p.cu_seqlens_q) {
    append(text, "total_q", p.total_q);
    append(text, "total_kv", p.total_kv);
  }
  append(text, "q", p.q);
  append(text, "k", p.k);
  append(text, "v", p.v);
  append(text, "o", p.o);
  if (p.lse) {
    text += " lse[" + std::to_string(p.lse_stride_batch) + ' ' + std::to_string(p.lse_stride_head) +
            ']';
  }
  if (p.seqused_q) text += " seqused_q";
  if (p.seqused_kv) text += " seqused_kv";
  if (p.causal) text += " causal";
  if (p.key_splits != 1) append(text, "key_splits", p.key_splits);
  if (is_fp8(p.dtype)) {
    text += std::string(" o_dtype ") + name(p.o_dtype);
    append(text, "q_descale", p.q_descale);
    append(text, "k_descale", p.k_descale);
    append(text, "v_descale", p.v_descale);
    append(text, "o_scale", p.o_scale);
    if (p.v_transposed) text += " v_transposed";
    if (p.spare_workspace) text += " spare_workspace";
    append(text, "promote_keys", p.promote_keys);
  }
  char scale[32];
  std::snprintf(scale, sizeof scale, " scale %.9g", p.softmax_scale);
  return text + scale;
}

}  // namespace namesake::attention
