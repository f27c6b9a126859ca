#include "sass/flow.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sample.h"

namespace namesake::sass {
namespace {

std::string text_of(const std::vector<Loop>& loops) {
  std::string out;
  for (const Loop& loop : loops) {
    out += std::to_string(loop.first) + "-" + std::to_string(loop.last) + "/" +
           std::to_string(loop.depth) + " ";
  }
  return out;
}

TEST(Loops, three_loops_in_each_other_have_depths_one_to_three) {
  Sample sample("shapes.sm_90");
  const Function& nested = sample.function("nested");
  ASSERT_EQ(nested.loops.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(nested.loops[i].depth, static_cast<int>(i + 1));
    const Instruction& last = nested.instructions[nested.loops[i].last];
    EXPECT_EQ(last.branch_target, static_cast<int64_t>(nested.loops[i].first * 16));
    if (i == 0) continue;
    EXPECT_LT(nested.loops[i - 1].first, nested.loops[i].first);
    EXPECT_GT(nested.loops[i - 1].last, nested.loops[i].last);
  }
}

TEST(Loops, a_straight_kernel_has_none) {
  EXPECT_TRUE(Sample("shapes.sm_90").function("straight").loops.empty());
}

TEST(Loops, a_slow_path_that_jumps_back_from_behind_the_end_is_no_loop) {
  Function function = written({"ISETP P0, R1", "@P0 BRA 0x50", "MOV R2, R3", "STG [R2], R3", "EXIT",
                               "MOV R3, R4", "BRA 0x20"});
  EXPECT_EQ(text_of(function.loops), "");
}

TEST(Loops, the_branch_to_itself_behind_the_end_is_no_loop) {
  EXPECT_EQ(text_of(written({"EXIT", "BRA 0x10", "NOP"}).loops), "");
  EXPECT_EQ(text_of(written({"EXIT", "BRA 0x10", "MOV R1, R2", "EXIT"}).loops), "");
}

TEST(Loops, a_spin_of_one_block_is_a_loop) {
  EXPECT_EQ(text_of(written({"SYNCS P0", "@!P0 BRA 0x0", "EXIT"}).loops), "0-1/1 ");
}

TEST(Loops, two_ways_back_to_one_header_are_one_loop) {
  EXPECT_EQ(
      text_of(written({"MOV R1, R2", "@P0 BRA 0x0", "FADD R1, R2", "@P1 BRA 0x0", "EXIT"}).loops),
      "0-3/1 ");
}

TEST(Loops, an_exit_under_a_predicate_does_not_end_the_loop) {
  EXPECT_EQ(text_of(written({"MOV R1, R2", "@P0 EXIT", "BRA 0x0"}).loops), "0-2/1 ");
}

TEST(Loops, a_called_part_of_the_section_has_its_own) {
  Function function = written(
      {"CALL.REL.NOINC 0x20", "EXIT", "FADD R1, R2", "@P0 BRA 0x20", "RET.REL.NODEC R20 0x0"});
  EXPECT_EQ(text_of(function.loops), "2-3/1 ");
}

TEST(Loops, an_indirect_branch_inside_a_loop_leads_to_the_targets_the_cubin_names) {
  for (const char* name : {"shapes.sm_80", "shapes.sm_90"}) {
    Sample sample(name);
    const Function& jumps = sample.function("jump_table");
    ASSERT_FALSE(jumps.indirect_branches.empty()) << name;
    ASSERT_EQ(jumps.loops.size(), 1u) << name;
    for (uint32_t target : jumps.indirect_branches[0].targets) {
      EXPECT_GE(target / 16, jumps.loops[0].first);
      EXPECT_LE(target / 16, jumps.loops[0].last);
    }
  }
}

// Random code with branches anywhere: whatever its shape, loops are well formed.
RC_GTEST_PROP(Loops, of_any_flow_begin_at_a_branch_target_and_nest_by_depth, ()) {
  size_t count = *rc::gen::inRange<size_t>(1, 40);
  std::vector<std::string> lines;
  for (size_t i = 0; i < count; ++i) {
    char target[16];
    std::snprintf(target, sizeof target, "0x%zx", *rc::gen::inRange<size_t>(0, count) * 16);
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
        lines.push_back(std::string("BRA ") + target);
        break;
      case 1:
        lines.push_back(std::string("@P0 BRA ") + target);
        break;
      case 2:
        lines.push_back("EXIT");
        break;
      default:
        lines.push_back("FADD R1, R2, R3");
        break;
    }
  }
  Function function = written(lines);
  for (const Loop& loop : function.loops) {
    RC_ASSERT(loop.first <= loop.last);
    RC_ASSERT(loop.last < function.instructions.size());
    RC_ASSERT(loop.depth >= 1);
    RC_ASSERT(static_cast<size_t>(loop.depth) <= function.loops.size());
  }
  RC_ASSERT(std::is_sorted(function.loops.begin(), function.loops.end(),
                           [](const Loop& x, const Loop& y) { return x.depth < y.depth; }));
}

// The definition, without the machinery: a back edge's target dominates its source if the source
// cannot be reached once the target is taken out.
RC_GTEST_PROP(Loops, have_for_headers_the_blocks_that_dominate_one_of_their_predecessors, ()) {
  size_t count = *rc::gen::inRange<size_t>(1, 24);
  std::vector<std::string> lines;
  for (size_t i = 0; i < count; ++i) {
    char target[16];
    std::snprintf(target, sizeof target, "0x%zx", *rc::gen::inRange<size_t>(0, count) * 16);
    int kind = *rc::gen::inRange(0, 4);
    lines.push_back(kind == 0   ? std::string("@P0 BRA ") + target
                    : kind == 1 ? std::string("BRA.U UP0, ") + target
                    : kind == 2 ? "@P1 EXIT"
                                : "FADD R1, R2, R3");
  }
  Function function = written(lines);
  Graph graph = control_flow(function);
  auto reachable = [&](uint32_t goal, uint32_t without) {
    std::vector<bool> seen(graph.blocks.size(), false);
    std::vector<uint32_t> work;
    for (uint32_t root : graph.roots) work.push_back(root);
    while (!work.empty()) {
      uint32_t at = work.back();
      work.pop_back();
      if (at == without || seen[at]) continue;
      seen[at] = true;
      for (uint32_t next : graph.blocks[at].successors) work.push_back(next);
    }
    return static_cast<bool>(seen[goal]);
  };
  std::vector<size_t> expected;
  for (uint32_t header = 0; header < graph.blocks.size(); ++header) {
    bool loops = false;
    for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
      const auto& next = graph.blocks[b].successors;
      if (std::find(next.begin(), next.end(), header) == next.end()) continue;
      loops = loops || (reachable(b, UINT32_MAX) && (b == header || !reachable(b, header)));
    }
    if (loops && reachable(header, UINT32_MAX)) expected.push_back(graph.blocks[header].first);
  }
  std::vector<size_t> found;
  for (const Loop& loop : function.loops) found.push_back(loop.first);
  std::sort(found.begin(), found.end());
  RC_ASSERT(found == expected);
}

TEST(HottestLoop, is_the_innermost_with_the_work) {
  Sample sample("shapes.sm_90");
  const Function& nested = sample.function("nested");
  EXPECT_EQ(hottest_loop(nested), &nested.loops[2]);
  EXPECT_EQ(hottest_loop(sample.function("straight")), nullptr);
}

TEST(HottestLoop, of_a_tensor_kernel_holds_its_tensor_instructions) {
  for (const char* name : {"matmul_wgmma.sm_90a", "matmul_mma.sm_120"}) {
    Sample sample(name);
    const Loop* loop = hottest_loop(sample.functions[0]);
    ASSERT_NE(loop, nullptr) << name;
    EXPECT_GE(mix_of(sample.functions[0], loop->first, loop->last)
                  .by_class[static_cast<size_t>(Class::tensor)],
              16u)
        << name;
  }
}

TEST(HottestLoop, is_not_the_one_that_only_serves_the_threads_of_a_warp_one_by_one) {
  Function function =
      written({"MOV R1, R2", "UTCHMMA gdesc[UR6]", "@P0 BRA.U.ANY 0x10", "@P1 BRA 0x0", "EXIT"});
  ASSERT_EQ(function.loops.size(), 2u);
  ASSERT_NE(hottest_loop(function), nullptr);
  EXPECT_EQ(hottest_loop(function)->depth, 1);
}

TEST(HottestLoop, is_not_a_deeper_spin_without_work) {
  Function function =
      written({"FFMA R1, R2, R3, R4", "SYNCS P0", "@!P0 BRA 0x10", "@P1 BRA 0x0", "EXIT"});
  ASSERT_NE(hottest_loop(function), nullptr);
  EXPECT_EQ(hottest_loop(function)->depth, 1);
}

}  // namespace
}  // namespace namesake::sass
