#include "sass/sequence_diff.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <chrono>

namespace namesake::sass {
namespace {

using Sequence = std::vector<uint32_t>;

rc::Gen<Sequence> small_sequence() {
  return rc::gen::resize(30, rc::gen::container<Sequence>(rc::gen::inRange<uint32_t>(0, 5)));
}

size_t longest_common_by_table(const Sequence& a, const Sequence& b) {
  std::vector<std::vector<size_t>> best(a.size() + 1, std::vector<size_t>(b.size() + 1, 0));
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      best[i][j] =
          a[i - 1] == b[j - 1] ? best[i - 1][j - 1] + 1 : std::max(best[i - 1][j], best[i][j - 1]);
    }
  }
  return best[a.size()][b.size()];
}

void expect_valid(const Sequence& a, const Sequence& b, const std::vector<Kept>& kept) {
  for (size_t i = 0; i < kept.size(); ++i) {
    ASSERT_LT(kept[i].a, a.size());
    ASSERT_LT(kept[i].b, b.size());
    ASSERT_EQ(a[kept[i].a], b[kept[i].b]);
    if (i > 0) {
      ASSERT_GT(kept[i].a, kept[i - 1].a);
      ASSERT_GT(kept[i].b, kept[i - 1].b);
    }
  }
}

RC_GTEST_PROP(SequenceDiff, keeps_a_longest_common_subsequence, ()) {
  Sequence a = *small_sequence(), b = *small_sequence();
  std::vector<Kept> kept = common_subsequence(a, b);
  expect_valid(a, b, kept);
  RC_ASSERT(kept.size() == longest_common_by_table(a, b));
}

RC_GTEST_PROP(SequenceDiff, is_a_valid_edit_whatever_the_effort, ()) {
  Sequence a = *rc::gen::container<Sequence>(400, rc::gen::inRange<uint32_t>(0, 4));
  Sequence b = *rc::gen::container<Sequence>(400, rc::gen::inRange<uint32_t>(0, 4));
  expect_valid(a, b, common_subsequence(a, b, 0));
}

RC_GTEST_PROP(SequenceDiff, keeps_everything_of_equal_sequences, ()) {
  Sequence a = *rc::gen::arbitrary<Sequence>();
  RC_ASSERT(common_subsequence(a, a).size() == a.size());
}

TEST(SequenceDiff, takes_seconds_at_most_for_long_sequences_with_nothing_in_common) {
  Sequence a(20'000), b(20'000);
  for (uint32_t i = 0; i < a.size(); ++i) {
    a[i] = i;
    b[i] = i + 20'000;
  }
  auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(common_subsequence(a, b).empty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(SequenceDiff, finds_most_of_what_is_common_beyond_its_effort) {
  // Every third element of a is gone from b and every fifth place has a stranger: 14,000 steps, far
  // beyond the cap at this length.
  Sequence a, b;
  uint32_t seed = 1;
  for (int i = 0; i < 20'000; ++i) {
    seed = seed * 1664525 + 1013904223;
    a.push_back(seed >> 22);
    if (i % 3 != 0) b.push_back(seed >> 22);
    if (i % 5 == 0) b.push_back(5000 + i);
  }
  std::vector<Kept> kept = common_subsequence(a, b);
  expect_valid(a, b, kept);
  EXPECT_GT(kept.size(), a.size() * 6 / 10);
}

}  // namespace
}  // namespace namesake::sass
