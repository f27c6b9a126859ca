// What the consumers of every kernel of this backend do alike: masks, rescaling, taking turns.
#pragma once

#include <limits>

#include "layout.h"
#include "ptx.cuh"
#include "tile.h"

namespace namesake::attention::sm90 {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kLn2 = 0.693147180559945309f;

// Named barriers; 0 is __syncthreads.
inline constexpr uint32_t kTurnBarrier = 1;   // + group: it is this group's turn to issue
inline constexpr uint32_t kGroupBarrier = 4;  // + group: the group's 128 threads among themselves
inline constexpr uint32_t kConsumersBarrier = 7;  // of all groups

// Warpgroups that issue in turn: one group syncs, the one before it arrives. The last group passes
// the first turn.
inline constexpr int kTurnThreads = 256;

template <TileConfig T>
__device__ __forceinline__ void take_turn(int group) {
  if constexpr (T.turns) ptx::barrier_sync(kTurnBarrier + group, kTurnThreads);
}
template <TileConfig T>
__device__ __forceinline__ void pass_turn(int group) {
  if constexpr (T.turns) ptx::barrier_arrive(kTurnBarrier + (group + 1) % T.groups, kTurnThreads);
}

// Keys at or beyond the row's limit (counted from the block's first key, less this thread's first
// column) score -inf, whatever the product of padding was.
template <int kCount>
__device__ __forceinline__ void mask(float (&scores)[kCount], int limit_low, int limit_high) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    int limit = i / 2 % 2 ? limit_high : limit_low;
    if (fragment_column(0, i) >= limit) scores[i] = -kInfinity;
  }
}

// The highest score of each of this thread's two rows. Eight maxima at a time, for each waits for
// the one before it and few warps are there to fill the gaps.
template <int kCount>
__device__ __forceinline__ void highest_of_rows(const float (&scores)[kCount],
                                                float (&highest)[2]) {
  float most[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) most[i] = scores[i];
#pragma unroll
  for (int i = 8; i < kCount; ++i) most[i % 8] = fmaxf(most[i % 8], scores[i]);
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const int i = 2 * row;
    highest[row] = fmaxf(fmaxf(most[i], most[i + 1]), fmaxf(most[i + 4], most[i + 5]));
  }
#pragma unroll
  for (int lanes = 1; lanes < 4; lanes *= 2) {
#pragma unroll
    for (int row = 0; row < 2; ++row)
      highest[row] = fmaxf(highest[row], __shfl_xor_sync(~0u, highest[row], lanes));
  }
}

template <int kCount>
__device__ __forceinline__ void rescale(float (&output)[kCount], const float (&alpha)[2]) {
  if (__any_sync(~0u, alpha[0] != 1.0f || alpha[1] != 1.0f)) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) output[i] *= alpha[i / 2 % 2];
  }
}

}  // namespace namesake::attention::sm90
