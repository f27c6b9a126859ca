// The library inside the application: what applications do that few do, and what must not follow
// from it.
#include <chrono>
#include <filesystem>
#include <thread>

#include "ab_command.h"

using namespace namesake;

namespace {

class AbLive : public AbCommand {};

TEST_F(AbLive, AContextThatIsDestroyedTakesNothingOfAnotherOneWithIt) {
  for (const char* door : {"dlsym", "procaddress"}) {
    Completed done =
        call({}, application(door, "module", {"launches=300", "sleep=1500", "then=context"}));
    EXPECT_EQ(done.exit_status, 0) << done.err;
    EXPECT_EQ(live().unknown, 0) << door;
    EXPECT_EQ(kernel().launches, 600);
    EXPECT_GT(kernel().launches_of_b, 200);
  }
}

TEST_F(AbLive, WhatIsAskedOfAKernelIsAskedOfItsFunctionsBuilds) {
  Completed done = call({}, application("procaddress", "kernelfunction",
                                        {"launches=300", "sleep=1500", "then=kernelattribute"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_GT(kernel().launches_of_b, 200) << kernel().meaning;
  EXPECT_EQ(kernel().failed, 0);
}

TEST_F(AbLive, WhatIsAskedForASecondDeviceIsAskedOfTheBuildsThere) {
  Completed done =
      call({}, application("procaddress", "library",
                           {"shared=65536", "launches=300", "sleep=1500", "then=device"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_GT(kernel().launches_of_b, 200) << kernel().meaning;
  EXPECT_EQ(kernel().failed, 0);
}

TEST_F(AbLive, ALaunchThatCannotBeSaysNothingOfTheOtherBuild) {
  Completed done =
      call({}, application("dlsym", "module", {"launches=300", "sleep=1500", "then=invalid"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_GT(kernel().launches_of_b, 200) << kernel().meaning;
  EXPECT_EQ(kernel().failed, 0);
}

TEST_F(AbLive, AHandleThatIsGivenOutAgainIsAnotherKernels) {
  EXPECT_TRUE(
      write_file(path("other.ptx"), kernel_text("kernel", "", " sub.s32 %r9, %r1, %r2;\n")));
  Command assemble;
  assemble.arguments = {NAMESAKE_BINARY_DIR "/stand_in/ptxas", "-arch=sm_90", path("other.ptx"),
                        "-o", path("second.cubin")};
  ASSERT_TRUE(run(assemble));
  environment = {"FAKE_REUSE=1"};
  for (const char* holding : {"library", "kernelfunction", "librarymodule"}) {
    std::filesystem::remove(path("log"));
    Completed done = call(
        {}, application("procaddress", holding, {"launches=200", "sleep=1500", "then=second"}));
    EXPECT_EQ(done.exit_status, 0) << done.err;
    ASSERT_EQ(live().kernels.size(), 2u) << holding;
    for (const report::LiveKernel& each : live().kernels) EXPECT_EQ(each.launches, 200) << holding;
    EXPECT_LE(launched().treated, 200) << holding;
    EXPECT_GE(launched().untreated, 200 + 80) << holding;
  }
}

TEST_F(AbLive, WhoeverLoadsAndUnloadsForLongIsStillFollowed) {
  Completed done =
      call({}, application("dlsym", "module", {"launches=20000", "unload=1", "sleep=0"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_EQ(live().unknown, 0);
  EXPECT_EQ(live().notes, std::vector<std::string>());
  EXPECT_EQ(kernel().launches, 20000);
  EXPECT_EQ(kernel().shapes.size(), 1u);
  EXPECT_GT(kernel().launches_of_b, 8000);
  EXPECT_LT(kernel().launches_of_b, 12000);
}

// The stand-in takes a process's life that waits for the device while another thread captures.
TEST_F(AbLive, ACheckIsOverBeforeAnotherThreadBeginsToCapture) {
  Completed done =
      call({"--check", "3"},
           application("procaddress", "library", {"launches=600", "sleep=1500", "beside=capture"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_EQ(kernel().failed, 0);
}

TEST_F(AbLive, WhileAnotherThreadCapturesLaunchesAlternateAndAreTimed) {
  Completed done = call(
      {}, application("procaddress", "library", {"launches=600", "sleep=1500", "beside=capture"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_GT(kernel().captured, 5);
  EXPECT_GT(kernel().launches_of_b, 200);
  EXPECT_GT(kernel().main_shape()->time.pairs, 30);
}

TEST_F(AbLive, AnEndThatEndsNoCaptureLeavesTheOthersUnderWay) {
  Completed done = call({"--check", "3"},
                        application("dlsym", "module",
                                    {"launches=95", "sleep=1500", "memory=4096", "then=strayend"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_EQ(done.out, "runs 210\n");
  EXPECT_EQ(kernel().checked, 2);
}

TEST_F(AbLive, AProgramThatBecomesAnotherOneIsFollowedIntoIt) {
  Completed done =
      call({}, application("dlsym", "module", {"launches=300", "sleep=1500", "then=execute"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_EQ(live().processes, 2);
  EXPECT_EQ(kernel().launches, 600);
}

TEST_F(AbLive, AForkedChildWritesNothingIntoItsParentsRecord) {
  Completed done =
      call({}, application("dlsym", "module", {"launches=300", "sleep=1500", "then=fork"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_EQ(live().processes, 1);
  EXPECT_EQ(kernel().launches, 600);
}

TEST_F(AbLive, WithoutTheToolTheApplicationGoesOn) {
  environment = {"TMPDIR=" + folder.path().string()};  // what the tool leaves behind goes with it
  call({}, application("dlsym", "module", {"launches=300", "sleep=1500", "then=killtool"}));
  for (int i = 0; i < 200 && !std::filesystem::exists(path("log")); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(launched().treated + launched().untreated, 600);
}

TEST_F(AbLive, WithoutTheMakerOfBuildsTheApplicationGoesOnAndTheReportSaysSo) {
  Completed done =
      call({}, application("dlsym", "module", {"launches=300", "sleep=1500", "then=killservice"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_EQ(kernel().launches, 600);
  EXPECT_NE(done.err.find("was killed"), std::string::npos) << done.err;
}

TEST_F(AbLive, EventsThatNeverPassAreNotMadeForEver) {
  environment = {"FAKE_STUCK=1"};
  Completed done =
      call({"--timed", "100000"}, application("dlsym", "module", {"launches=3000", "sleep=300"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_GT(kernel().launches_of_b, 1000);
  std::string log = read_file(path("log")).value_or("");
  size_t at = log.find("events ");
  ASSERT_NE(at, std::string::npos);
  int64_t events = parse_integer(trimmed(std::string_view(log).substr(at + 7))).value_or(0);
  EXPECT_GT(events, 60);
  EXPECT_LE(events, 128);
}

TEST_F(AbLive, WithoutEventsLaunchesAlternateUntimed) {
  environment = {"FAKE_REFUSE=events"};
  Completed done = call({}, application("dlsym", "module"));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_GT(kernel().launches_of_b, 200);
  EXPECT_EQ(kernel().main_shape()->time.pairs, 0);
}

TEST_F(AbLive, AFormOfAFunctionThatCameLaterIsLeftToTheDriver) {
  Completed done =
      call({}, application("procaddress", "library", {"launches=200", "sleep=1500", "then=newer"}));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_NE(launched().untreated_settings.find("cache=2"), std::string::npos);
}

TEST_F(AbLive, AVariableWhoseAddressAKernelGetsIsSavedForTheCheck) {
  for (const char* door : {"dlsym", "procaddress"}) {
    Completed done =
        call({"--check", "3"},
             application(door, "module", {"launches=300", "sleep=1500", "variable=1"}));
    EXPECT_EQ(done.out, "runs 300\n") << done.err;
    EXPECT_EQ(kernel().checked, 3) << kernel().unchecked;
  }
}

TEST_F(AbLive, MemoryOfGraphsIsNotSavedSoNothingIsChecked) {
  Completed done = call(
      {"--check", "3"},
      application("dlsym", "module", {"launches=95", "sleep=1500", "memory=4096", "then=node"}));
  EXPECT_EQ(done.out, "runs 190\n") << done.err;
  EXPECT_EQ(kernel().checked, 2);
}

}  // namespace
