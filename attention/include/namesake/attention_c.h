/* Forward attention from C. The C++ header beside this one says what each field means.

   namesake_attention_call call = {.struct_bytes = sizeof call, .dtype = NAMESAKE_ATTENTION_BF16,
   ...}; size_t bytes; namesake_attention_query(&call, &bytes, NULL, message, sizeof message);
   namesake_attention_forward(&call, workspace, bytes, stream, message, sizeof message);

   Every function returns a namesake_attention_code and writes a sentence into `message` (cut to
   message_bytes, always terminated; null with 0 if not wanted): of an error, what is wrong; of a
   query, why the kernel was chosen. */
#ifndef NAMESAKE_ATTENTION_C_H
#define NAMESAKE_ATTENTION_C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

typedef enum {
  NAMESAKE_ATTENTION_FP16 = 0,
  NAMESAKE_ATTENTION_BF16 = 1,
  NAMESAKE_ATTENTION_E4M3 = 2,
  NAMESAKE_ATTENTION_E5M2 = 3,
} namesake_attention_dtype;

typedef enum {
  NAMESAKE_ATTENTION_AUTOMATIC = 0,
  NAMESAKE_ATTENTION_REFERENCE = 1,
  NAMESAKE_ATTENTION_PORTABLE = 2,
  NAMESAKE_ATTENTION_HOPPER = 3,
} namesake_attention_kernel;

typedef enum {
  NAMESAKE_ATTENTION_OK = 0,
  NAMESAKE_ATTENTION_INVALID_ARGUMENT = 1,
  NAMESAKE_ATTENTION_UNSUPPORTED = 2,
  NAMESAKE_ATTENTION_CUDA_ERROR = 3,
} namesake_attention_code;

typedef struct {
  void* data;
  int64_t stride_batch, stride_seq, stride_head; /* in elements; head_dim is contiguous */
} namesake_attention_tensor;

typedef struct {
  const float* data;                 /* null: 1 */
  int64_t stride_batch, stride_head; /* in floats */
} namesake_attention_scale;

typedef struct {
  size_t struct_bytes; /* sizeof(namesake_attention_call): says which version of this struct the
                          caller has */
  int32_t dtype;       /* namesake_attention_dtype */
  int32_t kernel;      /* namesake_attention_kernel */
  int64_t batch, seqlen_q, seqlen_kv;
  int64_t heads_q, heads_kv, head_dim;
  namesake_attention_tensor q, k, v, o;
  float* lse;
  int64_t lse_stride_batch, lse_stride_head;
  const int32_t* cu_seqlens_q;
  const int32_t* cu_seqlens_kv;
  int64_t total_q, total_kv;
  const int32_t* seqused_q;
  const int32_t* seqused_kv;
  bool causal;
  float softmax_scale; /* 0: 1/sqrt(head_dim) */
  int64_t key_splits;  /* 0: none; 2 to 128; NAMESAKE_ATTENTION_FILL_DEVICE */
  /* fp8 alone; others leave them 0 */
  int32_t o_dtype;      /* namesake_attention_dtype */
  bool v_transposed;    /* not with packed lengths */
  bool spare_workspace; /* never a turned copy of v in it */
  int64_t promote_keys; /* 0: the default; NAMESAKE_ATTENTION_NEVER_PROMOTE */
  namesake_attention_scale q_descale, k_descale, v_descale, o_scale;
} namesake_attention_call;

#define NAMESAKE_ATTENTION_FILL_DEVICE (-1)
#define NAMESAKE_ATTENTION_NEVER_PROMOTE (-1)

/* What forward would do: how much workspace it needs and by which kernel (each may be null).
 * Launches nothing. */
int namesake_attention_query(const namesake_attention_call* call, size_t* workspace_bytes,
                             int32_t* kernel, char* message, size_t message_bytes);

/* Checks the call and enqueues it on the stream (a cudaStream_t) of the current device. */
int namesake_attention_forward(const namesake_attention_call* call, void* workspace,
                               size_t workspace_bytes, struct CUstream_st* stream, char* message,
                               size_t message_bytes);

#ifdef __cplusplus
}
#endif

#endif
