// Attention over eight tokens in forty lines. Host memory, so the CPU computes it; with device
// memory, the same call runs on the GPU.
#include <namesake/attention.h>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace attention = namesake::attention;

int main() {
  const int64_t tokens = 8, heads = 2, head_dim = 64;
  std::vector<uint16_t> q(tokens * heads * head_dim, 0x3f80);  // ones in bf16
  std::vector<uint16_t> k = q, v = q, o(q.size());
  std::vector<float> lse(heads * tokens);

  attention::Forward call;
  call.dtype = attention::DType::bf16;
  call.seqlen_q = call.seqlen_kv = tokens;
  call.heads_q = call.heads_kv = heads;
  call.head_dim = head_dim;
  const int64_t row = heads * head_dim;
  call.q = {q.data(), tokens * row, row, head_dim};
  call.k = {k.data(), tokens * row, row, head_dim};
  call.v = {v.data(), tokens * row, row, head_dim};
  call.o = {o.data(), tokens * row, row, head_dim};
  call.lse = lse.data();
  call.causal = true;

  attention::Plan plan;
  attention::Status status = prepare(call, plan);
  if (status.ok())
    status = plan.run(nullptr, 0,
                      nullptr);  // on a GPU: plan.workspace_bytes() of device memory, a stream
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message.c_str());
    return 1;
  }
  std::printf("%s kernel, because %s\n", name(plan.kernel()), plan.why().c_str());
  for (int64_t t = 0; t < tokens; t++)
    std::printf("token %d: log-sum-exp %.4f\n", static_cast<int>(t), lse[t]);
}
