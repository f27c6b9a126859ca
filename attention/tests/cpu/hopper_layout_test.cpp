// The Hopper kernel's layouts, descriptors and order of work, exhaustively: the functions are those
// the kernel itself calls.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

#include "sm90/layout.h"
#include "sm90/schedule.h"
#include "sm90/tile.h"

namespace namesake::attention::sm90 {
namespace {

std::vector<TileConfig> tiles() {
  std::vector<TileConfig> all;
  for (DType dtype : {DType::fp16, DType::bf16})
    for (int head_dim = 8; head_dim <= 256; head_dim += 8)
      for (bool causal : {false, true}) all.push_back(tile_for(dtype, head_dim, causal));
  return all;
}

// What the hardware does with an address of the 128-byte swizzle: bits 4 to 6 exclusive-or bits 7
// to 9.
uint32_t hardware_swizzle(uint32_t address) {
  return address ^ (address >> 7 & 7) << 4;
}

struct Descriptor {
  uint32_t start, leading, stride, swizzle;
};

Descriptor decoded(uint64_t d) {
  return {static_cast<uint32_t>(d & 0x3fff) << 4, static_cast<uint32_t>(d >> 16 & 0x3fff) << 4,
          static_cast<uint32_t>(d >> 32 & 0x3fff) << 4, static_cast<uint32_t>(d >> 62)};
}

TEST(HopperTile, FitsSharedMemoryAndRegisters) {
  for (const TileConfig& t : tiles()) {
    EXPECT_LE(t.shared_bytes(), kSharedLimit);
    EXPECT_LE(128 * (t.producer_registers() + t.groups * t.consumer_registers()), 65536);
    EXPECT_EQ(t.producer_registers() % 8, 0);
    EXPECT_EQ(t.consumer_registers() % 8, 0);
    EXPECT_LT(t.keys / 2 + t.head_dim / 2, t.consumer_registers());
    EXPECT_EQ(t.keys % 16, 0);
    EXPECT_LE(t.keys, 256);
    EXPECT_GE(t.q_units, t.groups);
    EXPECT_EQ(t.rows(), t.groups * kGroupRows);
    for (int offset :
         {t.q_offset(), t.k_offset(), t.v_offset(), t.q_unit_bytes(), t.kv_stage_bytes()})
      EXPECT_EQ(offset % kTileAlignment, 0);
  }
}

TEST(HopperTile, DependsOnDtypePaddedHeadDimAndMaskAlone) {
  for (const TileConfig& t : tiles()) EXPECT_EQ(t, tile_for(t.dtype, t.head_dim, t.causal));
}

TEST(HopperLayout, EachElementHasItsOwnPlaceInTheTile) {
  for (const TileConfig& t : tiles()) {
    for (int rows : {kGroupRows, t.keys}) {
      std::vector<bool> taken(rows * t.head_dim, false);
      for (int row = 0; row < rows; row++) {
        for (int column = 0; column < t.head_dim; column++) {
          const uint32_t offset = element_offset(rows, row, column);
          ASSERT_EQ(offset % 2, 0u);
          ASSERT_LT(offset / 2, taken.size());
          ASSERT_FALSE(taken[offset / 2]);
          taken[offset / 2] = true;
        }
      }
    }
  }
}

TEST(HopperLayout, IsWhatTheCopyEngineWrites) {
  // A box of 64 columns lands row after row, 128 bytes each, and the engine swizzles the address.
  for (int row = 0; row < 256; row++)
    for (int column = 0; column < kBlockColumns; column++)
      ASSERT_EQ(element_offset(256, row, column), hardware_swizzle(row * kRowBytes + column * 2));
}

TEST(HopperLayout, EightRowsOfAChunkFallIntoDifferentBanks) {
  for (int row = 0; row < 64; row += 8) {
    for (int chunk = 0; chunk < 8; chunk++) {
      std::set<uint32_t> banks;
      for (int r = 0; r < 8; r++) banks.insert(swizzled(row + r, chunk) % 128);
      EXPECT_EQ(banks.size(), 8u);
    }
  }
}

// K-major: rows along M or N, 16 steps of head_dim inside a swizzled row; groups of eight rows a
// stride apart.
TEST(HopperDescriptor, NamesTheElementsOfQAndKInEachStep) {
  constexpr uint32_t kBase = 5 * kTileAlignment;
  for (const TileConfig& t : tiles()) {
    for (int rows : {kGroupRows, t.keys}) {
      for (int step = 0; step < t.head_dim / 16; step++) {
        const Descriptor d = decoded(descriptor(descriptor_low(kBase) + k_major_step(rows, step)));
        ASSERT_EQ(d.swizzle, 1u);
        for (int row = 0; row < rows; row++) {
          for (int k = 0; k < 16; k++) {
            const uint32_t address = d.start + row / 8 * d.stride + row % 8 * kRowBytes + k * 2;
            ASSERT_EQ(hardware_swizzle(address), kBase + element_offset(rows, row, step * 16 + k));
          }
        }
      }
    }
  }
}

// MN-major: 64 columns of head_dim in a swizzled row, groups of eight keys a stride apart, blocks
// of 64 columns the leading offset.
TEST(HopperDescriptor, NamesTheElementsOfVInEachStep) {
  constexpr uint32_t kBase = 3 * kTileAlignment;
  for (const TileConfig& t : tiles()) {
    for (int step = 0; step < t.keys / 16; step++) {
      const Descriptor d = decoded(
          descriptor(descriptor_low(kBase, mn_major_leading(t.keys)) + mn_major_step(step)));
      for (int key = 0; key < 16; key++) {
        for (int column = 0; column < t.head_dim; column++) {
          const uint32_t address = d.start + column / 64 * d.leading + key / 8 * d.stride +
                                   key % 8 * kRowBytes + column % 64 * 2;
          ASSERT_EQ(hardware_swizzle(address),
                    kBase + element_offset(t.keys, step * 16 + key, column));
        }
      }
    }
  }
}

TEST(HopperDescriptor, KeepsItsFieldsApartUpToTheEndOfSharedMemory) {
  for (uint32_t address = 0; address < kSharedLimit; address += kTileAlignment) {
    const Descriptor d = decoded(descriptor(descriptor_low(address, 256 * kRowBytes)));
    EXPECT_EQ(d.start, address & 0x3ffff);
    EXPECT_EQ(d.leading, 256u * kRowBytes);
    EXPECT_EQ(d.stride, 1024u);
  }
}

TEST(HopperFragment, CoversSixtyFourRowsOnce) {
  for (int columns : {64, 80, 128, 176, 256}) {
    std::set<std::pair<int, int>> seen;
    for (int thread = 0; thread < 128; thread++)
      for (int i = 0; i < columns / 2; i++)
        seen.insert({fragment_row(thread, i), fragment_column(thread, i)});
    EXPECT_EQ(seen.size(), static_cast<size_t>(kGroupRows) * columns);
    EXPECT_EQ(*seen.rbegin(), std::pair(kGroupRows - 1, columns - 1));
  }
}

// stmatrix: matrix m of a warp takes its row r's address from lane 8 m + r, and its elements 2 q, 2
// q + 1 of row r from lane 4 r + q.
TEST(HopperFragment, IsStoredWhereTheLayoutWantsIt) {
  for (int warp = 0; warp < 4; warp++) {
    for (int sixteenth = 0; sixteenth < 4; sixteenth++) {
      for (int matrix = 0; matrix < 4; matrix++) {
        for (int row = 0; row < 8; row++) {
          const int addressing = matrix * 8 + row;
          for (int quad = 0; quad < 4; quad++) {
            for (int half = 0; half < 2; half++) {
              const int thread = warp * 32 + row * 4 + quad, i = sixteenth * 8 + matrix * 2 + half;
              EXPECT_EQ(fragment_row(thread, i), warp * kWarpRows + stmatrix_row(addressing));
              EXPECT_EQ(fragment_column(thread, i),
                        stmatrix_chunk(addressing, sixteenth) * 8 + quad * 2 + half);
            }
          }
        }
      }
    }
  }
}

TEST(HopperSchedule, EveryTileHasOnePlace) {
  for (int heads = 1; heads <= 12; heads++) {
    for (int row_tiles = 1; row_tiles <= 7; row_tiles++) {
      for (int section = 1; section <= heads; section++) {
        for (bool last_first : {false, true}) {
          std::set<std::pair<int, int>> seen;
          for (int i = 0; i < heads * row_tiles; i++) {
            const Place p = place_of(i, heads, row_tiles, section, last_first);
            ASSERT_TRUE(p.head >= 0 && p.head < heads && p.row_tile >= 0 && p.row_tile < row_tiles);
            ASSERT_TRUE(seen.insert({p.head, p.row_tile}).second);
          }
        }
      }
    }
  }
}

TEST(HopperSchedule, InsideASectionTheLongestTilesComeFirst) {
  constexpr int kHeads = 10, kTiles = 6, kSection = 4;
  int section = -1, last = 0;
  for (int i = 0; i < kHeads * kTiles; i++) {
    const Place p = place_of(i, kHeads, kTiles, kSection, true);
    if (p.head / kSection != section) {
      EXPECT_EQ(p.head / kSection, section + 1);
      section++;
      last = kTiles - 1;
    }
    EXPECT_LE(p.row_tile, last);
    last = p.row_tile;
  }
}

TEST(HopperSchedule, ASectionKeepsHeadsThatShareKeysTogetherAndFitsTheCache) {
  EXPECT_TRUE(rc::check([] {
    const int group = *rc::gen::inRange(1, 9), heads = group * *rc::gen::inRange(1, 65);
    const int row_tiles = *rc::gen::inRange(0, 100), grid = *rc::gen::inRange(0, 200);
    const int waves = *rc::gen::inRange(1, 3);
    const int64_t bytes = *rc::gen::inRange<int64_t>(0, 1 << 26);
    const int64_t cache = *rc::gen::inRange<int64_t>(0, 1 << 26);
    const int section = section_heads(heads, group, row_tiles, grid, waves, bytes, cache);
    RC_ASSERT(section >= 1 && section <= heads && section % group == 0);
    RC_ASSERT(section == group || section / group * bytes <= cache);
  }));
}

// Rounds go on until the first of a pair says that there is none left for the block.
TEST(HopperSchedule, PairsTakeEveryTileOnceAndCostTheSame) {
  for (int grid : {1, 2, 7, 132}) {
    for (int heads = 1; heads <= 9; heads++) {
      for (int row_tiles = 1; row_tiles <= 9; row_tiles++) {
        std::set<std::pair<int, int>> seen;
        for (int block = 0; block < grid; block++) {
          for (int round = 0; paired_place(round, block, grid, heads, row_tiles).head >= 0;
               round++) {
            const Place p = paired_place(round, block, grid, heads, row_tiles);
            if (p.row_tile < 0) continue;
            ASSERT_TRUE(p.head < heads && p.row_tile < row_tiles);
            ASSERT_TRUE(seen.insert({p.head, p.row_tile}).second);
            if (round % 2 == 0) continue;
            const Place first = paired_place(round - 1, block, grid, heads, row_tiles);
            EXPECT_EQ(first.head, p.head);
            EXPECT_EQ(first.row_tile + p.row_tile, row_tiles - 1);
            EXPECT_GT(first.row_tile, p.row_tile);
          }
        }
        EXPECT_EQ(seen.size(), static_cast<size_t>(heads) * row_tiles);
      }
    }
  }
}

TEST(HopperSchedule, UnknownLengthsAndManyTilesAreCounted) {
  EXPECT_EQ(order_for(10, 5, 256, 128, 132, true, true), Order::counted);
  EXPECT_EQ(order_for(100000, 100, 128000, 128, 132, false, false), Order::counted);
  EXPECT_EQ(order_for(132, 66, 256, 128, 132, true, false), Order::strided);
  EXPECT_EQ(order_for(264, 132, 256, 128, 132, true, false), Order::paired);
  EXPECT_EQ(order_for(264, 132, 255, 128, 132, true, false), Order::counted);
}

// Against the definition, key by key.
TEST(HopperSchedule, VisitsExactlyTheBlocksThatAreSeenAndMasksExactlyThoseThatAreCut) {
  constexpr int kRows = 4;
  for (int block : {3, 4}) {
    for (int length_q = 1; length_q <= 13; length_q++) {
      for (int length_kv = 0; length_kv <= 13; length_kv++) {
        for (bool causal : {false, true}) {
          for (int begin = 0; begin < length_q; begin += kRows) {
            const auto sees = [&](int row, int key) {
              return key < length_kv && (!causal || key <= row + length_kv - length_q);
            };
            int visited = 0, whole = 0;
            for (int b = 0; b * block < length_kv; b++) {
              bool any = false, all = true;
              for (int row = begin; row < begin + kRows; row++) {
                for (int key = b * block; key < (b + 1) * block; key++) {
                  if (row < length_q && sees(row, key)) any = true;
                  if (!sees(row, key)) all = false;
                }
              }
              if (any) visited = b + 1;
              if (all && whole == b) whole = b + 1;
            }
            EXPECT_EQ(visible_blocks(begin + kRows, length_q, length_kv, causal, block), visited);
            EXPECT_EQ(whole_blocks(begin, length_q, length_kv, causal, block), whole);
          }
          for (int row = 0; row < length_q; row++) {
            int keys = 0;
            for (int key = 0; key < length_kv; key++)
              keys += !causal || key <= row + length_kv - length_q;
            EXPECT_EQ(visible_keys(row, length_q, length_kv, causal), keys);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace namesake::attention::sm90
