// The Hopper kernel's layouts, descriptors and order of work, exhaustively: the functions are those
// the kernel itself calls.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <map>
#include <set>

#include "sm90/layout.h"
#include "sm90/schedule.h"
#include "sm90/tile.h"

namespace namesake::attention::sm90 {
namespace {

std::vector<TileConfig> tiles(std::initializer_list<DType> dtypes = {DType::fp16, DType::bf16}) {
  std::vector<TileConfig> all;
  for (DType dtype : dtypes)
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
    EXPECT_LE(128 * (t.producer_registers + t.groups * t.consumer_registers()), 65536);
    EXPECT_EQ(t.producer_registers % 8, 0);
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

// ---- fp8 ----------------------------------------------------------------------------------------

constexpr int kHeadDims[] = {64, 128, 256};

std::vector<TileConfig> tiles_of_fp8() {
  std::vector<TileConfig> all = tiles({DType::e4m3, DType::e5m2});
  for (TileConfig t : std::vector(all))
    all.push_back(tile_for(t.dtype, t.head_dim, t.causal, true));
  return all;
}

TEST(HopperTile, OfFp8FitsSharedMemoryAndRegisters) {
  for (const TileConfig& t : tiles_of_fp8()) {
    EXPECT_LE(t.shared_bytes(), kSharedLimit);
    EXPECT_LE(128 * (t.producer_registers + t.groups * t.consumer_registers()), 65536);
    EXPECT_EQ(t.producer_registers % 8, 0);
    EXPECT_EQ(t.consumer_registers() % 8, 0);
    EXPECT_EQ(t.keys % 32, 0);
    EXPECT_LE(t.keys, 224);  // what the suite's bounds reckon with
    EXPECT_GE(t.q_units, t.groups);
    EXPECT_EQ(t.raw_stages == 0, t.ahead);
    EXPECT_EQ(t, tile_for(t.dtype, t.head_dim, t.causal, t.ahead));
    for (int offset :
         {t.q_offset(), t.k_offset(), t.raw_offset(), t.q_unit_bytes(), t.kv_stage_bytes()})
      EXPECT_EQ(offset % kTileAlignment, 0);  // these are swizzled
    for (int offset : {t.v_offset(), t.v_stage_bytes()}) EXPECT_EQ(offset % kCoreBytes, 0);
    for (int offset : {t.area_offset(), t.warp_area_bytes()}) EXPECT_EQ(offset % kTileAlignment, 0);
    EXPECT_LE(t.store_by_copy, t.has_area());
    EXPECT_LE(t.turning_warps + (t.loads_apart() ? 2 : 1), 4);  // of the producers
  }
}

TEST(HopperTile, TurningVAheadKeepsWhatDecidesTheBits) {
  for (TileConfig t : tiles_of_fp8()) {
    const TileConfig other = tile_for(t.dtype, t.head_dim, t.causal, !t.ahead);
    EXPECT_EQ(t.keys, other.keys);
    EXPECT_EQ(t.groups, other.groups);
  }
}

// Two orders of sixteen things, each of which holds every one once.
TEST(HopperTurned, OrdersArePermutations) {
  std::set<int> rows, positions;
  for (int i = 0; i < 256; i++) {
    EXPECT_EQ(turned_row(i) / 16, i / 16);
    EXPECT_EQ(turned_position(i) / 16, i / 16);
    rows.insert(turned_row(i));
    positions.insert(turned_position(i));
  }
  EXPECT_EQ(rows.size(), 256u);
  EXPECT_EQ(positions.size(), 256u);
}

TEST(HopperTurned, EachElementHasItsOwnPlaceAndTheOnesHaveTheRest) {
  for (int head_dim : kHeadDims) {
    for (int keys = 64; keys <= 224; keys += 32) {
      std::set<uint32_t> places;
      for (int key = 0; key < keys; key++)
        for (int column = 0; column < head_dim; column++)
          places.insert(turned_offset(keys, key, column));
      EXPECT_EQ(places.size(), static_cast<size_t>(keys) * head_dim);
      EXPECT_EQ(*places.rbegin() + 1, static_cast<uint32_t>(turned_bytes(head_dim, keys)));
      // The rows of ones lie behind: where head_dim's next rows would.
      EXPECT_EQ(turned_chunk(keys, head_dim, 0),
                static_cast<uint32_t>(turned_bytes(head_dim, keys)));
    }
  }
}

// The copy engine exclusive-ors the chunk's bits of an address with those of the 128-byte line.
uint32_t hardware_swizzle_of(uint32_t bytes, uint32_t address) {
  return address ^ (address >> 7 & (bytes / kChunkBytes - 1)) << 4;
}

TEST(HopperLayout, OfNarrowRowsIsWhatTheCopyEngineWrites) {
  for (uint32_t bytes : {32u, 64u, 128u}) {
    std::set<uint32_t> places;
    for (uint32_t row = 0; row < 256; row++) {
      for (uint32_t chunk = 0; chunk < bytes / kChunkBytes; chunk++) {
        const uint32_t place = swizzled_in(bytes, row, chunk);
        EXPECT_EQ(place, hardware_swizzle_of(bytes, row * bytes + chunk * kChunkBytes));
        places.insert(place);
      }
    }
    EXPECT_EQ(places.size(), 256 * bytes / kChunkBytes);
    EXPECT_EQ(*places.rbegin() + kChunkBytes, 256 * bytes);
  }
  for (uint32_t row = 0; row < 256; row++)
    for (uint32_t chunk = 0; chunk < 8; chunk++)
      EXPECT_EQ(swizzled_in(128, row, chunk), swizzled(row, chunk));
}

// wgmma's own swizzle of a K-major operand in rows of 64 or 128 bytes is the copy engine's.
TEST(HopperDescriptor, NamesTheBytesOfQAndKInEachStepOfFp8) {
  constexpr uint32_t kBase = 5 * kTileAlignment;
  for (const TileConfig& t : tiles_of_fp8()) {
    const int bytes = t.row_bytes();
    for (int rows : {kGroupRows, t.keys}) {
      for (int step = 0; step < t.head_dim / 32; step++) {
        const Descriptor d =
            decoded(descriptor8(descriptor_low(kBase) + k_major_step8(rows, bytes, step), bytes));
        ASSERT_EQ(d.swizzle, bytes == 64 ? 2u : 1u);
        for (int row = 0; row < rows; row++) {
          for (int k = 0; k < 32; k++) {
            const uint32_t address = d.start + row / 8 * d.stride + row % 8 * bytes + k;
            const int column = step * 32 + k, in_block = column % bytes;
            ASSERT_EQ(hardware_swizzle_of(bytes, address),
                      kBase + column / bytes * rows * bytes +
                          swizzled_in(bytes, row, in_block / kChunkBytes) + in_block % kChunkBytes);
          }
        }
      }
    }
  }
}

// What the product reads at (row n, byte k) of a step, for each k of the step and each row.
uint32_t turned_byte(int keys, int step, int row, int k) {
  const Descriptor d = decoded(turned_descriptor(0, keys) + turned_step(step));
  EXPECT_EQ(d.swizzle, 0u);
  return d.start + row / 8 * d.stride + k / 16 * d.leading + row % 8 * 16 + k % 16;
}

// The key in byte k of a step of the A operand, m64nNk32: a thread's words a0 … a3 hold bytes
// 4t … 4t + 3 of its row, its row + 8, and 16 bytes further of both; fp8.cuh packs them from the
// scores of sixteen keys each.
int packed_key(int step, int k) {
  const int sixteen = 2 * step + k / 16, t = k % 16 / 4;
  constexpr int kScoresOfWord[] = {0, 1, 4, 5};  // and 2, 3, 6, 7 of the row + 8
  const int score = sixteen * 8 + kScoresOfWord[k % 4];
  EXPECT_EQ(fragment_row(t, score), 0);
  EXPECT_EQ(fragment_row(t, score + 2), 8);
  EXPECT_EQ(fragment_column(t, score + 2), fragment_column(t, score));
  return fragment_column(t, score);
}

TEST(HopperTurned, ProductsMeetEachKeyWithItsProbability) {
  for (int head_dim : kHeadDims) {
    for (int keys = 64; keys <= 224; keys += 32) {
      for (int step = 0; step < keys / 32; step++)
        for (int k = 0; k < 32; k++)
          for (int column = 0; column < head_dim; column++)
            ASSERT_EQ(turned_byte(keys, step, turned_row(column), k),
                      turned_offset(keys, packed_key(step, k), column));
    }
  }
}

// A thread's accumulators 8J … 8J + 7, in the order 0, 4, 1, 5, are four consecutive columns.
TEST(HopperTurned, AccumulatorsHoldConsecutiveColumns) {
  constexpr int kOrder[] = {0, 4, 1, 5};
  for (int thread = 0; thread < 128; thread++)
    for (int sixteenth = 0; sixteenth < 16; sixteenth++)
      for (int j = 0; j < 4; j++)
        for (int half = 0; half < 2; half++) {
          const int i = sixteenth * 8 + kOrder[j] + 2 * half;
          EXPECT_EQ(fragment_column(thread, i),
                    turned_row(turned_fragment_column(thread, sixteenth) + j));
          EXPECT_EQ(fragment_row(thread, i), fragment_row(thread, 2 * half));
        }
}

// Turning, byte by byte, with what the instructions do to a warp's registers.
using Memory = std::map<uint32_t, int>;  // where, and which element: key * 256 + column
using Word = std::array<int, 4>;

// ldmatrix.x4.trans: matrix m's row r is the 16 bytes at lane 8 m + r's address; lane l gets, of
// its columns of 16 bits, column l / 4 of rows 2 (l % 4) and 2 (l % 4) + 1.
Word loaded_transposed(const Memory& memory, const std::array<uint32_t, 32>& address, int matrix,
                       int lane) {
  Word word;
  for (int half = 0; half < 2; half++)
    for (int byte = 0; byte < 2; byte++)
      word[half * 2 + byte] =
          memory.at(address[matrix * 8 + lane % 4 * 2 + half] + lane / 4 * 2 + byte);
  return word;
}

// stmatrix.x4: the other way, not transposed: lane l's word is bytes 4 (l % 4) … of row l / 4.
void store_matrix(Memory& memory, const std::array<uint32_t, 32>& address, int matrix, int lane,
                  const Word& word) {
  for (int byte = 0; byte < 4; byte++)
    memory[address[matrix * 8 + lane / 4] + lane % 4 * 4 + byte] = word[byte];
}

Word permuted(const Word& a, const Word& b, std::array<int, 4> order) {
  Word word;
  for (int i = 0; i < 4; i++) word[i] = order[i] < 4 ? a[order[i]] : b[order[i] - 4];
  return word;
}

void expect_turned(const Memory& turned, int head_dim, int keys) {
  for (int key = 0; key < keys; key++) {
    for (int column = 0; column < head_dim; column++) {
      const auto found = turned.find(turned_offset(keys, key, column));
      ASSERT_NE(found, turned.end());
      ASSERT_EQ(found->second, key * 256 + column);
    }
  }
  EXPECT_EQ(turned.size(), static_cast<size_t>(keys) * head_dim);
}

// A warp's output on its way through shared memory: in each store, of eight bytes a lane, half a
// warp meets every bank once.
TEST(HopperTurned, OutputIsWrittenWithoutBankConflictsWhereTheCopyEngineReadsIt) {
  std::set<uint32_t> places;
  for (int half = 0; half < 2; half++) {
    for (int store = 0; store < 4; store++) {
      for (int half_warp = 0; half_warp < 2; half_warp++) {
        std::set<uint32_t> banks;
        for (int lane = half_warp * 16; lane < half_warp * 16 + 16; lane++) {
          const int sixteenth = lane / 4 % 2 ? store ^ 2 : store;
          const uint32_t at = element_offset(kWarpRows, fragment_row(lane, 2 * half),
                                             turned_fragment_column(lane, sixteenth));
          EXPECT_EQ(at % 8, 0u);
          banks.insert(at % 128 / 8);
          places.insert(at);
        }
        EXPECT_EQ(banks.size(), 16u);
      }
    }
  }
  EXPECT_EQ(places.size(), static_cast<size_t>(kWarpRows * kRowBytes / 8));
}

TEST(HopperTurned, RowsAreTurnedByMatricesOfTwoColumnsAnElement) {
  for (int head_dim : kHeadDims) {
    for (int keys = 64; keys <= 224; keys += 32) {
      const uint32_t bytes = head_dim == 64 ? 64 : 128;
      Memory raw, turned;
      for (int key = 0; key < keys; key++)
        for (int column = 0; column < head_dim; column++)
          raw[column / bytes * keys * bytes +
              swizzled_in(bytes, key, column % bytes / kChunkBytes) + column % kChunkBytes] =
              key * 256 + column;
      for (int sixteen = 0; sixteen < keys / 16; sixteen++) {
        for (int pair = 0; pair < head_dim / 32; pair++) {
          std::array<uint32_t, 32> from, to;
          for (int lane = 0; lane < 32; lane++) {
            const int matrix = lane / 8, row = lane % 8, pairs = static_cast<int>(bytes) / 32;
            from[lane] = pair / pairs * keys * bytes +
                         swizzled_in(bytes, sixteen * 16 + matrix % 2 * 8 + row,
                                     pair % pairs * 2 + matrix / 2);
            to[lane] = turned_chunk(keys, pair * 32 + matrix * 8 + row, sixteen);
          }
          for (int lane = 0; lane < 32; lane++) {
            std::array<Word, 4> w;
            for (int m = 0; m < 4; m++) w[m] = loaded_transposed(raw, from, m, lane);
            store_matrix(turned, to, 0, lane, permuted(w[0], w[1], {0, 2, 4, 6}));
            store_matrix(turned, to, 1, lane, permuted(w[0], w[1], {1, 3, 5, 7}));
            store_matrix(turned, to, 2, lane, permuted(w[2], w[3], {0, 2, 4, 6}));
            store_matrix(turned, to, 3, lane, permuted(w[2], w[3], {1, 3, 5, 7}));
          }
        }
      }
      expect_turned(turned, head_dim, keys);
    }
  }
}

TEST(HopperTurned, ColumnsAreTurnedByHalfWords) {
  for (int head_dim : kHeadDims) {
    for (int keys = 64; keys <= 224; keys += 32) {
      const int box = transposed_box(keys);
      ASSERT_EQ(keys % box, 0);
      Memory raw, turned;
      for (int key = 0; key < keys; key++)
        for (int column = 0; column < head_dim; column++)
          raw[key / box * head_dim * box + swizzled_in(box, column, key % box / kChunkBytes) +
              key % kChunkBytes] = key * 256 + column;
      for (int column = 0; column < head_dim; column++) {
        for (int chunk = 0; chunk < keys / kChunkBytes; chunk++) {
          // The chunk's address is that of chunk 0 with the chunk's bits flipped.
          const int chunks = box / kChunkBytes;
          const uint32_t from = (swizzled_in(box, column, 0) ^ (chunk % chunks * kChunkBytes)) +
                                chunk / chunks * head_dim * box;
          const uint32_t to = turned_chunk(keys, turned_row(column), chunk);
          std::array<Word, 4> w;
          for (int i = 0; i < 16; i++) w[i / 4][i % 4] = raw.at(from + i);
          const Word out[] = {
              permuted(w[0], w[2], {0, 1, 4, 5}), permuted(w[0], w[2], {2, 3, 6, 7}),
              permuted(w[1], w[3], {0, 1, 4, 5}), permuted(w[1], w[3], {2, 3, 6, 7})};
          for (int i = 0; i < 16; i++) turned[to + i] = out[i / 4][i % 4];
        }
      }
      expect_turned(turned, head_dim, keys);
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
