// The whole of measuring on a stand-in for the driver: what its kernels do is said in their code
// (tests/gpu/fake_driver.cpp).
#include <gtest/gtest.h>

#include <fstream>

#include "../stand_in/cubin.h"
#include "measure/measure.h"
#include "util/file.h"

using namespace namesake;
using report::Finding;

namespace {

constexpr const char* kLaunch = R"(
kernel = "double.cubin"
entry = "double_floats"
[sizes]
n = { default = 5000 }
[launch]
grid = [1]
block = [64]
[[buffer]]
name = "in"
type = "f32"
count = "n"
fill = "normal"
[[buffer]]
name = "out"
type = "f32"
count = "n"
output = true
tolerance = { relative = 0, absolute = 0 }
[[argument]]
buffer = "in"
[[argument]]
buffer = "out"
[[argument]]
type = "i32"
value = "n"
)";

struct Measure : testing::Test {
  Measure() : folder(std::move(*TemporaryFolder::make("measure-test"))) {
    EXPECT_TRUE(write_file(folder.path() / "double.toml", kLaunch));
  }

  std::filesystem::path cubin(const std::string& name, std::string deeds) {
    deeds = "FAKE " + deeds + ";";
    deeds.resize((deeds.size() + 15) / 16 * 16, ' ');
    stand_in::Piece piece{.symbol = "double_floats", .entry = true, .code = {deeds, 40}};
    EXPECT_TRUE(write_file(folder.path() / name, stand_in::make_cubin({piece}, 90)));
    return folder.path() / name;
  }

  Result<report::Measurement> measured(const std::string& a, const std::string& b) {
    measure::MeasureRequest request;
    request.files = {folder.path() / "double.toml"};
    request.cubin_a = cubin("a.cubin", a);
    request.cubin_b = cubin("b.cubin", b);
    request.driver_library = FAKE_DRIVER;
    request.management_library = FAKE_NVML;
    request.care = {.seconds = 0.3, .repeats = 5, .launch_limit = std::chrono::milliseconds(300)};
    return measure::measure(request);
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
  EXPECT_NE(found.meaning.find("1 of 5,000 elements of out differ; the first is [2500]"),
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
  EXPECT_NE(found.meaning.find("element 4999 of out unwritten"), std::string::npos)
      << found.meaning;
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
  std::string two(kLaunch);
  ASSERT_TRUE(write_file(folder.path() / "zdouble.toml", two));
  measure::MeasureRequest request;
  request.files = {folder.path()};
  request.cubin_a = cubin("a.cubin", "us=1000 crash");
  request.cubin_b = cubin("b.cubin", "us=500");
  request.driver_library = FAKE_DRIVER;
  request.management_library = FAKE_NVML;
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
  measure::MeasureRequest request;
  request.files = {folder.path() / "double.toml"};
  request.cubin_a = cubin("a.cubin", "us=1000");
  request.cubin_b = cubin("b.cubin", "us=1000");
  request.driver_library = FAKE_DRIVER;
  request.management_library = FAKE_NVML;
  request.care.seconds = 0.2;
  request.controls = 40;
  const auto measurement = measure::measure(request);
  ASSERT_TRUE(measurement) << measurement.error().message;
  const measure::FalseAlarms alarms = measure::false_alarms(*measurement);
  EXPECT_EQ(alarms.runs, 40);
  EXPECT_LE(alarms.alarms, 4);
  EXPECT_EQ(alarms.in_dead_band, 0);
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
