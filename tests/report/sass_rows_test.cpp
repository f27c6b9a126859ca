#include "report/sass_rows.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "random_report.h"

namespace namesake::report {
namespace {

std::string joined(const std::vector<SassToken>& tokens) {
  std::string text;
  for (const SassToken& token : tokens) text += token.text;
  return text;
}
std::string kept(const std::vector<SassToken>& tokens) {
  std::string text;
  for (const SassToken& token : tokens) {
    if (!token.changed) text += token.text;
  }
  return text;
}

RC_GTEST_PROP(Tokens, tokens_are_the_text_and_the_unmarked_ones_are_common_to_both, ()) {
  std::string a = *random::text(), b = *random::text();
  std::vector<SassToken> tokens_a, tokens_b;
  mark_tokens(a, b, tokens_a, tokens_b);
  RC_ASSERT(joined(tokens_a) == a);
  RC_ASSERT(joined(tokens_b) == b);
  RC_ASSERT(kept(tokens_a) == kept(tokens_b));
}

TEST(Tokens, only_the_register_that_changed_is_marked) {
  std::vector<SassToken> a, b;
  mark_tokens("IMAD.WIDE R2, R3, 0x4, R4", "IMAD.WIDE R2, R9, 0x4, R4", a, b);
  EXPECT_EQ(kept(a), "IMAD.WIDE R2, , 0x4, R4");
}

RC_GTEST_PROP(Blocks, every_row_is_in_exactly_one_block, ()) {
  std::vector<SassRow> rows = random::some<SassRow>(40, random::row);
  size_t removed = 0, added = 0, equal = 0, left_out = 0;
  size_t found_a = 0, found_b = 0, found_equal = 0, found_left_out = 0;
  for (const SassRow& row : rows) {
    if (row.left_out > 0)
      ++left_out;
    else if (row.change == '-')
      ++removed;
    else if (row.change == '+')
      ++added;
    else
      ++equal;
  }
  for (const SassBlock& block : sass_blocks(rows, *rc::gen::arbitrary<bool>())) {
    found_left_out += block.left_out > 0;
    for (const SassLine& line : block.lines) {
      found_a += line.change == '-' || line.change == '|';
      found_b += line.change == '+' || line.change == '|';
      found_equal += line.change == ' ' || line.change == '~';
    }
  }
  RC_ASSERT(found_left_out == left_out);
  RC_ASSERT(found_a == removed);
  RC_ASSERT(found_b == added);
  RC_ASSERT(found_equal == equal);
}

RC_GTEST_PROP(Blocks, a_fold_never_hides_a_change, ()) {
  std::vector<SassRow> rows = random::some<SassRow>(40, random::row);
  for (const SassBlock& block : sass_blocks(rows, true)) {
    if (!block.folds) continue;
    for (const SassLine& line : block.lines) RC_ASSERT(line.change == ' ');
  }
}

RC_GTEST_PROP(Shortened, changes_stay_and_every_equal_row_is_kept_or_counted, ()) {
  std::vector<SassRow> rows = random::some<SassRow>(60, random::row);
  auto weigh = [](const std::vector<SassRow>& list) {
    int64_t equal = 0, other = 0;
    for (const SassRow& row : list) {
      if (row.change == ' ')
        equal += row.left_out > 0 ? row.left_out : 1;
      else
        ++other;
    }
    return std::pair(equal, other);
  };
  std::vector<SassRow> result = shortened(rows, 2);
  RC_ASSERT(weigh(result) == weigh(rows));
  RC_ASSERT(result.size() <= rows.size());
}

TEST(Shortened, a_long_equal_run_becomes_its_two_ends_and_a_count) {
  std::vector<SassRow> rows(100);
  rows[50].change = '-';
  std::vector<SassRow> result = shortened(rows, 3);
  ASSERT_EQ(result.size(), 9u);
  EXPECT_EQ(result[0].left_out, 47);
  EXPECT_EQ(result[4].change, '-');
  EXPECT_EQ(result[8].left_out, 46);
}

}  // namespace
}  // namespace namesake::report
