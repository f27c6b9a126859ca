#include "report/explain.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "random_report.h"

namespace namesake::report {
namespace {

FunctionDifference changed() {
  FunctionDifference f;
  f.symbol = f.name = "matmul";
  f.architecture = "sm_90";
  f.verdict = Verdict::different;
  f.a.registers = 163;
  f.b.registers = 128;
  f.a.hottest_loop = Mix{456, {{"address", 120}, {"tensor", 64}}, {}};
  f.b.hottest_loop = Mix{468, {{"address", 132}, {"tensor", 64}}, {}};
  return f;
}

TEST(Explain, fewer_registers_name_the_blocks_they_make_room_for) {
  FunctionDifference f = changed();
  f.threads_per_block = 256;
  EXPECT_EQ(explain(f),
            "treated uses 35 fewer registers (163 → 128): occupancy may rise from 1 to 2 blocks an "
            "SM; the hottest "
            "loop has 12 more instructions (456 → 468): 12 more address");
}

TEST(Explain, where_the_block_size_is_unknown_it_speaks_of_warps) {
  EXPECT_NE(explain(changed()).find(
                "(163 → 128): room for 16 warps an SM instead of 12, so occupancy may rise"),
            std::string::npos);
}

TEST(Explain, a_new_spill_is_named_with_its_cost) {
  FunctionDifference f = changed();
  f.b.spill_store_bytes = 20;
  EXPECT_NE(explain(f).find("it spills (20 bytes), which costs memory traffic"), std::string::npos);
}

TEST(Explain, a_lottery_tells_its_draws_and_what_they_share) {
  FunctionDifference f = changed();
  f.verdict = Verdict::lottery;
  f.a.draws = {"x", "y", "z"};
  f.b.draws = {"z"};
  f.a.draws_made = f.b.draws_made = 12;
  EXPECT_NE(explain(f).find(
                "untreated gave 3 codes in 12 draws, treated 1 code in 12 draws, 1 in common"),
            std::string::npos);
}

RC_GTEST_PROP(Explain, no_sentence_claims_speed, ()) {
  Difference difference = random::difference();
  auto claims = [](const std::string& text) {
    return text.find("faster") != std::string::npos || text.find("slower") != std::string::npos;
  };
  RC_ASSERT(!claims(summary_sentence(difference)));
  for (const FunctionDifference& function : difference.functions)
    RC_ASSERT(!claims(explain(function)));
}

TEST(Explain, the_summary_counts_pairs_of_builds_where_there_are_several_architectures) {
  Difference d;
  d.b.label = "treated";
  d.architectures = {"sm_80", "sm_90"};
  FunctionDifference f = changed();
  d.functions = {f};
  f.architecture = "sm_80";
  f.verdict = Verdict::same;
  f.b.registers = f.a.registers;
  d.functions.push_back(f);
  EXPECT_EQ(
      summary_sentence(d),
      "1 of 2 pairs of builds (1 function on sm_80, sm_90) has other code, 1 the same. In the "
      "treated builds: fewer registers in 1. Which way that cuts, only measuring tells.");
}

TEST(Importance, failures_come_first_and_the_same_last) {
  Difference d;
  FunctionDifference f;
  for (Verdict verdict :
       {Verdict::same, Verdict::different, Verdict::same_but_registers, Verdict::failed}) {
    f.verdict = verdict;
    d.functions.push_back(f);
  }
  auto sorted = by_importance(d);
  EXPECT_EQ(sorted[0]->verdict, Verdict::failed);
  EXPECT_EQ(sorted[1]->verdict, Verdict::different);
  EXPECT_EQ(sorted[2]->verdict, Verdict::same_but_registers);
  EXPECT_EQ(sorted[3]->verdict, Verdict::same);
}

TEST(Occupancy, the_register_file_holds_what_the_programming_guide_says) {
  EXPECT_EQ(warps_by_registers("sm_90", 32), 64);
  EXPECT_EQ(warps_by_registers("sm_90a", 128), 16);
  EXPECT_EQ(warps_by_registers("sm_80", 255), 8);
  EXPECT_EQ(warps_by_registers("sm_86", 32), 48);
  EXPECT_EQ(warps_by_registers("sm_77", 32), std::nullopt);
  EXPECT_EQ(warps_by_registers("nonsense", 32), std::nullopt);
  EXPECT_EQ(warps_by_registers("sm_90", 0), std::nullopt);
  EXPECT_EQ(blocks_by_registers("sm_90", 128, 256), 2);
}

}  // namespace
}  // namespace namesake::report
