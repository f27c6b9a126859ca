// The whole of measuring on a stand-in for the driver: what its kernels do is said in their code
// (tests/gpu/fake_driver.cpp).
#include <gtest/gtest.h>

#include <fstream>

#include "measure/measure.h"
#include "stand_in_kernel.h"
#include "util/file.h"

using namespace namesake;
using report::Finding;

namespace {

struct Measure : testing::Test {
  Measure() : folder(std::move(*TemporaryFolder::make("measure-test"))) {
    EXPECT_TRUE(write_file(folder.path() / "double.toml", stand_in::kLaunchFile));
  }

  std::filesystem::path cubin(const std::string& name, const std::string& deeds) {
    EXPECT_TRUE(write_file(folder.path() / name, stand_in::cubin_that(deeds)));
    return folder.path() / name;
  }

  measure::MeasureRequest request_for(const std::string& a, const std::string& b) {
    measure::MeasureRequest request;
    request.files = {folder.path() / "double.toml"};
    request.cubin_a = cubin("a.cubin", a);
    request.cubin_b = cubin("b.cubin", b);
    request.driver_library = FAKE_DRIVER;
    request.management_library = FAKE_NVML;
    request.care = {.seconds = 0.3, .repeats = 5, .launch_limit = std::chrono::milliseconds(300)};
    return request;
  }

  Result<report::Measurement> measured(const std::string& a, const std::string& b) {
    return measure::measure(request_for(a, b));
  }

  report::KernelMeasurement kernel(const std::string& a, const std::string& b) {
    auto measurement = measured(a, b);
    EXPECT_TRUE(measurement) << measurement.error().message;
    return measurement ? measurement->kernels.at(0) : report::KernelMeasurement();
  }

  TemporaryFolder folder;
};

TEST_F(Measure, AFasterBuildIsFoundFasterByHowMuchItIs) {
  const auto found = kernel("us=1000", "us=800 x");
  EXPECT_EQ(found.finding, Finding::faster) << found.meaning;
  ASSERT_TRUE(found.warm());
  EXPECT_NEAR(found.warm()->time.ratio, 0.8, 0.01);
  EXPECT_LT((*found.warm()->time.interval)[1], 0.81);
  EXPECT_NEAR(found.warm()->milliseconds_a, 1, 0.01);
  EXPECT_NEAR(found.warm()->megahertz_a, 1500, 1);
}

TEST_F(Measure, BuffersBeginAtAWhole2MBAndAThirdTimingTellsWhatAShiftOfThemChanges) {
  const auto found = kernel("us=1000", "us=950 shifted_us=800 x");
  ASSERT_EQ(found.timings.size(), 3u) << found.meaning;
  EXPECT_NEAR(found.warm()->time.ratio, 0.95, 0.01);
  EXPECT_NEAR(found.cold()->time.ratio, 0.95, 0.01);
  ASSERT_TRUE(found.shifted());
  EXPECT_EQ(found.shifted()->shifted_bytes, 4096);
  EXPECT_NEAR(found.shifted()->time.ratio, 0.8, 0.01);
  EXPECT_NE(found.meaning.find("with its buffers 4096 bytes further the ratio is "),
            std::string::npos)
      << found.meaning;
}

TEST_F(Measure, ASlowerBuildIsFoundSlower) {
  EXPECT_EQ(kernel("us=1000", "us=1100 x").finding, Finding::slower);
}

TEST_F(Measure, TwoCodesOfOneSpeedShowNoDifference) {
  EXPECT_EQ(kernel("us=1000", "us=1000 x").finding, Finding::no_difference);
}

TEST_F(Measure, OneCodeGivenTwiceIsSaidToBeOneAndOnlyItsControlIsTimed) {
  const auto found = kernel("us=1000", "us=1000");
  EXPECT_EQ(found.finding, Finding::same_code);
  ASSERT_TRUE(found.warm());
  EXPECT_NEAR(found.warm()->control.ratio, 1, 0.01);
}

TEST_F(Measure, ResultsAreComparedOnFiveSetsOfInputs) {
  const auto found = kernel("us=1000", "us=800 x");
  ASSERT_EQ(found.inputs.size(), 5u);
  for (const auto& set : found.inputs) EXPECT_TRUE(set.equal) << set.name;
  EXPECT_EQ(found.repeats.runs, 5);
}

TEST_F(Measure, OneBitOfOneElementOnOneSetOfInputsIsFoundAndRefused) {
  const auto found = kernel("us=1000", "us=500 flip");
  EXPECT_EQ(found.finding, Finding::refused);
  EXPECT_NE(found.meaning.find("1 of 1,000 elements of out differ; the first is [500]"),
            std::string::npos)
      << found.meaning;
  for (const auto& set : found.inputs) EXPECT_EQ(set.equal, set.name != "denormals") << set.name;
}

TEST_F(Measure, AWritePastTheEndIsFoundAndRefused) {
  const auto found = kernel("us=1000", "us=500 overrun");
  EXPECT_EQ(found.finding, Finding::refused);
  EXPECT_NE(found.meaning.find("b wrote 0 bytes past the end of out"), std::string::npos)
      << found.meaning;
}

TEST_F(Measure, AnElementLeftUnwrittenIsNamed) {
  const auto found = kernel("us=1000 partial", "us=500 partial x");
  EXPECT_EQ(found.finding, Finding::refused);
  EXPECT_NE(found.meaning.find("element 999 of out unwritten"), std::string::npos) << found.meaning;
}

TEST_F(Measure, ABuildThatAloneLeavesAnElementUnwrittenDiffers) {
  EXPECT_EQ(kernel("us=1000", "us=500 partial").finding, Finding::refused);
}

TEST_F(Measure, ResultsThatVaryFromRunToRunAreRefusedWithoutAReference) {
  const auto found = kernel("us=1000 varies", "us=500 varies x");
  EXPECT_EQ(found.finding, Finding::refused);
  EXPECT_NE(found.meaning.find("vary from run to run"), std::string::npos) << found.meaning;
}

TEST_F(Measure, AFaultIsAFindingAndSaysWhereItWas) {
  const auto found = kernel("us=1000", "us=500 fault");
  EXPECT_EQ(found.finding, Finding::failed);
  EXPECT_NE(found.meaning.find("running b on the inputs \"as given\""), std::string::npos)
      << found.meaning;
  EXPECT_NE(found.meaning.find("illegal memory access"), std::string::npos) << found.meaning;
}

TEST_F(Measure, AHangEndsAtTheLaunchLimit) {
  const auto found = kernel("us=1000", "us=500 hang");
  EXPECT_EQ(found.finding, Finding::failed);
  EXPECT_NE(found.meaning.find("still busy after 300 ms"), std::string::npos) << found.meaning;
}

TEST_F(Measure, ADriverThatDiesTakesOneKernelWithIt) {
  ASSERT_TRUE(write_file(folder.path() / "zdouble.toml", stand_in::kLaunchFile));
  auto request = request_for("us=1000 crash", "us=500");
  request.files = {folder.path()};
  const auto measurement = measure::measure(request);
  ASSERT_TRUE(measurement) << measurement.error().message;
  ASSERT_EQ(measurement->kernels.size(), 2u);
  for (const auto& found : measurement->kernels) {
    EXPECT_EQ(found.finding, Finding::failed);
    EXPECT_NE(found.meaning.find("killed by signal 6"), std::string::npos) << found.meaning;
  }
}

TEST_F(Measure, TheGpuAndItsStateAreRecorded) {
  const auto measurement = measured("us=1000", "us=800 x");
  ASSERT_TRUE(measurement);
  EXPECT_EQ(measurement->gpu.name, "Fake GPU");
  EXPECT_EQ(measurement->gpu.driver, "580.1");
  EXPECT_EQ(measurement->gpu.architecture, "sm_90");
  EXPECT_EQ(measurement->gpu.cuda, "13.0");
  EXPECT_EQ(measurement->gpu.power_limit_watts, 700);
  EXPECT_EQ(measurement->gpu.other_processes, std::vector<int64_t>{4242});
  const report::CardUse& card = measurement->kernels[0].warm()->card;
  EXPECT_TRUE(card.power_capped);
  EXPECT_EQ(card.celsius, 55);
}

TEST_F(Measure, ControlRunsAreCounted) {
  auto request = request_for("us=1000", "us=1000");
  request.care.seconds = 0.2;
  request.controls = 40;
  const auto measurement = measure::measure(request);
  ASSERT_TRUE(measurement) << measurement.error().message;
  const measure::FalseAlarms alarms = measure::false_alarms(*measurement);
  EXPECT_EQ(alarms.runs, 40);
  EXPECT_LE(alarms.alarms, 4);
  EXPECT_EQ(alarms.in_dead_band, 0);
}

// Three launch files of one kernel, and a folder where what is found is kept.
struct BrokenOff : Measure {
  BrokenOff() {
    for (const char* name : {"two.toml", "three.toml"})
      EXPECT_TRUE(write_file(folder.path() / name, stand_in::kLaunchFile));
    request = request_for("us=500", "us=400 x");
    request.files = {folder.path() / "double.toml", folder.path() / "two.toml",
                     folder.path() / "three.toml"};
    request.care.seconds = 0.1;
    request.partial = true;
    request.kept = &kept;
    request.progress = [this](std::string_view text) { timed += text.ends_with(": loading"); };
  }
  // Stops as soon as the second kernel begins.
  Result<report::Measurement> broken_off() {
    timed = 0;
    request.stop = [this] { return timed >= 2; };
    auto measurement = measure::measure(request);
    request.stop = [] { return false; };
    timed = 0;
    return measurement;
  }

  std::filesystem::path store = folder.path() / "kept";
  measure::KeptResults kept{store};
  measure::MeasureRequest request;
  int timed = 0;  // kernels begun
};

TEST_F(BrokenOff, ReportsWhatItHasAndTheSameCommandGoesOnBehindIt) {
  const auto first = broken_off();
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_EQ(first->kernels.size(), 1u);
  EXPECT_EQ(first->notes.back(),
            "interrupted: 1 of 3 measured; the same command goes on from there");

  measure::KeptResults again(store);
  request.kept = &again;
  const auto second = measure::measure(request);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(timed, 2);
  ASSERT_EQ(second->kernels.size(), 3u);
  EXPECT_EQ(second->kernels[0].warm()->ratios, first->kernels[0].warm()->ratios);
  for (const auto& found : second->kernels) EXPECT_EQ(found.finding, Finding::faster);
}

TEST_F(BrokenOff, NothingIsLeftOnceARunCameToItsEnd) {
  ASSERT_TRUE(broken_off());
  measure::KeptResults again(store);
  request.kept = &again;
  ASSERT_TRUE(measure::measure(request));
  again.forget();
  EXPECT_TRUE(std::filesystem::is_empty(store));
  timed = 0;
  ASSERT_TRUE(measure::measure(request));
  EXPECT_EQ(timed, 3);
}

TEST_F(BrokenOff, OtherCodeAnotherLaunchOrOtherCareIsMeasuredAnew) {
  ASSERT_TRUE(broken_off());
  const auto timed_with = [&](const measure::MeasureRequest& changed) {
    measure::KeptResults again(store);
    timed = 0;
    auto copy = changed;
    copy.kept = &again;
    copy.files.resize(1);
    EXPECT_TRUE(measure::measure(copy));
    return timed;
  };
  ASSERT_EQ(timed_with(request), 0);
  auto other = request;
  other.cubin_b = cubin("other.cubin", "us=400 y");
  EXPECT_EQ(timed_with(other), 1);
  other = request;
  other.sizes["n"] = 500;
  EXPECT_EQ(timed_with(other), 1);
  other = request;
  other.care.seconds = 0.2;
  EXPECT_EQ(timed_with(other), 1);
}

TEST_F(BrokenOff, WhatIsOlderThanADayIsNotTakenUp) {
  ASSERT_TRUE(broken_off());
  for (const auto& entry : std::filesystem::directory_iterator(store))
    std::filesystem::last_write_time(
        entry.path(), std::filesystem::file_time_type::clock::now() - std::chrono::hours(25));
  measure::KeptResults again(store);
  EXPECT_TRUE(std::filesystem::is_empty(store));
  request.kept = &again;
  ASSERT_TRUE(measure::measure(request));
  EXPECT_EQ(timed, 3);
}

TEST_F(BrokenOff, AFailureIsTriedAgain) {
  request.cubin_b = cubin("b.cubin", "us=400 fault");
  ASSERT_TRUE(measure::measure(request));
  timed = 0;
  ASSERT_TRUE(measure::measure(request));
  EXPECT_EQ(timed, 3);
}

TEST_F(Measure, WithoutADriverThereIsOneSentence) {
  measure::MeasureRequest request;
  request.files = {folder.path() / "double.toml"};
  request.driver_library = "libno-such-driver.so";
  const auto measurement = measure::measure(request);
  ASSERT_FALSE(measurement);
  EXPECT_NE(measurement.error().message.find("this needs an NVIDIA GPU and its driver"),
            std::string::npos);
  EXPECT_EQ(measurement.error().message.find('\n'), std::string::npos);
}

}  // namespace
