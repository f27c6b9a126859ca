// Where blocks of V lie that are turned ahead, and what a warp makes of one.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "sm90/ahead.h"

namespace namesake::attention::sm90 {
namespace {

constexpr int kKeys = 128, kHeadDim = 256;

void* const kWorkspace = reinterpret_cast<void*>(uintptr_t{1} << 20);  // never read

struct Batch {
  Problem problem;
  Turned turned;
  std::vector<int32_t> ends;  // packed: of sequences
};

// Whatever lengths, packed or of one length, in groups of any number of heads.
Batch any_batch() {
  Batch made;
  Problem& p = made.problem;
  p.batch = *rc::gen::inRange(1, 20);
  p.heads_kv = *rc::gen::inRange(1, 9);
  if (*rc::gen::arbitrary<bool>()) {
    made.ends = {0};
    for (int i = 0; i < p.batch; i++) {
      const int length = *rc::gen::element(0, 1, 127, 128, 129, *rc::gen::inRange(0, 1000));
      made.ends.push_back(made.ends.back() + length);
      p.seqlen_kv = std::max(p.seqlen_kv, length);
    }
    p.total_kv = made.ends.back() + *rc::gen::inRange(0, 300);
    p.cu_seqlens_kv = made.ends.data();
  } else {
    p.seqlen_kv = *rc::gen::inRange(1, 2000);
  }
  const int first = *rc::gen::inRange(0, 300), group = *rc::gen::inRange(1, 12);
  made.turned = turned_at(p, kKeys, kHeadDim, first, group, kWorkspace);
  return made;
}

TEST(HopperTurnedAhead, EveryBlockHasItsOwnPlaceAndThePlaceLeadsBack) {
  EXPECT_TRUE(rc::check([] {
    const Batch b = any_batch();
    const Problem& p = b.problem;
    std::set<int> places;
    for (int batch = 0; batch < p.batch; batch++) {
      const int blocks = ceil_div(sequence_of(p, batch).length_kv, kKeys);
      for (int head = 0; head < p.heads_kv; head++) {
        const TurnedBlocks at = turned_blocks(p, b.turned, batch, head, kKeys);
        for (int block = 0; block < blocks; block++) {
          const int index = at.first - block * at.step;
          RC_ASSERT(index >= 0 && index < b.turned.all);
          RC_ASSERT(places.insert(index).second);
          const TurnedPlace back = turned_place(p, b.turned, index, kKeys);
          RC_ASSERT(std::tuple(back.batch, back.head, back.block) ==
                    std::tuple(batch, head, block));
        }
      }
    }
    // What is left belongs to no block: past a sequence's end, or in no head.
    for (int index = 0; index < b.turned.all; index++) {
      if (places.count(index)) continue;
      const TurnedPlace place = turned_place(p, b.turned, index, kKeys);
      RC_ASSERT(place.head >= p.heads_kv ||
                place.block * kKeys >= sequence_of(p, place.batch).length_kv);
    }
  }));
}

TEST(HopperTurnedAhead, GroupsComeOneAfterAnotherAndBeginWithTheirLastKeys) {
  Problem p;
  p.batch = 2, p.heads_kv = 3, p.seqlen_kv = 500;  // six heads of four blocks
  const Turned turned = turned_at(p, kKeys, kHeadDim, 0, 4, kWorkspace);
  std::vector<std::tuple<int, int, int>> order;
  for (int i = 0; i < turned.all; i++) {
    const TurnedPlace at = turned_place(p, turned, i, kKeys);
    order.emplace_back(at.batch, at.head, at.block);
  }
  const std::vector<std::tuple<int, int, int>> begin = {{0, 0, 3}, {0, 1, 3}, {0, 2, 3},
                                                        {1, 0, 3}, {0, 0, 2}, {0, 1, 2}};
  EXPECT_TRUE(std::equal(begin.begin(), begin.end(), order.begin()));
  const std::vector<std::tuple<int, int, int>> last = {{1, 1, 3}, {1, 2, 3}, {1, 1, 2}};
  EXPECT_TRUE(std::equal(last.begin(), last.end(), order.begin() + 16));
}

TEST(HopperTurnedAhead, TheWorkspaceHoldsWhatIsSharedAlignedAsItsUsersNeed) {
  EXPECT_TRUE(rc::check([] {
    const Batch b = any_batch();
    const Turned t = turned_at(b.problem, kKeys, kHeadDim, 7, 1, kWorkspace);
    const auto at = [](const void* pointer) {
      return static_cast<size_t>(static_cast<const char*>(pointer) -
                                 static_cast<const char*>(kWorkspace));
    };
    const size_t bytes = turned_bytes(b.problem, kKeys, kHeadDim);
    RC_ASSERT(at(t.state) == 0u && at(t.data) >= sizeof(TurnedState) && at(t.data) % 16 == 0u);
    RC_ASSERT(at(t.ready) >= at(t.data) + size_t{kKeys} * kHeadDim * t.all);
    RC_ASSERT(at(t.ready) % 8 == 0u && at(t.ready + t.all) <= bytes && bytes % 16 == 0u);
    RC_ASSERT(t.first <= t.all && t.first <= 7);
  }));
}

// movmatrix: of an 8x8 matrix of 16-bit elements, a row in every four lanes, lane l gets elements
// l / 4 of rows 2 (l % 4) and 2 (l % 4) + 1.
TEST(HopperTurnedAhead, AWarpTurnsByMatricesOfWordsThatLieSixteenBytesApart) {
  using Word = std::array<int, 4>;
  using Warp = std::array<Word, 32>;
  std::map<uint32_t, int> turned;
  for (int sixteen = 0; sixteen < kKeys / 16; sixteen++) {
    for (int part = 0; part < kHeadDim; part += 64) {
      for (int w = 0; w < 4; w++) {
        // Word w of the sixteen bytes that each lane reads of key lane / 4 and of the one eight on.
        std::array<Warp, 2> moved;
        for (int high = 0; high < 2; high++) {
          const auto element = [&](int row, int i, int byte) {
            const int column = part + i / 2 * 16 + w * 4 + i % 2 * 2 + byte;
            return (sixteen * 16 + high * 8 + row) * 256 + column;
          };
          for (int lane = 0; lane < 32; lane++)
            for (int byte = 0; byte < 4; byte++)
              moved[high][lane][byte] = element(lane % 4 * 2 + byte / 2, lane / 4, byte % 2);
        }
        for (int lane = 0; lane < 32; lane++) {
          for (int odd = 0; odd < 2; odd++) {
            const uint32_t to = turned_chunk(kKeys, turned_lane_row(lane), sixteen) +
                                turned_lane_byte(lane) + turned_chunk(kKeys, part, 0) +
                                turned_chunk(kKeys, turned_row(4 * w + odd), 0);
            const Warp &low = moved[0], &high = moved[1];
            const Word word = {low[lane][odd], low[lane][2 + odd], high[lane][odd],
                               high[lane][2 + odd]};
            for (int byte = 0; byte < 4; byte++) turned[to + byte] = word[byte];
          }
        }
      }
    }
  }
  EXPECT_EQ(turned.size(), size_t{kKeys} * kHeadDim);
  for (int key = 0; key < kKeys; key++)
    for (int column = 0; column < kHeadDim; column++)
      ASSERT_EQ(turned.at(turned_offset(kKeys, key, column)), key * 256 + column);
}

}  // namespace
}  // namespace namesake::attention::sm90
