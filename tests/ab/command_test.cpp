// `namesake ab` on an application that launches kernels on a stand-in driver. A treated kernel
// takes 0.8 of an untreated one's time there, unless a test says otherwise.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <map>

#include "ab_command.h"

using namespace namesake;

namespace {

TEST_F(AbCommand, FindsTheFasterBuildInTheRunningApplication) {
  Completed done = call({}, application("dlsym", "module"));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  report::LiveKernel found = kernel();
  EXPECT_EQ(found.finding, report::LiveFinding::faster) << found.meaning;
  ASSERT_TRUE(found.main_shape()->time.interval);
  EXPECT_LT((*found.main_shape()->time.interval)[0], 0.8);
  EXPECT_GT((*found.main_shape()->time.interval)[1], 0.8);
  EXPECT_EQ(found.launches, 600);
  EXPECT_NE(done.err.find("namesake run --treat kernel"), std::string::npos) << done.err;
}

TEST_F(AbCommand, RunsEachLaunchOnceWithOneOfTheBuilds) {
  call({}, application("dlsym", "module"));
  Code code = launched();
  EXPECT_EQ(code.treated + code.untreated, 600);
  EXPECT_GT(code.treated, 100);
  EXPECT_EQ(kernel().launches_of_b, code.treated);
}

TEST_F(AbCommand, ASlowerBuildIsToldAndNothingIsAdvised) {
  environment = {"FAKE_TREATED=1.1"};
  Completed done = call({}, application("dlsym", "module"));
  EXPECT_EQ(kernel().finding, report::LiveFinding::slower);
  EXPECT_NE(done.err.find("Leave everything as it is"), std::string::npos) << done.err;
}

TEST_F(AbCommand, AKernelThatIsTreatedByItsNameMayGainUntreated) {
  environment = {"FAKE_TREATED=1.1"};
  EXPECT_TRUE(write_file(path("kernel.ptx"), kernel_text("cutlass_kernel")));
  Completed done = call({}, application("dlsym", "module", {"symbol=cutlass_kernel"}));
  EXPECT_EQ(kernel().loaded, "b");
  EXPECT_GT(kernel().saved_milliseconds, 0);
  EXPECT_NE(done.err.find("--untreat cutlass_kernel"), std::string::npos) << done.err;
}

TEST_F(AbCommand, BuildsOfEqualTimeGiveNoDifference) {
  environment = {"FAKE_TREATED=1"};
  call({}, application("dlsym", "module"));
  EXPECT_EQ(kernel().finding, report::LiveFinding::no_difference) << kernel().meaning;
}

// Those that the device waits for after a pause would otherwise be timed first, each time.
TEST_F(AbCommand, AnApplicationThatQueuesAndWaitsGetsANarrowInterval) {
  environment = {"FAKE_IDLE=60"};
  call({}, application("dlsym", "module", {"launches=60000", "burst=400", "sleep=12000"}));
  report::LiveKernel found = kernel();
  ASSERT_TRUE(found.main_shape()->time.interval) << found.meaning;
  EXPECT_GT((*found.main_shape()->time.interval)[0], 0.79);
  EXPECT_LT((*found.main_shape()->time.interval)[1], 0.81);
  const std::vector<double>& ratios = found.main_shape()->ratios;
  auto late = ratios.begin() + static_cast<long>(ratios.size() / 2);
  auto after_a_pause =
      std::count_if(late, ratios.end(), [](double ratio) { return ratio < 0.75 || ratio > 0.85; });
  EXPECT_LT(after_a_pause, (ratios.end() - late) / 6);
}

TEST_F(AbCommand, EqualCodeIsNotAlternated) {
  environment = {"NAMESAKE_STAND_IN=react=none"};
  call({}, application("dlsym", "module"));
  EXPECT_EQ(kernel().finding, report::LiveFinding::same_code) << kernel().meaning;
  EXPECT_EQ(kernel().launches_of_b, 0);
}

TEST_F(AbCommand, AgainstItsOwnDoubleNothingShows) {
  call({"--a", "natural", "--b", "natural"}, application("dlsym", "module"));
  EXPECT_EQ(kernel().finding, report::LiveFinding::no_difference) << kernel().meaning;
  EXPECT_GT(kernel().launches_of_b, 100);
}

TEST_F(AbCommand, ComparesOptimisationLevels) {
  call({"--a", "natural", "--b", "O1"}, application("dlsym", "module"));
  report::LiveKernel found = kernel();
  EXPECT_GT(found.launches_of_b, 100) << found.meaning;
  EXPECT_EQ(found.loaded, "a");
}

// Every way to the driver, and every way to hold code.
struct Way {
  const char *door, *holding;
  bool ex;
};
class AbWays : public AbCommand, public testing::WithParamInterface<Way> {};

TEST_P(AbWays, LaunchesAlternate) {
  Way way = GetParam();
  std::vector<std::string> more = {"launches=300", "sleep=2000"};
  if (way.ex) more.emplace_back("ex=1");
  Completed done = call({}, application(way.door, way.holding, more));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_EQ(kernel().launches, 300);
  EXPECT_GT(kernel().launches_of_b, 40) << done.err;
  EXPECT_EQ(live().unknown, 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, AbWays,
    testing::Values(Way{"dlsym", "module", true}, Way{"linked", "module", false},
                    Way{"procaddress", "library", false},
                    Way{"procaddress", "kernelfunction", true}, Way{"ptsz", "librarymodule", false},
                    Way{"ptsz", "library", true}),
    [](const auto& info) {
      return std::string(info.param.door) + "_" + info.param.holding + (info.param.ex ? "_ex" : "");
    });

TEST_F(AbCommand, CapturedLaunchesRunAsLoadedAndAreCounted) {
  Completed done =
      call({}, application("dlsym", "module", {"launches=400", "sleep=2000", "capture=50"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_EQ(kernel().captured, 50);
  EXPECT_EQ(launched().captured_untreated, 50);
  EXPECT_EQ(launched().captured_treated, 0);
  EXPECT_NE(done.err.find("50 launches into captured graphs ran as loaded"), std::string::npos)
      << done.err;
}

TEST_F(AbCommand, CooperativeLaunchesRunAsLoadedAndAreCounted) {
  Completed done =
      call({}, application("dlsym", "module", {"launches=400", "sleep=2000", "cooperative=50"}));
  EXPECT_EQ(kernel().cooperative, 50);
  Code code = launched();
  EXPECT_EQ(code.treated, kernel().launches_of_b);
}

TEST_F(AbCommand, AGridThatWouldNoLongerBeResidentAtOnceRunsAsLoaded) {
  environment = {"FAKE_OCCUPANCY=1"};
  call({}, application("dlsym", "module", {"grid=6", "launches=300", "sleep=2000"}));
  EXPECT_EQ(kernel().launches_of_b, 0);
  EXPECT_GT(kernel().not_resident, 0);
  EXPECT_EQ(launched().treated, 0);
}

TEST_F(AbCommand, AttributesAreSetOnBothBuilds) {
  call({},
       application("dlsym", "module", {"shared=65536", "cache=2", "launches=300", "sleep=2000"}));
  EXPECT_GT(kernel().launches_of_b, 40) << kernel().meaning;
  EXPECT_EQ(launched().treated_settings, "shared=65536 cache=2");
  EXPECT_EQ(launched().untreated_settings, "shared=65536 cache=2");
}

TEST_F(AbCommand, ABuildThatTheDriverDoesNotLoadLeavesTheApplicationAsItIs) {
  environment = {"FAKE_REFUSE=load"};
  Completed done = call({}, application("dlsym", "module", {"launches=300", "sleep=2000"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_EQ(launched().untreated, 300);
  EXPECT_NE(kernel().meaning.find("the driver refused"), std::string::npos) << kernel().meaning;
}

TEST_F(AbCommand, ALaunchThatTheDriverRefusesIsMadeAgainAsLoaded) {
  environment = {"FAKE_REFUSE=launch"};
  Completed done = call({}, application("dlsym", "module", {"launches=300", "sleep=2000"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_EQ(launched().untreated, 300);
  EXPECT_EQ(launched().treated, 0);
}

TEST_F(AbCommand, AnAssemblerThatCrashesTreatedHarmsNobody) {
  environment = {"NAMESAKE_STAND_IN=crash=treated"};
  Completed done = call({}, application("dlsym", "module", {"launches=300", "sleep=2000"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_EQ(launched().untreated, 300);
  EXPECT_NE(kernel().meaning.find("treated could not be made"), std::string::npos)
      << kernel().meaning;
}

TEST_F(AbCommand, AKernelThatUsesAVariableOfItsModuleIsLeftAlone) {
  EXPECT_TRUE(write_file(path("kernel.ptx"),
                         kernel_text("kernel", ".visible .const .align 4 .b8 table[64];\n",
                                     " ld.const.u32 %r9, [table];\n")));
  call({}, application("dlsym", "module", {"launches=300", "sleep=2000"}));
  EXPECT_EQ(kernel().launches_of_b, 0);
  EXPECT_NE(kernel().meaning.find("the variable table"), std::string::npos) << kernel().meaning;
}

TEST_F(AbCommand, CodeFromBeforeTheRunIsLeftAloneAndTheReportSaysWhy) {
  Command assemble;
  assemble.arguments = {NAMESAKE_BINARY_DIR "/stand_in/ptxas", "-arch=sm_90", path("kernel.ptx"),
                        "-o", path("kernel.cubin")};
  ASSERT_TRUE(run(assemble));
  std::vector<std::string> words = application("dlsym", "module", {"launches=300", "sleep=1000"});
  std::erase_if(words, [](const std::string& word) { return word.starts_with("ptxas="); });
  call({}, words);
  EXPECT_EQ(kernel().launches_of_b, 0);
  EXPECT_NE(kernel().meaning.find("built before this run"), std::string::npos) << kernel().meaning;
}

TEST_F(AbCommand, OnlyChosenKernelsAlternate) {
  call({"--kernels", "other*"}, application("dlsym", "module", {"launches=300", "sleep=1000"}));
  EXPECT_EQ(kernel().launches_of_b, 0);
  EXPECT_EQ(kernel().meaning, "not chosen by --kernels");
}

TEST_F(AbCommand, AfterItsTimeEverythingRunsAsLoaded) {
  call({"--seconds", "2"}, application("dlsym", "module", {"launches=2000", "sleep=2000"}));
  EXPECT_GT(kernel().launches_of_b, 20);
  EXPECT_LT(kernel().launches_of_b, 900);
}

TEST_F(AbCommand, UnloadedModulesAreForgottenAndLoadedOnesFoundAgain) {
  Completed done =
      call({}, application("dlsym", "module", {"launches=600", "sleep=1500", "unload=20"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_EQ(kernel().launches, 600);
  EXPECT_GT(kernel().launches_of_b, 100);
}

TEST_F(AbCommand, ThreadsLaunchAtOnce) {
  Completed done =
      call({}, application("procaddress", "library", {"launches=2000", "sleep=1000", "threads=8"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_EQ(kernel().launches, 2000);
  EXPECT_EQ(launched().treated, kernel().launches_of_b);
}

TEST_F(AbCommand, MemoryAndDescriptorsDoNotGrowWithLaunches) {
  auto after = [&](const std::string& launches) {
    Completed done =
        call({}, application("dlsym", "module",
                             {"launches=" + launches, "milliseconds=1500", "descriptors=1"}));
    auto lines = split(done.out, '\n');
    EXPECT_GE(lines.size(), 2u) << done.out << done.err;
    std::string memory(lines.size() > 1 ? lines[1] : "");
    std::string digits;
    for (char c : memory)
      if (c >= '0' && c <= '9') digits += c;
    return std::pair(parse_integer(trimmed(lines[0])).value_or(-1),
                     parse_integer(digits).value_or(-1));
  };
  auto few = after("1000"), many = after("100000");
  EXPECT_EQ(few.first, many.first);
  EXPECT_LT(many.second, few.second + 4096) << "kB";
}

// --check

TEST_F(AbCommand, ResultsAreComparedAndEachLaunchStillRunsOnce) {
  Completed done =
      call({"--check", "3"},
           application("dlsym", "module", {"launches=600", "sleep=1500", "memory=65536"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_EQ(done.out, "runs 600\n") << done.err;
  EXPECT_EQ(kernel().checked, 3);
  EXPECT_EQ(kernel().differing, 0);
  EXPECT_NE(done.err.find("bit for bit"), std::string::npos) << done.err;
}

TEST_F(AbCommand, ADifferentResultIsFoundAndEndsWithOne) {
  environment = {"FAKE_RESULT=differs"};
  Completed done =
      call({"--check", "2", "--policy", path("gains.toml")},
           application("procaddress", "library", {"launches=600", "sleep=1500", "memory=65536"}));
  EXPECT_EQ(done.exit_status, 1) << done.err;
  EXPECT_EQ(done.out, "runs 600\n");
  EXPECT_EQ(kernel().differing, 2);
  EXPECT_EQ(read_file(path("gains.toml")).value_or("").find("[[function]]"), std::string::npos);
}

TEST_F(AbCommand, AKernelThatIsNotRepeatableIsNotCalledDifferent) {
  environment = {"FAKE_RESULT=varies"};
  Completed done =
      call({"--check", "2"},
           application("dlsym", "module", {"launches=600", "sleep=1500", "memory=65536"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_EQ(kernel().differing, 0);
  EXPECT_EQ(kernel().unrepeatable, 2);
}

TEST_F(AbCommand, WhatCannotBeSavedIsNotChecked) {
  for (const auto& [option, why] :
       std::map<std::string, std::string>{{"pinned=1", "cannot be saved"},
                                          {"threads=2", "several threads"},
                                          {"memory=9000000", "more device memory"}}) {
    Completed done = call({"--check", "2", "--check-memory", "4"},
                          application("dlsym", "module",
                                      {"launches=400", "sleep=1500", option,
                                       option.starts_with("memory") ? "ex=0" : "memory=65536"}));
    EXPECT_EQ(kernel().checked, 0) << option;
    EXPECT_NE(kernel().unchecked.find(why), std::string::npos)
        << option << ": " << kernel().unchecked;
  }
}

TEST_F(AbCommand, TheStatusOfTheCommandIsPassedOn) {
  EXPECT_EQ(call({}, application("dlsym", "module", {"launches=50", "sleep=100", "status=7"}))
                .exit_status,
            7);
}

TEST_F(AbCommand, ACrashOfTheApplicationLeavesTheTable) {
  Completed done =
      call({}, application("dlsym", "module", {"launches=400", "sleep=2000", "signal=11"}));
  EXPECT_TRUE(done.signal == SIGSEGV || done.exit_status == 128 + SIGSEGV) << done.how_it_ended();
  EXPECT_GT(kernel().launches_of_b, 40);
  EXPECT_NE(live().ended, "");
}

TEST_F(AbCommand, AnInterruptedApplicationLeavesTheTable) {
  Completed done =
      call({}, application("dlsym", "module", {"launches=400", "sleep=2000", "signal=2"}));
  EXPECT_TRUE(done.signal == SIGINT || done.exit_status == 128 + SIGINT) << done.how_it_ended();
  EXPECT_EQ(kernel().finding, report::LiveFinding::faster);
  EXPECT_NE(done.err.find("b/a"), std::string::npos) << done.err;
}

TEST_F(AbCommand, ACommandThatLaunchesNothingIsToldSo) {
  Completed done = call({}, {"true"});
  EXPECT_EQ(done.exit_status, 0);
  EXPECT_NE(done.err.find("No launch was seen"), std::string::npos) << done.err;
}

TEST_F(AbCommand, WhoeverAsksForTheNextSymbolGetsTheOneBehindItself) {
  environment = {"LD_PRELOAD=" + std::string(kTargets) + "/next.so"};
  Completed done = call({}, {"sh", "-c", "test $$ -gt 0 && echo fine"});
  EXPECT_EQ(done.out, "fine\n") << done.err;
}

TEST_F(AbCommand, WritesAPolicyOfWhatGains) {
  call({"--policy", path("gains.toml")}, application("dlsym", "module"));
  std::string policy = read_file(path("gains.toml")).value_or("");
  EXPECT_NE(policy.find("symbol = \"kernel\""), std::string::npos) << policy;
  EXPECT_NE(policy.find("treatment = \"treated\""), std::string::npos) << policy;
  EXPECT_NE(policy.find("assembler = \"13.0.88\""), std::string::npos) << policy;
}

TEST_F(AbCommand, ThePageLeadsToTheCodes) {
  Completed done = call({"--html", path("report.html")}, application("dlsym", "module"));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  std::string page = read_file(path("report.html")).value_or("");
  EXPECT_NE(page.find("What the other build would save"), std::string::npos);
  EXPECT_NE(page.find("href=\"report-code.html\""), std::string::npos) << done.err;
  std::string code = read_file(path("report-code.html")).value_or("");
  EXPECT_NE(code.find("kernel"), std::string::npos);
}

TEST_F(AbCommand, AnEarlierRunIsShownAgain) {
  Completed done = call({}, application("dlsym", "module"));
  Command again;
  again.arguments = {NAMESAKE_BINARY_DIR "/namesake",
                     "ab",
                     "--from",
                     path("out.json"),
                     "--html",
                     path("again.html")};
  auto shown = run(again);
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->exit_status, 0) << shown->err;
  EXPECT_NE(done.err.find(shown->out.substr(shown->out.find("launches"))), std::string::npos)
      << shown->out;
  EXPECT_TRUE(std::filesystem::exists(path("again.html")));
  again.arguments = {NAMESAKE_BINARY_DIR "/namesake", "ab", "--from", path("kernel.ptx")};
  shown = run(again);
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->exit_status, 125);
}

TEST_F(AbCommand, TheTableIsToldEvenWhereAFileCannotBeWritten) {
  Completed done = call({"--html", "/nowhere/report.html"}, application("dlsym", "module"));
  EXPECT_EQ(done.exit_status, 125);
  EXPECT_NE(done.err.find("b/a"), std::string::npos) << done.err;
  EXPECT_NE(done.err.find("/nowhere/report"), std::string::npos) << done.err;
}

TEST_F(AbCommand, WithoutACommandOrWithAnUnknownBuildItSaysWhatToWrite) {
  Command nothing;
  nothing.arguments = {NAMESAKE_BINARY_DIR "/namesake", "ab"};
  auto done = run(nothing);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->exit_status, 125);
  EXPECT_NE(done->err.find("namesake ab --"), std::string::npos) << done->err;
  Completed unknown = call({"--b", "quick"}, {"true"});
  EXPECT_EQ(unknown.exit_status, 125);
  EXPECT_NE(unknown.err.find("no part of a build"), std::string::npos) << unknown.err;
  EXPECT_EQ(call({"--b", "renamed"}, {"true"}).exit_status, 125);
}

}  // namespace
