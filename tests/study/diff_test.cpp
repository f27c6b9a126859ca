#include "study/diff.h"

#include <fmt/format.h>

#include "stand_in.h"
#include "util/subprocess.h"

namespace namesake::study {
namespace {

using report::ControlOutcome;
using report::Verdict;

class Diff : public StandIn {};

TEST_F(Diff, ShowsWhichKernelsReactAndAllControlsHold) {
  auto difference = diff(request(assembler("")));
  ASSERT_TRUE(difference) << difference.error().message;
  EXPECT_EQ(function(*difference, "large_kernel").verdict, Verdict::different);
  EXPECT_EQ(function(*difference, "small_kernel").verdict, Verdict::same);
  EXPECT_EQ(difference->controls.size(), 5u);
  for (const report::Control& control : difference->controls) {
    EXPECT_EQ(control.outcome, ControlOutcome::held) << control.name;
    EXPECT_EQ(control.checked, 2) << control.name;
  }
}

TEST_F(Diff, AnAssemblerThatReadsTheNameAnotherWayFailsItsControls) {
  auto difference = diff(request(assembler("bypass=yes")));
  ASSERT_TRUE(difference) << difference.error().message;
  EXPECT_EQ(function(*difference, "large_kernel").verdict, Verdict::same);
  EXPECT_EQ(control(*difference, "treated equals renamed").outcome, ControlOutcome::failed);
  EXPECT_EQ(control(*difference, "untreated equals the neutral name").outcome, ControlOutcome::failed);
  EXPECT_EQ(control(*difference, "treated equals the official pragma").outcome, ControlOutcome::failed);
  EXPECT_EQ(control(*difference, "two neutral names").outcome, ControlOutcome::held);
}

TEST_F(Diff, AnAssemblerThatTestsAnotherTextShowsItInNoTreatment) {
  auto difference = diff(request(assembler("trigger=none")));
  ASSERT_TRUE(difference) << difference.error().message;
  EXPECT_EQ(function(*difference, "large_kernel").verdict, Verdict::same);
  EXPECT_EQ(control(*difference, "treated equals renamed").outcome, ControlOutcome::held);
}

TEST_F(Diff, AnAssemblerThatKnowsOneOfOurNeutralNamesFailsTheirControl) {
  auto module = ptx::parse(*read_file(sample()), "sample.ptx");
  ASSERT_TRUE(module);
  std::string neutral = ptx::neutral_names(*module, {"large_kernel", "small_kernel"}, 0).at("large_kernel");
  auto difference = diff(request(assembler("trigger=" + neutral)));
  ASSERT_TRUE(difference) << difference.error().message;
  EXPECT_EQ(control(*difference, "two neutral names").outcome, ControlOutcome::failed);
  EXPECT_EQ(control(*difference, "two neutral names").failed, 1);
}

TEST_F(Diff, ALotteryIsNoEffect) {
  DiffRequest lottery = request(assembler("lottery=3 react=none"));
  lottery.draws = 16;
  auto difference = diff(lottery);
  ASSERT_TRUE(difference) << difference.error().message;
  const report::FunctionDifference& large = function(*difference, "large_kernel");
  EXPECT_EQ(large.verdict, Verdict::lottery);
  EXPECT_GT(large.a.draws.size(), 1u);
  EXPECT_EQ(large.a.draws_made, 17);
}

TEST_F(Diff, ACodeThatDependsOnTheNamesLengthMakesNoControlFail) {
  auto difference = diff(request(assembler("length=yes")));
  ASSERT_TRUE(difference) << difference.error().message;
  for (const report::Control& control : difference->controls) {
    EXPECT_EQ(control.outcome, ControlOutcome::held) << control.name;
  }
}

TEST_F(Diff, AHangIsAFailureOfOneBuild) {
  auto difference = diff(request(assembler("hang=treated")));
  ASSERT_TRUE(difference) << difference.error().message;
  const report::FunctionDifference& large = function(*difference, "large_kernel");
  EXPECT_EQ(large.verdict, Verdict::failed);
  EXPECT_EQ(large.a.failure, "");
  EXPECT_NE(large.b.failure, "");
}

TEST_F(Diff, ACrashIsAFailureOfOneBuildAndTheNameCrashesItTheSame) {
  auto difference = diff(request(assembler("crash=treated")));
  ASSERT_TRUE(difference) << difference.error().message;
  EXPECT_EQ(function(*difference, "large_kernel").verdict, Verdict::failed);
  EXPECT_NE(function(*difference, "large_kernel").b.failure.find("signal 11"), std::string::npos);
  EXPECT_EQ(control(*difference, "treated equals renamed").outcome, ControlOutcome::held);
}

TEST_F(Diff, SpillsOfTheTreatedBuildAreShown) {
  auto difference = diff(request(assembler("spill=treated:96")));
  ASSERT_TRUE(difference) << difference.error().message;
  EXPECT_EQ(function(*difference, "large_kernel").a.spill_store_bytes, 0);
  EXPECT_EQ(function(*difference, "large_kernel").b.spill_store_bytes, 96);
}

TEST_F(Diff, AnErrorOfTheAssemblerIsToldInItsOwnWords) {
  auto difference = diff(request(assembler("fail=planted")));
  ASSERT_TRUE(difference) << difference.error().message;
  EXPECT_NE(function(*difference, "large_kernel").a.failure.find("planted"), std::string::npos);
}

TEST_F(Diff, AHookThatChangesCodeByItselfFailsItsControl) {
  toolchain::Tool real = assembler("");
  std::filesystem::path script = folder.path() / "wrapper" / "ptxas";
  std::filesystem::create_directories(script.parent_path());
  ASSERT_TRUE(write_file(script, fmt::format("#!/bin/sh\n[ -z \"$LD_PRELOAD\" ] || export NAMESAKE_STAND_IN=spill=always:64\nexec {} \"$@\"\n", quoted({real.path.string()})), true));
  toolchain::Tool wrapper = real;
  wrapper.path = script;
  auto difference = diff(request(wrapper));
  ASSERT_TRUE(difference) << difference.error().message;
  EXPECT_EQ(control(*difference, "the hook alone changes nothing").outcome, ControlOutcome::failed);
}

TEST_F(Diff, PtxTooNewForAnAssemblerIsLoweredAndSaid) {
  DiffRequest versions = request(assembler("reads=8.8", "12.9.86"));
  versions.inputs.files = {sample("9.0")};
  versions.b.assembler = assembler("");
  versions.a.treatment = versions.b.treatment = Treatment::natural;
  auto difference = diff(versions);
  ASSERT_TRUE(difference) << difference.error().message;
  EXPECT_EQ(function(*difference, "large_kernel").a.failure, "");
  bool said = false;
  for (const std::string& note : difference->notes) said |= note.find("9.0 lowered to 8.8") != std::string::npos;
  EXPECT_TRUE(said);
  EXPECT_EQ(control(*difference, "lowering .version changes no code").outcome, ControlOutcome::held);
}

TEST_F(Diff, TheBlockSizeThatAKernelPromisesIsKept) {
  DiffRequest promised = request(assembler(""));
  promised.inputs.files = {folder.path() / "promised.ptx"};
  ASSERT_TRUE(write_file(promised.inputs.files[0],
                         ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry promised(.param .u64 p)\n"
                         ".maxntid 32, 4, 1\n.minnctapersm 1\n{\nret;\n}\n.visible .entry silent()\n{\nret;\n}\n"));
  auto difference = diff(promised);
  ASSERT_TRUE(difference) << difference.error().message;
  EXPECT_EQ(function(*difference, "promised").threads_per_block, 128);
  EXPECT_EQ(function(*difference, "silent").threads_per_block, 0);
}

TEST_F(Diff, WhatWasAssembledBeforeIsNotAssembledAgain) {
  Cache cache(folder.path() / "cache", "salt");
  toolchain::Tool tool = assembler("");
  DiffRequest cached = request(tool);
  cached.cache = &cache;
  auto first = diff(cached);
  ASSERT_TRUE(first) << first.error().message;
  // From here on the assembler can only fail, so every success is a remembered one.
  ASSERT_TRUE(write_file(tool.path.parent_path() / "settings", "fail=called\n"));
  auto second = diff(cached);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(function(*second, "large_kernel").b.identity, function(*first, "large_kernel").b.identity);
  EXPECT_EQ(function(*second, "large_kernel").b.failure, "");
}

TEST_F(Diff, TwentyThousandFunctionsStayCheap) {
  std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n";
  for (int i = 0; i < 20'000; ++i) {
    text += fmt::format(".visible .entry kernel_{:06}()\n{{\n.reg .b32 %r<9>;\nadd.s32 %r1, %r1, {};\nadd.s32 %r1, %r1, 1;\n"
                        "add.s32 %r1, %r1, 2;\nadd.s32 %r1, %r1, 3;\nadd.s32 %r1, %r1, 4;\nadd.s32 %r1, %r1, 5;\nret;\n}}\n", i, i % 50);
  }
  DiffRequest many = request(assembler(""));
  many.inputs.files = {folder.path() / "many.ptx"};
  many.timeout = std::chrono::minutes(5);
  many.controls = false;
  ASSERT_TRUE(write_file(many.inputs.files[0], text));
  auto start = std::chrono::steady_clock::now();
  auto difference = diff(many);
  ASSERT_TRUE(difference) << difference.error().message;
  EXPECT_EQ(difference->functions.size(), 20'000u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(2));
}

TEST_F(Diff, AnInterruptEndsItWithoutAReport) {
  DiffRequest stopped = request(assembler("slow=200"));
  stopped.stop = [] { return true; };
  EXPECT_FALSE(diff(stopped));
}

}  // namespace
}  // namespace namesake::study
