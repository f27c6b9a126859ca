#include <gtest/gtest.h>

#include "ptx/ptx.h"

namespace namesake::ptx {
namespace {

Module parsed(std::string text) {
  Result<Module> module = parse(std::move(text), "k.ptx");
  EXPECT_TRUE(module) << module.error().message;
  return module ? *module : Module{};
}

const std::string kHead = ".version 9.0\n.target sm_90a\n.address_size 64\n";

TEST(Rename, TouchesEveryUseOfTheSymbolAndNothingElse) {
  Module module = parsed(kHead +
                         ".func f(.param .b32 f_param_0);\n"
                         ".entry k { call f, (a); mov.u64 %rd1, f; } // f\n"
                         ".file 1 \"f\"\n"
                         ".func f(.param .b32 f_param_0) { ret; }\n");
  Module renamed = rename(module, {{"f", "longer"}}).value();
  EXPECT_EQ(renamed.text, kHead +
                              ".func longer(.param .b32 f_param_0);\n"
                              ".entry k { call longer, (a); mov.u64 %rd1, longer; } // f\n"
                              ".file 1 \"f\"\n"
                              ".func longer(.param .b32 f_param_0) { ret; }\n");
  ASSERT_NE(renamed.find("longer"), nullptr);
  EXPECT_EQ(renamed.find("f"), nullptr);
}

TEST(Rename, TwoSymbolsMaySwapTheirNames) {
  Module module = parsed(kHead + ".entry a { 1; }\n.entry b { 2; }\n");
  Module swapped = rename(module, {{"a", "b"}, {"b", "a"}}).value();
  EXPECT_EQ(swapped.text, kHead + ".entry b { 1; }\n.entry a { 2; }\n");
}

TEST(Rename, RefusesATakenName) {
  Module module = parsed(kHead + ".global .b32 taken;\n.entry a { ret; }\n");
  EXPECT_EQ(rename(module, {{"a", "taken"}}).error().message, "k.ptx:4: the name taken is taken");
}

TEST(Rename, RefusesTwoFunctionsOfOneName) {
  Module module = parsed(kHead + ".entry a { ret; }\n.entry b { ret; }\n");
  EXPECT_EQ(rename(module, {{"a", "x1"}, {"b", "x1"}}).error().message,
            "k.ptx: two functions would be named x1");
}

TEST(Rename, RefusesWhatIsNoName) {
  Module module = parsed(kHead + ".entry a { ret; }\n");
  EXPECT_EQ(rename(module, {{"a", "1x"}}).error().message,
            "k.ptx: a cannot become '1x': that is no PTX name");
  EXPECT_EQ(rename(module, {{"b", "x"}}).error().message, "k.ptx: no function b to rename");
}

TEST(WithPragma, StandsFirstInTheBodyAndMovesNoLine) {
  Module module = parsed(kHead + ".entry a\n{\n ret; }\n.entry b { ret; }\n");
  Module marked = with_pragma(module, "mma_throughput", {"a", "b", "a", "unknown"});
  EXPECT_EQ(marked.text, kHead +
                             ".entry a\n{ .pragma \"mma_throughput\";\n ret; }\n"
                             ".entry b { .pragma \"mma_throughput\"; ret; }\n");
}

TEST(LowerFor, LowersAsFarAsTheAssemblerNeeds) {
  Lowered lowered = lower_for(parsed(kHead), "12.9").value();
  EXPECT_TRUE(lowered.edited());
  EXPECT_EQ(lowered.to, (Version{8, 8}));
  EXPECT_EQ(lowered.module.text, ".version 8.8\n.target sm_90a\n.address_size 64\n");
  EXPECT_EQ(lowered.module.version, (Version{8, 8}));
}

TEST(LowerFor, LeavesWhatTheAssemblerReads) {
  Lowered same = lower_for(parsed(kHead), "13.0.88").value();
  EXPECT_FALSE(same.edited());
  EXPECT_EQ(same.module.text, kHead);
}

TEST(LowerFor, SaysWhereTheTargetNeedsMore) {
  EXPECT_EQ(lower_for(parsed(kHead), "11.8.89").error().message,
            "not expressible here: k.ptx is for sm_90a, which needs PTX 8.0, and the assembler of CUDA "
            "11.8.89 reads up to 7.8");
}

TEST(LowerFor, ATargetOfTheFutureIsNoErrorWhereNothingIsEdited) {
  EXPECT_TRUE(lower_for(parsed(".version 9.0\n.target sm_999\n"), "13.0"));
}

TEST(Retarget, ReplacesTheTargetAndRaisesAnOlderVersion) {
  Module module = parsed(".version 8.0\n.target sm_90a, debug\n");
  Module moved = retarget(module, "sm_100a").value();
  EXPECT_EQ(moved.text, ".version 8.6\n.target sm_100a, debug\n");
  EXPECT_EQ(moved.target, "sm_100a");
}

TEST(Retarget, RefusesAnUnknownTargetAndListsTheKnown) {
  std::string message = retarget(parsed(kHead), "sm_93").error().message;
  EXPECT_TRUE(message.starts_with("unknown target 'sm_93'; known are sm_50 ")) << message;
}

TEST(Versions, ReleasesNotYetKnownAreExtrapolated) {
  EXPECT_EQ(newest_version_of("13.5"), (Version{9, 5}));
  EXPECT_EQ(newest_version_of("13.7.1"), (Version{9, 7}));
  EXPECT_EQ(newest_version_of("12.6.20"), (Version{8, 5}));
  EXPECT_EQ(newest_version_of("11.7.99"), (Version{7, 7}));
}

}  // namespace
}  // namespace namesake::ptx
