// The portable kernel's shared memory, element by element.
#include "sm80/tile.h"

#include <gtest/gtest.h>

#include <set>

namespace namesake::attention::sm80 {
namespace {

template <int kHeadDim>
void expect_a_bijection(int rows) {
  std::set<uint32_t> offsets;
  for (int row = 0; row < rows; row++)
    for (int chunk = 0; chunk < kHeadDim / 8; chunk++)
      offsets.insert(tile_offset<kHeadDim>(row, chunk));
  EXPECT_EQ(offsets.size(), static_cast<size_t>(rows) * kHeadDim / 8);
  EXPECT_EQ(*offsets.rbegin() + 16, static_cast<uint32_t>(rows) * kHeadDim * kElementBytes);
}

// Eight rows of one chunk, as one ldmatrix phase reads them, lie in eight different groups of four
// banks.
template <int kHeadDim>
void expect_no_bank_conflicts(int rows) {
  for (int row = 0; row < rows; row += 8) {
    for (int chunk = 0; chunk < kHeadDim / 8; chunk++) {
      std::set<uint32_t> banks;
      for (int r = 0; r < 8; r++) banks.insert(tile_offset<kHeadDim>(row + r, chunk) % 128 / 16);
      EXPECT_EQ(banks.size(), 8u);
    }
  }
}

// What the kernel's step_address relies on: in a block of eight chunks, two chunks further is an
// exclusive or of the address.
template <int kHeadDim>
void expect_steps_by_exclusive_or(int rows) {
  for (int row = 0; row < rows; row++) {
    for (int half = 0; half < 2; half++) {
      const uint32_t first = tile_offset<kHeadDim>(row, half);
      for (int step = 0; step < kHeadDim / 16; step++)
        EXPECT_EQ(tile_offset<kHeadDim>(row, 2 * step + half),
                  (first ^ (step % 4 * 32)) + step / 4 * 128);
    }
  }
}

template <int kHeadDim>
void expect_a_sound_tile() {
  using T = Tile<kHeadDim>;
  for (int rows : {T::kRows, T::kKeys}) {
    expect_a_bijection<kHeadDim>(rows);
    expect_no_bank_conflicts<kHeadDim>(rows);
    expect_steps_by_exclusive_or<kHeadDim>(rows);
  }
  EXPECT_LE(T::kSharedBytes, 101376);
  EXPECT_EQ(T::kKeys % 16, 0);
}

TEST(PortableTile, IsSoundAtEachHeadDim) {
  expect_a_sound_tile<64>();
  expect_a_sound_tile<128>();
  expect_a_sound_tile<256>();
}

}  // namespace
}  // namespace namesake::attention::sm80
