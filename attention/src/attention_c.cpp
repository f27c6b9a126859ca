#include "namesake/attention_c.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

#include "namesake/attention.h"

namespace namesake::attention {
namespace {

void say(std::string_view text, char* message, size_t bytes) {
  if (!message || bytes == 0) return;
  const size_t length = std::min(text.size(), bytes - 1);
  std::memcpy(message, text.data(), length);
  message[length] = '\0';
}

Tensor tensor(const namesake_attention_tensor& t) {
  return {t.data, t.stride_batch, t.stride_seq, t.stride_head};
}

Scale scale(const namesake_attention_scale& s) {
  return {s.data, s.stride_batch, s.stride_head};
}

bool names_a_dtype(int32_t dtype) {
  return dtype >= NAMESAKE_ATTENTION_FP16 && dtype <= NAMESAKE_ATTENTION_E5M2;
}

Status translate(const namesake_attention_call* call, Forward& f) {
  if (!call) return {Code::invalid_argument, "the call is null"};
  if (call->struct_bytes != sizeof(namesake_attention_call))
    return {Code::invalid_argument, "struct_bytes is " + std::to_string(call->struct_bytes) +
                                        ": set it to sizeof(namesake_attention_call), " +
                                        std::to_string(sizeof(namesake_attention_call)) +
                                        " in this library"};
  for (const auto& [dtype, what] : {std::pair{call->dtype, "dtype"}, {call->o_dtype, "o_dtype"}})
    if (!names_a_dtype(dtype))
      return {Code::invalid_argument, std::string(what) + " is " + std::to_string(dtype) +
                                          ": give NAMESAKE_ATTENTION_FP16, _BF16, _E4M3 or _E5M2"};
  if (call->kernel < NAMESAKE_ATTENTION_AUTOMATIC || call->kernel > NAMESAKE_ATTENTION_HOPPER)
    return {Code::invalid_argument,
            "kernel is " + std::to_string(call->kernel) + ", which names no kernel"};
  f.dtype = static_cast<DType>(call->dtype);
  f.kernel = static_cast<Kernel>(call->kernel);
  f.batch = call->batch;
  f.seqlen_q = call->seqlen_q;
  f.seqlen_kv = call->seqlen_kv;
  f.heads_q = call->heads_q;
  f.heads_kv = call->heads_kv;
  f.head_dim = call->head_dim;
  f.q = tensor(call->q);
  f.k = tensor(call->k);
  f.v = tensor(call->v);
  f.o = tensor(call->o);
  f.lse = call->lse;
  f.lse_stride_batch = call->lse_stride_batch;
  f.lse_stride_head = call->lse_stride_head;
  f.cu_seqlens_q = call->cu_seqlens_q;
  f.cu_seqlens_kv = call->cu_seqlens_kv;
  f.total_q = call->total_q;
  f.total_kv = call->total_kv;
  f.seqused_q = call->seqused_q;
  f.seqused_kv = call->seqused_kv;
  f.causal = call->causal;
  f.softmax_scale = call->softmax_scale;
  f.key_splits = call->key_splits;
  f.o_dtype = static_cast<DType>(call->o_dtype);
  f.v_transposed = call->v_transposed;
  f.promote_keys = call->promote_keys;
  f.spare_workspace = call->spare_workspace;
  f.q_descale = scale(call->q_descale);
  f.k_descale = scale(call->k_descale);
  f.v_descale = scale(call->v_descale);
  f.o_scale = scale(call->o_scale);
  return {};
}

Status plan_of(const namesake_attention_call* call, Plan& plan) {
  Forward f;
  if (Status s = translate(call, f); !s.ok()) return s;
  return prepare(f, plan);
}

// C callers cannot catch: what memory runs out in becomes a value here.
template <typename Function>
int guarded(Function function, char* message, size_t bytes) {
  try {
    const Status s = function();
    if (!s.ok()) say(s.message, message, bytes);
    return static_cast<int>(s.code);
  } catch (const std::bad_alloc&) {
    say("out of host memory", message, bytes);
    return NAMESAKE_ATTENTION_UNSUPPORTED;
  }
}

}  // namespace
}  // namespace namesake::attention

using namespace namesake::attention;

int namesake_attention_query(const namesake_attention_call* call, size_t* workspace_bytes,
                             int32_t* kernel, char* message, size_t message_bytes) {
  return guarded(
      [&] {
        Plan plan;
        Status s = plan_of(call, plan);
        if (!s.ok()) return s;
        if (workspace_bytes) *workspace_bytes = plan.workspace_bytes();
        if (kernel) *kernel = static_cast<int32_t>(plan.kernel());
        say(plan.why(), message, message_bytes);
        return s;
      },
      message, message_bytes);
}

int namesake_attention_forward(const namesake_attention_call* call, void* workspace,
                               size_t workspace_bytes, CUstream_st* stream, char* message,
                               size_t message_bytes) {
  return guarded(
      [&] {
        say("", message, message_bytes);
        Plan plan;
        if (Status s = plan_of(call, plan); !s.ok()) return s;
        return plan.run(workspace, workspace_bytes, stream);
      },
      message, message_bytes);
}
