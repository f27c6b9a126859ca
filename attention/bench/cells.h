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

  // "bf16-d128-causal-n4096"; grouped heads and another batch than 4 are added: "-h64x8-b1".
  std::string name() const;
  // Two products of 2·length²·head_dim operations a head; a causal mask halves them.
  double flops() const;
  int64_t elements_q() const { return batch * heads_q * length * head_dim; }
  int64_t elements_kv() const { return batch * heads_kv * length * head_dim; }
};

// The field's table: batch 4, 32 heads (16 of 256), lengths 512 … 65,536, full and causal, bf16 and
// fp16; and the rows of grouped heads, 64 on 8.
std::vector<Cell> field_table();
// Twelve of them: each head_dim and mask, a short and a long context.
std::vector<Cell> sustained_cells();
// Those whose name matches the glob.
std::vector<Cell> matching(const std::vector<Cell>& cells, const std::string& glob);

}  // namespace namesake::bench
