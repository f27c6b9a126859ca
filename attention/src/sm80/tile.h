// The portable kernel's tiles: rows of queries and of keys that one block holds, by padded
// head_dim. They depend on nothing else, so a sequence gives the same bits whatever it is batched
// with. All fit the 99 KB that every GPU since compute capability 8.6 gives a block.
#pragma once

#include <cstdint>

#include "../host_device.h"

namespace namesake::attention::sm80 {

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kElementBytes = 2;

template <int kHeadDim>
struct Tile {
  // Each key tile read from shared memory feeds kBands × 16 rows of a warp: two bands halve that
  // traffic, which bounds this kernel. At head_dim 256 the second band's accumulators do not fit
  // the registers.
  static constexpr int kBands = kHeadDim <= 128 ? 2 : 1;
  static constexpr int kRows = kWarps * kBands * 16;
  // At 128, where scores and output fill the register file, 64 keys would spill.
  static constexpr int kKeys = kHeadDim == 128 ? 48 : 64;
  static constexpr int kSharedBytes = (kRows + 2 * kKeys) * kHeadDim * kElementBytes;
  static constexpr int kBlocksPerMultiprocessor = kHeadDim <= 128 ? 2 : 1;
};

// Shared memory holds rows of kHeadDim elements; 16-byte chunk c of a row lies at chunk c ^ (row %
// 8), so that the eight rows an ldmatrix reads fall into different banks.
template <int kHeadDim>
NAMESAKE_HOST_DEVICE constexpr uint32_t tile_offset(uint32_t row, uint32_t chunk) {
  return row * (kHeadDim * kElementBytes) + ((chunk ^ (row & 7)) << 4);
}

}  // namespace namesake::attention::sm80
