// What one launch passes to the kernel.
#pragma once

#include <cuda.h>

#include "../problem.h"

namespace namesake::attention::sm90 {

// A tensor map's head and batch coordinates are multiplied by these: 0 where the tensor is broadcast
// along that dimension (or packed, which has no batch), for which the map has a single entry.
struct Steps {
  int head = 1, batch = 1;
};

struct Params {
  CUtensorMap q, k, v, o;
  Problem problem;
  Steps q_steps, k_steps, v_steps;
  int heads_per_kv = 1;     // query heads that share one head of K and V
  int row_tiles = 0;        // of each sequence, where all have the same length
  int section_heads = 1;    // see schedule.h
  bool lengths_vary = false;
  float scale_log2 = 1;     // softmax_scale * log2(e)
  uint32_t* counter = nullptr;  // tiles given out beyond the first of each block; null: folded order
};

}  // namespace namesake::attention::sm90
