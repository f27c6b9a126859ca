// The cells of the table: one shape, one type, one mask each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "namesake/attention.h"

namespace namesake::bench {

struct Cell {
  attention::DType dtype = attention::DType::bf16;
  int64_t batch = 4, heads_q = 32, heads_kv = 32, length = 1024, head_dim = 128;
  bool causal = false;
  bool v_transposed = false;  // of fp8: V lies with its keys side by side

  // "bf16-d128-causal-n4096"; grouped heads, another batch than 4 and a transposed V are added:
  // "-h64x8-b1-vt".
  std::string name() const;
  // Two products of 2·length²·head_dim operations a head; a causal mask halves them.
  double flops() const;
  bool fp8() const { return dtype == attention::DType::e4m3; }
  int64_t elements_q() const { return batch * heads_q * length * head_dim; }
  int64_t elements_kv() const { return batch * heads_kv * length * head_dim; }
};

// The field's table: batch 4, 32 heads (16 of 256), lengths 512 … 65,536, full and causal, bf16 and
// fp16, and e4m3 from 1,024 on with V in both layouts; and the rows of grouped heads, 64 on 8.
std::vector<Cell> field_table();
// Of them each head_dim and mask, bf16 at a short and a long context, e4m3 at a long one.
std::vector<Cell> sustained_cells();
// The table of treated and untreated kernels: head_dim 64 and 128, lengths 1,024 … 65,536, fp16 and
// e4m3, batch 4 as in the original report, halved at the two longest for the time they take.
std::vector<Cell> story_cells();
// Those whose name matches the glob.
std::vector<Cell> matching(const std::vector<Cell>& cells, const std::string& glob);

}  // namespace namesake::bench
