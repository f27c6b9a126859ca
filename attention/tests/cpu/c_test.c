/* The C header as C sees it: a call over host memory, and errors as values. */
#include <math.h>
#include <namesake/attention_c.h>
#include <stdio.h>
#include <string.h>

#define EXPECT(condition)                                                  \
  do {                                                                     \
    if (!(condition)) {                                                    \
      fprintf(stderr, "line %d: %s; %s\n", __LINE__, #condition, message); \
      return 1;                                                            \
    }                                                                      \
  } while (0)

int main(void) {
  char message[120] = "";
  uint16_t q[4 * 8], k[4 * 8], v[4 * 8], o[4 * 8];
  float lse[4];
  for (int i = 0; i < 4 * 8; i++) {
    q[i] = k[i] = 0x3f80; /* 1 in bf16 */
    v[i] = 0x4000;        /* 2 */
    o[i] = 0;
  }
  namesake_attention_call call;
  memset(&call, 0, sizeof call);
  call.struct_bytes = sizeof call;
  call.dtype = NAMESAKE_ATTENTION_BF16;
  call.batch = 1;
  call.seqlen_q = call.seqlen_kv = 4;
  call.heads_q = call.heads_kv = 1;
  call.head_dim = 8;
  const namesake_attention_tensor dense = {NULL, 32, 8, 8};
  call.q = call.k = call.v = call.o = dense;
  call.q.data = q;
  call.k.data = k;
  call.v.data = v;
  call.o.data = o;
  call.lse = lse;
  call.softmax_scale = 0.5f;

  size_t bytes = 1;
  int32_t kernel = -1;
  EXPECT(namesake_attention_query(&call, &bytes, &kernel, message, sizeof message) ==
         NAMESAKE_ATTENTION_OK);
  EXPECT(bytes == 0 && kernel == NAMESAKE_ATTENTION_REFERENCE);
  EXPECT(strcmp(message, "the tensors are host memory") == 0);
  EXPECT(namesake_attention_forward(&call, NULL, 0, NULL, message, sizeof message) ==
         NAMESAKE_ATTENTION_OK);
  EXPECT(message[0] == '\0');
  for (int i = 0; i < 4 * 8; i++) EXPECT(o[i] == 0x4000);
  for (int i = 0; i < 4; i++) EXPECT(fabsf(lse[i] - (4 + logf(4))) < 1e-5f);

  call.head_dim = 7;
  EXPECT(namesake_attention_query(&call, NULL, NULL, message, sizeof message) ==
         NAMESAKE_ATTENTION_INVALID_ARGUMENT);
  EXPECT(strcmp(message, "head_dim is 7: give a multiple of 8 from 8 to 256") == 0);
  EXPECT(namesake_attention_query(&call, NULL, NULL, message, 9) ==
         NAMESAKE_ATTENTION_INVALID_ARGUMENT);
  EXPECT(strcmp(message, "head_dim") == 0);
  EXPECT(namesake_attention_query(&call, NULL, NULL, NULL, 0) ==
         NAMESAKE_ATTENTION_INVALID_ARGUMENT);
  call.head_dim = 8;
  call.struct_bytes = 12;
  EXPECT(namesake_attention_forward(&call, NULL, 0, NULL, message, sizeof message) ==
         NAMESAKE_ATTENTION_INVALID_ARGUMENT);
  EXPECT(strstr(message, "struct_bytes is 12") != NULL);
  call.struct_bytes = sizeof call;
  call.dtype = NAMESAKE_ATTENTION_BF16;
  call.v_transposed = true;
  EXPECT(namesake_attention_query(&call, NULL, NULL, message, sizeof message) ==
         NAMESAKE_ATTENTION_INVALID_ARGUMENT);
  EXPECT(strstr(message, "v_transposed is true and dtype is bf16") != NULL);

  /* fp8: ones, values of two in rows of head_dim, each sequence and head scaled. */
  uint8_t q8[4 * 8], v8[4 * 8], o8[4 * 8];
  memset(q8, 0x38, sizeof q8); /* 1 in e4m3 */
  memset(v8, 0x40, sizeof v8); /* 2 */
  const float half = 0.5f, three = 3, hundred = 100;
  call.dtype = NAMESAKE_ATTENTION_E4M3;
  call.o_dtype = NAMESAKE_ATTENTION_E5M2;
  call.promote_keys = NAMESAKE_ATTENTION_NEVER_PROMOTE;
  call.q.data = call.k.data = q8;
  call.v.data = v8;
  call.v.stride_seq = 4; /* of columns: keys are contiguous */
  call.o.data = o8;
  call.q_descale.data = call.k_descale.data = &half;
  call.v_descale.data = &three;
  call.o_scale.data = &hundred;
  EXPECT(namesake_attention_forward(&call, NULL, 0, NULL, message, sizeof message) ==
         NAMESAKE_ATTENTION_OK);
  for (int i = 0; i < 4 * 8; i++) EXPECT(o8[i] == 0x61); /* 600 is between 512 and 640: 640 */
  for (int i = 0; i < 4; i++) EXPECT(fabsf(lse[i] - (1 + logf(4))) < 1e-5f);
  call.o_dtype = 4;
  EXPECT(namesake_attention_forward(&call, NULL, 0, NULL, message, sizeof message) ==
         NAMESAKE_ATTENTION_INVALID_ARGUMENT);
  EXPECT(strstr(message, "o_dtype is 4") != NULL);
  call.o_dtype = NAMESAKE_ATTENTION_E5M2;
  call.dtype = 9;
  EXPECT(namesake_attention_forward(&call, NULL, 0, NULL, message, sizeof message) ==
         NAMESAKE_ATTENTION_INVALID_ARGUMENT);
  EXPECT(namesake_attention_forward(NULL, NULL, 0, NULL, message, sizeof message) ==
         NAMESAKE_ATTENTION_INVALID_ARGUMENT);
  return 0;
}
