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
  int producer_registers = 40;
  int groups = 2;              // consumer warpgroups
  int keys = 128;              // keys of a block
  int stages = 2;              // of K
  int v_stages = 2;            // of V, by itself
  int q_units = 4;             // 64-row buffers of Q; more than `groups` prefetch the next tile's
  bool turns = true;           // consumers issue their products in turn (ping-pong)
  bool rescale_early = false;  // rescale the output between issuing QK and PV, not after PV
  bool store_by_copy = true;   // whole rows in 16 bits leave by the copy engine
  // fp8 alone (fp8.cuh):
  int raw_stages = 0;     // buffers of V as it is loaded, before it is turned
  int turning_warps = 2;  // of the producers: they turn V
  bool ahead = false;     // V is turned in the workspace (ahead.h): no raw stages

  constexpr bool operator==(const TileConfig&) const = default;

  NAMESAKE_HOST_DEVICE constexpr int rows() const { return groups * kGroupRows; }
  NAMESAKE_HOST_DEVICE constexpr int threads() const { return (groups + 1) * 128; }
  // fp8: a producer warp schedules and another loads, unless three turn V.
  NAMESAKE_HOST_DEVICE constexpr bool loads_apart() const { return turning_warps <= 2; }
  // Registers of a thread: what the producers give up, the consumers take. A block has 64 Ki of
  // them, handed out in eights.
  NAMESAKE_HOST_DEVICE constexpr int consumer_registers() const {
    return (65536 / threads() / 8 * 8 * (groups + 1) - producer_registers) / groups / 8 * 8;
  }
  NAMESAKE_HOST_DEVICE constexpr bool is_fp8() const { return attention::is_fp8(dtype); }

  // Column blocks of a row of Q, K and V in shared memory, and their width.
  NAMESAKE_HOST_DEVICE constexpr int row_bytes() const {
    return is_fp8() && head_dim == 64 ? 64 : kRowBytes;
  }
  NAMESAKE_HOST_DEVICE constexpr int block_columns() const { return row_bytes() / bytes_of(dtype); }
  NAMESAKE_HOST_DEVICE constexpr int blocks() const { return head_dim / block_columns(); }

  // Shared memory, in this order from a 1024-byte boundary: Q units, K stages, raw V stages, V
  // stages, the area, control.
  NAMESAKE_HOST_DEVICE constexpr int q_unit_bytes() const {
    return blocks() * kGroupRows * row_bytes();
  }
  NAMESAKE_HOST_DEVICE constexpr int kv_stage_bytes() const {
    return blocks() * keys * row_bytes();
  }
  NAMESAKE_HOST_DEVICE constexpr int v_stage_bytes() const {
    return is_fp8() ? turned_bytes(head_dim + kOnesRows, keys) : kv_stage_bytes();
  }
  NAMESAKE_HOST_DEVICE constexpr int q_offset() const { return 0; }
  NAMESAKE_HOST_DEVICE constexpr int k_offset() const { return q_units * q_unit_bytes(); }
  NAMESAKE_HOST_DEVICE constexpr int raw_offset() const {
    return k_offset() + stages * kv_stage_bytes();
  }
  NAMESAKE_HOST_DEVICE constexpr int v_offset() const {
    return raw_offset() + raw_stages * kv_stage_bytes();
  }
  // fp8: sixteen bits for each element of the output, every warp's together. While a tile is
  // computed they hold its promoted sums, and at its end the rows that the copy engine stores.
  NAMESAKE_HOST_DEVICE constexpr int warp_area_bytes() const { return kWarpRows * head_dim * 2; }
  NAMESAKE_HOST_DEVICE constexpr int area_bytes() const {
    return rows() / kWarpRows * warp_area_bytes();
  }
  // At head_dim 256 raw V leaves no room for it.
  NAMESAKE_HOST_DEVICE constexpr bool has_area() const {
    return is_fp8() && (head_dim <= 128 || ahead);
  }
  NAMESAKE_HOST_DEVICE constexpr int area_offset() const {
    const int end = v_offset() + v_stages * v_stage_bytes();
    return (end + kTileAlignment - 1) / kTileAlignment * kTileAlignment;
  }
  NAMESAKE_HOST_DEVICE constexpr int control_offset() const {
    return area_offset() + (has_area() ? area_bytes() : 0);
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
// `ahead` changes who turns V of an fp8 tile of head_dim 256, and none of its bits.
constexpr TileConfig tile_for(DType dtype, int head_dim, bool causal, bool ahead = false) {
  TileConfig t;
  t.dtype = dtype;
  t.causal = causal;
  if (is_fp8(dtype)) {
    t.raw_stages = 2, t.turns = false;
    t.producer_registers = 56;
    if (head_dim <= 64) {
      t.head_dim = 64, t.groups = 3, t.keys = 128, t.q_units = 6;
    } else if (head_dim <= 128) {
      t.head_dim = 128, t.groups = 3, t.keys = 96, t.q_units = 6, t.producer_registers = 32;
      t.stages = t.v_stages = 3, t.turns = !causal;
    } else {
      // The consumers need all but what the producers cannot do without.
      t.head_dim = 256, t.groups = 2, t.keys = 128, t.q_units = 2, t.producer_registers = 24;
      t.turns = true;
      t.turning_warps = 3;
      t.ahead = ahead;
      if (ahead) t.raw_stages = t.turning_warps = 0;
    }
    t.store_by_copy = t.has_area();
    return t;
  }
  if (head_dim <= 64) {
    t.head_dim = 64, t.groups = 3, t.keys = 128, t.q_units = 6, t.producer_registers = 32;
  } else if (head_dim <= 128) {
    t.head_dim = 128, t.groups = 2, t.keys = 128, t.q_units = 4, t.turns = false;
  } else {
    t.head_dim = 256, t.groups = 2, t.keys = 80, t.q_units = 2;
    t.rescale_early = true, t.store_by_copy = false;
  }
  return t;
}

// A kernel's template argument is a type, for nvcc's host stubs cannot name a constant of class
// type.
template <DType kType, int kHeadDim, bool kCausal, bool kAhead = false>
struct Shape {
  static constexpr TileConfig kTile = tile_for(kType, kHeadDim, kCausal, kAhead);
};

}  // namespace namesake::attention::sm90
