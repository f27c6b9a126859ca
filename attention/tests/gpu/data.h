// What the suite does on the GPU besides attention: making inputs, the oracle, and comparing.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "problem.h"

namespace namesake::attention::test {

// Values depend on logical coordinates and the seed alone, in integer arithmetic up to one
// rounding, so the same inputs can be made in any layout and by any other program (peers.py does):
// the sum of four 16-bit words of a hash, centred, times sigma.
struct Fill {
  uint32_t seed = 0;
  float sigma = 0.8660254f;  // of the sum over 32768: standard deviation 1
  float mean = 0;
  bool same_rows = false;  // every row like the first
  uint32_t outliers = 0;   // one value in so many is ten times as large; 0: none
};

enum class Which : uint8_t { q, k, v, o };

// Fills the valid rows of a tensor of the problem.
void fill(const Problem& problem, Which which, const Fill& fill, cudaStream_t stream);

// One element of a valid row in all batches and heads set to a value, for rows first, first + step,
// ... before end.
struct Poke {
  Which which = Which::q;
  int32_t first = 0, end = 0, step = 1, column = 0;
  float value = 0;
};
void poke(const Problem& problem, const Poke& poke, cudaStream_t stream);

// Attention as the formula says it, in double: o [batch][head][seqlen_q][head_dim], not scaled by
// o_scale, lse and largest |score| [batch][head][seqlen_q].
struct Oracle {
  double* o = nullptr;
  double* lse = nullptr;
  double* largest = nullptr;
};
void oracle(const Problem& problem, const Oracle& result, cudaStream_t stream);

// Of one batch and head: Σ(o-ref)², Σref², the worst |lse-ref|, the largest |score|, how many
// values are not finite where they should be or the reverse, and of an fp8 o what the spacing of
// its numbers explains of Σ(o-ref)². Rows that see keys past `nan_allowed_from` may be NaN. What is
// past fp8's largest number should be that number.
struct Difference {
  double error2 = 0, reference2 = 0, lse_error = 0, largest_score = 0, rounding2 = 0;
  int64_t wrong = 0;
};
void compare(const Problem& problem, const Oracle& reference, int32_t nan_allowed_from,
             Difference* differences, cudaStream_t stream);

// Sets all that the problem's call was to write back to bytes of 0xff.
void erase_outputs(const Problem& problem, cudaStream_t stream);

// Adds the number of bytes that are not 0xff to *count.
void count_touched(const void* data, size_t bytes, unsigned long long* count, cudaStream_t stream);

// Adds an order-independent hash of the bytes (a multiple of 4) to *sum.
void checksum(const void* data, size_t bytes, unsigned long long* sum, cudaStream_t stream);

// Occupies so many multiprocessors, each of which adds one to *held, until *go is not zero; both in
// memory that the host shares.
void hold(int blocks, int* held, const int* go, cudaStream_t stream);

}  // namespace namesake::attention::test
