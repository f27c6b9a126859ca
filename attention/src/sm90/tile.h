// The shape of the work of one block of threads, per head_dim and mask, and what follows from it.
//
// One producer warpgroup feeds two or three consumer warpgroups of 64 query rows each. What bounds
// a choice:
//   - 227 KiB of shared memory: 64-row units of Q, and the stages of K and of V;
//   - a consumer's registers: scores (keys / 2) + output (head_dim / 2) + probabilities (keys / 4),
//     of 232 with two consumers, of 160 with three;
//   - wgmma with fewer than 128 columns waits for shared memory.
// The choices below were measured against their neighbours (results/attention-tuning.json): 176
// keys at head_dim 128 leave no room for a second pair of Q units and cut most contexts badly; a
// third stage, or exponentials on the FMA pipe, gain nothing at head_dim 64.
#pragma once

#include <cstdint>

#include "../problem.h"
#include "layout.h"

namespace namesake::attention::sm90 {

struct TileConfig {
  DType dtype = DType::fp16;
  int head_dim = 128;  // as computed with: 64, 128 or 256; smaller ones are padded by zeros
  bool causal = false;
  int groups = 2;              // consumer warpgroups
  int keys = 128;              // keys of a block
  int stages = 2;              // of K and, by itself, of V
  int q_units = 4;             // 64-row buffers of Q; more than `groups` prefetch the next tile's
  bool turns = true;           // consumers issue their products in turn (ping-pong)
  bool rescale_early = false;  // rescale the output between issuing QK and PV, not after PV
  bool store_by_copy = true;   // whole rows leave through the tile's own Q unit by the copy engine

  constexpr bool operator==(const TileConfig&) const = default;

  NAMESAKE_HOST_DEVICE constexpr int rows() const { return groups * kGroupRows; }
  NAMESAKE_HOST_DEVICE constexpr int threads() const { return (groups + 1) * 128; }
  NAMESAKE_HOST_DEVICE constexpr int producer_registers() const { return groups == 2 ? 40 : 32; }
  NAMESAKE_HOST_DEVICE constexpr int consumer_registers() const { return groups == 2 ? 232 : 160; }
  NAMESAKE_HOST_DEVICE constexpr int blocks() const { return column_blocks(head_dim); }

  // Shared memory, in this order from a 1024-byte boundary: Q units, K stages, V stages, control.
  NAMESAKE_HOST_DEVICE constexpr int q_unit_bytes() const {
    return blocks() * kGroupRows * kRowBytes;
  }
  NAMESAKE_HOST_DEVICE constexpr int kv_stage_bytes() const { return blocks() * keys * kRowBytes; }
  NAMESAKE_HOST_DEVICE constexpr int q_offset() const { return 0; }
  NAMESAKE_HOST_DEVICE constexpr int k_offset() const { return q_units * q_unit_bytes(); }
  NAMESAKE_HOST_DEVICE constexpr int v_offset() const {
    return k_offset() + stages * kv_stage_bytes();
  }
  NAMESAKE_HOST_DEVICE constexpr int control_offset() const {
    return v_offset() + stages * kv_stage_bytes();
  }
  NAMESAKE_HOST_DEVICE constexpr int shared_bytes() const {
    return control_offset() + kControlBytes;
  }

  static constexpr int kControlBytes = 512;
};

// The largest dynamic shared memory of a block on sm_90.
inline constexpr int kSharedLimit = 232448;

// The tile for a problem's dtype, head_dim and mask; nothing else may enter, so that a sequence has
// the same bits alone and in a batch.
constexpr TileConfig tile_for(DType dtype, int head_dim, bool causal) {
  TileConfig t;
  t.dtype = dtype;
  t.causal = causal;
  if (head_dim <= 64) {
    t.head_dim = 64, t.groups = 3, t.keys = 128, t.q_units = 6;
  } else if (head_dim <= 128) {
    t.head_dim = 128, t.groups = 2, t.keys = 128, t.q_units = 4, t.turns = false;
  } else {
    t.head_dim = 256, t.groups = 2, t.keys = 80, t.q_units = 2;
    t.rescale_early = true, t.store_by_copy = false;
  }
  return t;
}

}  // namespace namesake::attention::sm90
