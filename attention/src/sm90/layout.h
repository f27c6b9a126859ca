// Where every element lies: in shared memory, in a wgmma descriptor, in a thread's registers.
//
// Tiles of Q, K and V lie in shared memory as the copy engine writes them: column blocks of 64
// elements (128 bytes, one swizzle span), each block all rows of the tile, row after row. The
// 128-byte swizzle moves 16-byte chunk c of row r to chunk c ^ (r % 8), which makes reads of eight
// rows at one chunk, and of one row at eight chunks, free of bank conflicts. wgmma reads such a
// tile either with the row contiguous along its K dimension (Q, K: K-major) or along M/N (V:
// MN-major); both are one descriptor per 16 steps of K.
//
// All of it is constexpr and compiles without CUDA: the CPU tests go through every element.
#pragma once

#include <cstdint>

#include "../host_device.h"

namespace namesake::attention::sm90 {

inline constexpr int kRowBytes = 128;   // one row of a column block: the swizzle span
inline constexpr int kChunkBytes = 16;  // what the swizzle moves
inline constexpr int kSwizzleRows = 8;  // rows after which the swizzle repeats
inline constexpr int kGroupRows = 64;   // query rows of a warpgroup: the M of wgmma
inline constexpr int kWarpRows = 16;    // of them, one warp's
inline constexpr int kTileAlignment =
    1024;  // kSwizzleRows * kRowBytes: descriptors need base offset 0

// Elements of a 16-bit column block.
inline constexpr int kBlockColumns = kRowBytes / 2;

// Byte offset, in a column block, of 16-byte chunk `chunk` of `row`.
NAMESAKE_HOST_DEVICE constexpr uint32_t swizzled(uint32_t row, uint32_t chunk) {
  return row * kRowBytes + ((chunk ^ (row % kSwizzleRows)) * kChunkBytes);
}

// Byte offset of 16-bit element (row, column) of a tile of `rows` rows.
NAMESAKE_HOST_DEVICE constexpr uint32_t element_offset(uint32_t rows, uint32_t row,
                                                       uint32_t column) {
  uint32_t in_block = column % kBlockColumns;
  return column / kBlockColumns * rows * kRowBytes + swizzled(row, in_block / 8) + in_block % 8 * 2;
}

// ---- wgmma descriptors -------------------------------------------------------------------------
// bits 0-13 address / 16; 16-29 leading and 32-45 stride byte offset / 16; 62-63 swizzle, 1 = 128
// bytes.

// The high word never changes: eight rows of 128 bytes to the next group of eight, 128-byte
// swizzle.
inline constexpr uint32_t kDescriptorHigh =
    (kSwizzleRows * kRowBytes / kChunkBytes) | (uint32_t{1} << 30);

// K-major tiles ignore the leading offset.
NAMESAKE_HOST_DEVICE constexpr uint32_t descriptor_low(uint32_t address,
                                                       uint32_t leading_bytes = 0) {
  return ((address & 0x3FFFF) / kChunkBytes) | (leading_bytes / kChunkBytes << 16);
}

NAMESAKE_HOST_DEVICE constexpr uint64_t descriptor(uint32_t low) {
  return (uint64_t{kDescriptorHigh} << 32) | low;
}

// What to add to the low word for step `k` (16 elements of head_dim) of a K-major tile of `rows`
// rows.
NAMESAKE_HOST_DEVICE constexpr uint32_t k_major_step(int rows, int k) {
  constexpr int kSteps = kBlockColumns / 16;
  return (k / kSteps * rows * kRowBytes + k % kSteps * 32) / kChunkBytes;
}

// What to add for step `k` (16 keys) of an MN-major tile; its leading offset is one column block.
NAMESAKE_HOST_DEVICE constexpr uint32_t mn_major_step(int k) {
  return k * 16 * kRowBytes / kChunkBytes;
}

NAMESAKE_HOST_DEVICE constexpr uint32_t mn_major_leading(int rows) {
  return rows * kRowBytes;
}

// ---- fp8 ---------------------------------------------------------------------------------------
// An 8-bit product takes both operands K-major. Q and K lie that way; V does not, and is turned:
// head_dim becomes the rows, keys the columns (turn.cuh, ahead.cuh). Two permutations make that
// cheap:
//   - of sixteen keys, bytes 4t … 4t + 3 hold keys 2t, 2t + 1, 2t + 8, 2t + 9. These are the keys
//     whose probabilities one thread has side by side in its scores, so P needs no exchange of
//     registers;
//   - of sixteen columns of head_dim, the even ones become rows 0-7 and the odd ones rows 8-15.
//     That is how ldmatrix hands them over.
// Eight more rows hold ones: their product with P is the sum of each row, of the same rounded P.
//
// A turned tile is not swizzled: eight rows of sixteen keys are 128 bytes in a row, which is all
// that a bank conflict needs to be absent, and any number of keys leaves no gap. Rows go by eights,
// in each the keys by sixteens.

inline constexpr int kOnesRows = 8;
inline constexpr int kCoreRows = 8;                         // of a core matrix, 16 bytes each
inline constexpr int kCoreBytes = kCoreRows * kChunkBytes;  // to the next sixteen keys

NAMESAKE_HOST_DEVICE constexpr int turned_bytes(int head_dim, int keys) {
  return head_dim * keys;  // without the ones, which follow
}

// The row of column `column` of head_dim, and the byte in its row of key `key`.
NAMESAKE_HOST_DEVICE constexpr int turned_row(int column) {
  return column / 16 * 16 + column % 2 * 8 + column % 16 / 2;
}
NAMESAKE_HOST_DEVICE constexpr int turned_position(int key) {
  return key / 16 * 16 + key % 8 / 2 * 4 + key % 16 / 8 * 2 + key % 2;
}

// What movmatrix makes of words of V's rows: where a lane reads words of sixteen bytes, 0 … 3, of
// a key in every four lanes, it holds afterwards of word w, transposed, two columns of four keys
// (of two words, eight keys apart). They go to this row and that byte of its chunk, and the next
// words and the odd columns as far behind as turned_row(4 w + odd) is.
NAMESAKE_HOST_DEVICE constexpr int turned_lane_row(int lane) {
  return turned_row(lane / 8 * kChunkBytes + lane / 4 % 2 * 2);
}
NAMESAKE_HOST_DEVICE constexpr int turned_lane_byte(int lane) {
  return lane % 4 * 4;
}

// Byte offset, in a turned tile of `keys` keys, of 16-byte chunk `chunk` of `row`.
NAMESAKE_HOST_DEVICE constexpr uint32_t turned_chunk(int keys, int row, int chunk) {
  return row / kCoreRows * kCoreRows * keys + chunk * kCoreBytes + row % kCoreRows * kChunkBytes;
}
// Of (key, column).
NAMESAKE_HOST_DEVICE constexpr uint32_t turned_offset(int keys, int key, int column) {
  const int position = turned_position(key);
  return turned_chunk(keys, turned_row(column), position / kChunkBytes) + position % kChunkBytes;
}

// The descriptor of a turned tile at step 0, and what to add to its low word for step `k` (32 keys)
// and for row `row`, a multiple of eight.
NAMESAKE_HOST_DEVICE constexpr uint64_t turned_descriptor(uint32_t address, int keys) {
  return (uint64_t{static_cast<uint32_t>(kCoreRows * keys / kChunkBytes)} << 32) |
         descriptor_low(address, kCoreBytes);
}
NAMESAKE_HOST_DEVICE constexpr uint32_t turned_step(int k) {
  return k * 2 * kCoreBytes / kChunkBytes;
}
NAMESAKE_HOST_DEVICE constexpr uint32_t turned_rows(int keys, int row) {
  return turned_chunk(keys, row, 0) / kChunkBytes;
}

// What to add for step `k` (32 bytes of head_dim) of a K-major tile of `rows` rows of `row_bytes`.
NAMESAKE_HOST_DEVICE constexpr uint32_t k_major_step8(int rows, int row_bytes, int k) {
  const int steps = row_bytes / 32;
  return (k / steps * rows * row_bytes + k % steps * 32) / kChunkBytes;
}

// The descriptor of a K-major tile whose rows are `row_bytes` long, 64 or 128: as many are
// swizzled.
NAMESAKE_HOST_DEVICE constexpr uint64_t descriptor8(uint32_t low, int row_bytes) {
  const uint32_t swizzle = row_bytes == 64 ? 2 : 1;
  return (uint64_t{(kSwizzleRows * static_cast<uint32_t>(row_bytes) / kChunkBytes) |
                   (swizzle << 30)}
          << 32) |
         low;
}

// Byte offset, in a column block, of chunk `chunk` of `row` where rows are `row_bytes` long and so
// many bytes are swizzled: 32, 64 or 128.
NAMESAKE_HOST_DEVICE constexpr uint32_t swizzled_in(uint32_t row_bytes, uint32_t row,
                                                    uint32_t chunk) {
  const uint32_t chunks = row_bytes / kChunkBytes;
  return row * row_bytes + ((chunk ^ (row * row_bytes / kRowBytes % chunks)) * kChunkBytes);
}

// Keys of one load where V comes transposed: the widest swizzle that divides a block.
NAMESAKE_HOST_DEVICE constexpr int transposed_box(int keys) {
  return keys % 128 == 0 ? 128 : keys % 64 == 0 ? 64 : 32;
}

// Which of 32 columns a lane takes where V comes transposed: such that eight lanes side by side
// find their chunks in different banks, where they load (any box) and where they store.
NAMESAKE_HOST_DEVICE constexpr int column_of_lane(int lane) {
  return lane / 16 * 16 + lane % 8 * 2 + (lane / 8 % 2 ^ lane % 8 / 4);
}

// The four consecutive columns of head_dim that a thread's accumulators 8J … 8J + 7 hold of its
// lower row begin here; their order there is 0, 4, 1, 5, and 2, 6, 3, 7 of the upper row.
NAMESAKE_HOST_DEVICE constexpr int turned_fragment_column(int thread, int sixteenth) {
  return sixteenth * 16 + thread % 4 * 4;
}

// ---- fragments ---------------------------------------------------------------------------------
// Accumulator i of a thread of a warpgroup, m64nNk16: lanes in quads, a quad per row and row + 8.

NAMESAKE_HOST_DEVICE constexpr int fragment_row(int thread, int i) {
  return thread / 32 * kWarpRows + thread % 32 / 4 + (i / 2 % 2) * 8;
}

NAMESAKE_HOST_DEVICE constexpr int fragment_column(int thread, int i) {
  return i / 4 * 8 + thread % 4 * 2 + i % 2;
}

// The row and the 16-byte chunk whose address lane `lane` gives to stmatrix when a warp stores the
// accumulators of sixteen columns as four 8x8 matrices: rows 0-7 and 8-15 of the first eight
// columns, then of the second.
NAMESAKE_HOST_DEVICE constexpr int stmatrix_row(int lane) {
  return lane % 16;
}
NAMESAKE_HOST_DEVICE constexpr int stmatrix_chunk(int lane, int sixteenth) {
  return sixteenth * 2 + lane / 16;
}

}  // namespace namesake::attention::sm90
