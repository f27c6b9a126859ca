// A call over host memory: dense [batch][seq][head][dim] tensors with reproducible inputs.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "namesake/attention.h"
#include "reference/element.h"

namespace namesake::attention::test {

struct HostCall {
  std::vector<uint16_t> q, k, v, o;  // 8-bit elements fill the first half
  std::vector<float> lse;
  Forward call;
};

inline std::vector<uint16_t> normal(size_t elements, DType dtype, uint32_t seed, double sigma = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> distribution(0, sigma);
  std::vector<uint16_t> values(elements);
  for (size_t i = 0; i < elements; i++)
    reference::store(values.data(), static_cast<int64_t>(i), dtype, distribution(generator));
  return values;
}

inline HostCall host_call(DType dtype, int64_t batch, int64_t seqlen_q, int64_t seqlen_kv,
                          int64_t heads_q, int64_t heads_kv, int64_t head_dim) {
  HostCall h;
  const int64_t elements_q = batch * seqlen_q * heads_q * head_dim,
                elements_kv = batch * seqlen_kv * heads_kv * head_dim;
  h.q = normal(elements_q, dtype, 1);
  h.k = normal(elements_kv, dtype, 2);
  h.v = normal(elements_kv, dtype, 3);
  h.o.assign(elements_q, 0xffff);
  h.lse.assign(batch * heads_q * seqlen_q, -1);
  Forward& f = h.call;
  f.dtype = f.o_dtype = dtype;
  f.batch = batch;
  f.seqlen_q = seqlen_q;
  f.seqlen_kv = seqlen_kv;
  f.heads_q = heads_q;
  f.heads_kv = heads_kv;
  f.head_dim = head_dim;
  f.q = {h.q.data(), seqlen_q * heads_q * head_dim, heads_q * head_dim, head_dim};
  f.k = {h.k.data(), seqlen_kv * heads_kv * head_dim, heads_kv * head_dim, head_dim};
  f.v = f.k;
  f.v.data = h.v.data();
  f.o = f.q;
  f.o.data = h.o.data();
  f.lse = h.lse.data();
  return h;
}

}  // namespace namesake::attention::test
