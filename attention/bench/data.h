// Made-up inputs on the GPU, and how far an output lies from the exact one.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace namesake::bench {

enum class Format { fp16, bf16, e4m3 };

constexpr int64_t bytes_of(Format format) {
  return format == Format::e4m3 ? 1 : 2;
}

// Normal values, the same for the same seed. 0, or a CUDA error code.
int fill_normal(void* data, int64_t elements, Format format, uint64_t seed, CUstream_st* stream);

// One tensor layout for all: [batch][length][heads][head_dim], dense; a transposed V is
// [batch][heads][head_dim][length].
struct RowCheck {
  const void *q, *k, *v, *o;
  Format format, o_format;
  float o_scale;  // o holds so many times the result
  bool v_transposed;
  int64_t batch, length, heads_q, heads_kv, head_dim;
  bool causal;
  float scale;
  int64_t rows;  // so many rows of every head are recomputed in double precision
};

// sums: for each (batch, head) and each of its rows ‖o − exact‖² and ‖exact‖², two doubles of
// device memory.
int check_rows(const RowCheck& check, double* sums, CUstream_st* stream);
// Which row the i-th checked one is: spread over the whole length. The very first rows are left
// out: of a causal mask they see few keys, are long vectors, and would drown the others in a sum.
int64_t checked_row(int64_t i, int64_t rows, int64_t length);

// Adds to *count, in device memory, in how many bytes the two differ; `bytes` is a multiple of 16.
int count_differing(const void* a, const void* b, int64_t bytes, void* count, CUstream_st* stream);

}  // namespace namesake::bench
