// What one launch passes to the kernel.
#pragma once

#include <cuda.h>

#include "../problem.h"
#include "../split.h"
#include "ahead.h"
#include "schedule.h"

namespace namesake::attention::sm90 {

// A tensor map's head and batch coordinates are multiplied by these: 0 where the tensor is
// broadcast along that dimension (or packed, which has no batch), for which the map has a single
// entry.
struct Steps {
  int head = 1, batch = 1;
};

// Gives out tiles beyond the first of each block. It lives in a workspace that may hold anything
// when a launch begins, and costs no launch of its own to reset: the first block to need it claims
// and zeroes it, the last one done with it takes the mark back. Only a workspace that already holds
// one of the two 64-bit marks could be misread, and no launch leaves one behind.
struct TileCounter {
  uint64_t state;
  uint32_t next, done;
};

inline constexpr uint64_t kCounterClaimed = 0x6e616d6573616b65;
inline constexpr uint64_t kCounterReady = 0x7265616479212121;

struct Params {
  CUtensorMap q, k, v, o;
  Problem problem;
  Steps q_steps, k_steps, v_steps;
  int heads_per_kv = 1;   // query heads that share one head of K and V
  int row_tiles = 0;      // of each sequence, where all have the same length, times the parts
  int section_heads = 1;  // see schedule.h
  bool lengths_vary = false;
  float scale_log2 = 1;  // softmax_scale * log2(e)
  Order order = Order::strided;
  TileCounter* counter = nullptr;  // for Order::counted
  Partials partials;               // where the keys are divided

  // fp8 alone.
  int promote_blocks = 0;  // of keys, after which sums are promoted; 0: never
  uint4* sums = nullptr;   // promoted: [block of threads][warp][…], see fp8.cuh
  Turned turned;           // V, where it is turned ahead
};

}  // namespace namesake::attention::sm90
