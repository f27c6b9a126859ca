#include <gtest/gtest.h>

#include <random>

#include "ab/judge.h"
#include "live/protocol.h"
#include "report/live_pages.h"

using namespace namesake;
using namespace namesake::ab;
using report::LiveFinding;

namespace {

std::mt19937_64 random_numbers(7);

struct Plan {
  double a = 1, b = 1;  // milliseconds
  double noise = 0.01;
  int blocks = 200;
  double rhythm = 0;  // what the first and last launch of a block take more
  std::array<int64_t, 3> grid = {10, 1, 1};
  int64_t launches = 1000;
};

void add_shape(Record& record, const Plan& plan) {
  LaunchShape shape;
  shape.kernel = 0;
  shape.grid = plan.grid;
  shape.block = {256, 1, 1};
  shape.launches = plan.launches;
  auto number = static_cast<uint32_t>(record.shapes.size());
  record.shapes.push_back(shape);
  std::normal_distribution<double> noise(1, plan.noise);
  for (int i = 0; i < plan.blocks; ++i) {
    Block block;
    block.shape = number;
    block.kind = i % 4 == 3 ? NS_BLOCK_CONTROL : NS_BLOCK_PAIR;
    block.b_first = random_numbers() % 2;
    for (size_t k = 0; k < 4; ++k) {
      bool outer = k == 0 || k == 3;
      bool is_b = block.kind == NS_BLOCK_PAIR && outer == block.b_first;
      block.milliseconds[k] = (is_b ? plan.b : plan.a) * noise(random_numbers) +
                              (outer == block.b_first ? plan.rhythm : 0);
    }
    record.blocks.push_back(block);
  }
}

Launched launched(const std::vector<Plan>& plans, Standing standing = Standing::pair) {
  Record record;
  record.device = "a GPU";
  LaunchedKernel kernel;
  kernel.image = 1;
  kernel.symbol = "kernel";
  kernel.symbol_hash = 5;
  kernel.state = NS_LIVE_PAIR;
  for (const Plan& plan : plans) kernel.launches += plan.launches;
  kernel.of_b = kernel.launches / 2;
  record.kernels.push_back(kernel);
  for (const Plan& plan : plans) add_shape(record, plan);
  Launched all;
  all.records.push_back(record);
  Note note;
  note.image = 1;
  note.symbol = "kernel";
  note.standing = standing;
  note.assembler = "ptxas 13.0.88";
  note.a_is_loaded = true;
  all.notes[{1, 5}] = note;
  return all;
}

report::LiveKernel judged(const std::vector<Plan>& plans) {
  return judge(launched(plans), "untreated", "treated").kernels.front();
}

TEST(LiveJudge, FasterAndSlowerAreToldWithTheirSavings) {
  report::LiveKernel faster = judged({{.a = 2, .b = 1.5}});
  EXPECT_EQ(faster.finding, LiveFinding::faster);
  EXPECT_NEAR(faster.total_milliseconds, 2000, 20);
  EXPECT_NEAR(faster.saved_milliseconds, 500, 20);
  report::LiveKernel slower = judged({{.a = 1.5, .b = 2}});
  EXPECT_EQ(slower.finding, LiveFinding::slower);
  EXPECT_EQ(slower.saved_milliseconds, 0);
}

TEST(LiveJudge, NothingIsClaimedOfEqualTimes) {
  EXPECT_EQ(judged({{}}).finding, LiveFinding::no_difference);
}

TEST(LiveJudge, FewBlocksDecideNothing) {
  EXPECT_EQ(judged({{.b = 0.8, .blocks = 4}}).finding, LiveFinding::undecided);
}

TEST(LiveJudge, ALoudControlTakesTheVerdictBack) {
  report::LiveKernel kernel = judged({{.b = 0.97, .rhythm = 0.2}});
  EXPECT_EQ(kernel.finding, LiveFinding::undecided);
  EXPECT_NE(kernel.meaning.find("rhythm"), std::string::npos) << kernel.meaning;
}

TEST(LiveJudge, ShapesThatDisagreeLeaveTheKernelUndecided) {
  report::LiveKernel kernel = judged({{.b = 0.8}, {.b = 1.2, .grid = {20, 1, 1}}});
  EXPECT_EQ(kernel.finding, LiveFinding::undecided);
  EXPECT_NE(kernel.meaning.find("slower for others"), std::string::npos) << kernel.meaning;
}

TEST(LiveJudge, AShapeThatHardlyMattersDecidesNothing) {
  EXPECT_EQ(judged({{.b = 0.8}, {.b = 1.2, .grid = {20, 1, 1}, .launches = 2}}).finding,
            LiveFinding::faster);
}

TEST(LiveJudge, LaunchesOfDifferentShapesAreNotMixed) {
  report::LiveKernel kernel = judged({{.a = 1, .b = 0.9}, {.a = 50, .b = 45, .grid = {99, 1, 1}}});
  ASSERT_EQ(kernel.shapes.size(), 2u);
  for (const report::LiveShape& shape : kernel.shapes) EXPECT_NEAR(shape.time.ratio, 0.9, 0.01);
  EXPECT_EQ(kernel.shapes[0].grid[0], 99);  // it takes the most time
}

TEST(LiveJudge, ReasonsForRunningAsLoadedAreKept) {
  Launched all = launched({{}}, Standing::alone);
  all.notes.begin()->second.why = "no PTX";
  report::LiveKernel kernel = judge(all, "untreated", "treated").kernels.front();
  EXPECT_EQ(kernel.finding, LiveFinding::alone);
  EXPECT_EQ(kernel.meaning, "no PTX");
}

TEST(LiveJudge, TheAdviceNamesTheKernelsThatGain) {
  report::Live live = judge(launched({{.b = 0.8}}), "untreated", "treated");
  advise(live, {"./app", "x y"});
  EXPECT_EQ(live.next_command, "namesake run --treat kernel -- ./app 'x y'");
  live = judge(launched({{.b = 1.2}}), "untreated", "treated");
  advise(live, {"./app"});
  EXPECT_EQ(live.next_command, "");
}

TEST(LiveJudge, LongSymbolsAreNamedByAsMuchAsTellsThemApart) {
  Launched all = launched({{.b = 0.8}});
  std::string symbol = "_ZN7library4gemmI" + std::string(900, 'x');
  all.notes.begin()->second.symbol = symbol;
  LaunchedKernel other;
  other.image = 1;
  other.symbol = "_ZN7library4gemmI" + std::string(60, 'x') + "y";
  other.symbol_hash = 6;
  other.launches = 1;
  all.records.front().kernels.push_back(other);
  report::Live live = judge(all, "untreated", "treated");
  advise(live, {"./app"});
  EXPECT_EQ(live.next_command,
            "namesake run --treat '_ZN7library4gemmI" + std::string(61, 'x') + "*' -- ./app");
}

TEST(LiveJudge, TheSourceLineIsNamedWhereTheAssemblerTakesIt) {
  for (const auto& [assembler, named] :
       {std::pair("ptxas 13.0.88", false), std::pair("ptxas 13.5.37", true),
        std::pair("driver JIT", false)}) {
    Launched all = launched({{.b = 0.8}});
    all.notes.begin()->second.assembler = assembler;
    report::Live live = judge(all, "untreated", "treated");
    advise(live, {"./app"});
    EXPECT_EQ(live.advice.find("nv_mma_throughput") != std::string::npos, named) << assembler;
  }
}

TEST(LiveJudge, WhatAnotherAssemblerGainsIsNoPolicy) {
  report::Live live = judge(launched({{.b = 0.8}}), "natural", "13.5");
  advise(live, {"./app"});
  EXPECT_EQ(live.next_command, "");
  EXPECT_NE(live.advice.find("would gain"), std::string::npos);
}

// Of equal builds with a heavy tail, verdicts may come as rarely as their confidence says.
TEST(LiveJudge, EqualBuildsRarelyGetAVerdict) {
  int verdicts = 0, runs = 200;
  for (int i = 0; i < runs; ++i) {
    report::LiveKernel kernel = judged({{.noise = 0.05, .blocks = 80}});
    verdicts += kernel.finding == LiveFinding::faster || kernel.finding == LiveFinding::slower;
  }
  EXPECT_LE(verdicts, runs / 10);
}

TEST(LiveReport, ComesBackFromItsJson) {
  report::Live live = judge(launched({{.b = 0.8}, {.grid = {3, 2, 1}}}), "untreated", "treated");
  auto back = report::live_from_json(report::to_json(live));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(report::to_json(*back), report::to_json(live));
}

TEST(LiveReport, FitsTheTerminal) {
  report::Live live = judge(launched({{.b = 0.8}}), "untreated", "treated");
  live.kernels.front().name = std::string(300, 'k');
  report::TextStyle style;
  style.width = 60;
  std::string text = report::to_text(live, style);
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 75u) << text.substr(at, end - at);  // in bytes; some characters take three
    at = end + 1;
  }
}

}  // namespace
