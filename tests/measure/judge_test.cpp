#include <gtest/gtest.h>

#include "measure/measure.h"

using namespace namesake;
using measure::explain;
using measure::judge;
using report::Finding;
using report::KernelMeasurement;

namespace {

report::Ratio ratio(double middle, const char* verdict) {
  return {.ratio = middle,
          .interval = std::array<double, 2>{middle * 0.998, middle * 1.002},
          .confidence = 0.96,
          .verdict = verdict,
          .pairs = 50};
}

KernelMeasurement timed(double middle, const char* verdict) {
  KernelMeasurement kernel;
  kernel.a.identity = "aa";
  kernel.b.identity = "bb";
  report::Timing timing{.caches = "warm",
                        .milliseconds_a = 1,
                        .milliseconds_b = middle,
                        .megahertz_a = 1700,
                        .megahertz_b = 1690,
                        .launches = 1,
                        .rounds = 50};
  timing.time = timing.cycles = ratio(middle, verdict);
  timing.control = ratio(1, "no difference");
  kernel.timings = {timing, timing};
  kernel.inputs = {
      {.name = "as given", .outputs = {{.buffer = "c", .type = "f32", .elements = 10}}}};
  kernel.repeats.runs = 100;
  return kernel;
}

TEST(Judge, FollowsTimeWhereCyclesAgree) {
  EXPECT_EQ(judge(timed(0.8, "faster")), Finding::faster);
  EXPECT_EQ(judge(timed(1.3, "slower")), Finding::slower);
  EXPECT_EQ(judge(timed(1, "no difference")), Finding::no_difference);
  EXPECT_EQ(judge(timed(1.01, "undecided")), Finding::undecided);
}

TEST(Judge, DoesNotBelieveADifferenceThatTheClockMade) {
  KernelMeasurement kernel = timed(0.95, "faster");
  kernel.timings[0].cycles = ratio(1, "no difference");
  EXPECT_EQ(judge(kernel), Finding::undecided);
  EXPECT_NE(explain(kernel).find("faster in time but not in cycles"), std::string::npos);
}

TEST(Judge, TakesTimeAloneWhereTheClockCannotBeRead) {
  KernelMeasurement kernel = timed(0.95, "faster");
  kernel.timings[0].cycles = {};
  EXPECT_EQ(judge(kernel), Finding::faster);
}

TEST(Judge, BelievesNoDifferenceThatAFailedControlShowsToo) {
  KernelMeasurement kernel = timed(0.985, "faster");
  kernel.timings[0].control = ratio(0.98, "faster");
  EXPECT_EQ(judge(kernel), Finding::undecided);
  EXPECT_NE(explain(kernel).find("the control failed"), std::string::npos);
}

TEST(Judge, BelievesADifferenceBeyondAllThatAFailedControlShows) {
  KernelMeasurement kernel = timed(0.8, "faster");
  kernel.timings[0].control = ratio(0.98, "faster");
  kernel.timings[0].control.interval = {0.97, 0.99};
  kernel.timings[0].time.interval = {0.79, 0.81};
  EXPECT_EQ(judge(kernel), Finding::faster);
  kernel.timings[0].time.interval = {0.79, 0.975};
  EXPECT_EQ(judge(kernel), Finding::undecided);
  kernel.timings[0].time.interval = {0.79, 0.81};
  kernel.timings[0].control.interval = {0.97, 1.30};
  EXPECT_EQ(judge(kernel), Finding::undecided);
}

TEST(Judge, LetsAControlFailInTimeAloneAsTheClockMayHaveMadeIt) {
  KernelMeasurement kernel = timed(0.8, "faster");
  kernel.timings[0].control = ratio(0.98, "faster");
  kernel.timings[0].control_cycles = ratio(1, "no difference");
  EXPECT_EQ(judge(kernel), Finding::faster);
}

TEST(Judge, SaysWhereTheRatioDependsOnTheBuffersPlace) {
  KernelMeasurement kernel = timed(0.9, "faster");
  report::Timing shifted = kernel.timings[0];
  shifted.shifted_bytes = 4096;
  shifted.time = ratio(0.8, "faster");
  kernel.timings[0].time.interval = {0.89, 0.91};
  shifted.time.interval = {0.79, 0.81};
  kernel.timings.push_back(shifted);
  EXPECT_NE(explain(kernel).find("with its buffers 4096 bytes further the ratio is 0.8000"),
            std::string::npos)
      << explain(kernel);
  kernel.timings.back().time.interval = {0.79, 0.9};
  EXPECT_EQ(explain(kernel).find("further"), std::string::npos);
}

TEST(Judge, RefusesOneBitOnOneSetHoweverFast) {
  KernelMeasurement kernel = timed(0.5, "faster");
  report::InputSet set{.name = "denormals", .equal = false};
  set.outputs = {{.buffer = "c",
                  .type = "f32",
                  .elements = 4096,
                  .differing = 1,
                  .first = 17,
                  .value_a = "1e-40",
                  .value_b = "1.1e-40"}};
  kernel.inputs.push_back(set);
  EXPECT_EQ(judge(kernel), Finding::refused);
  EXPECT_EQ(explain(kernel),
            "on the inputs \"denormals\" 1 of 4,096 elements of c differ; the first is [17]: 1e-40 "
            "in a, 1.1e-40 in b");
}

TEST(Judge, LetsTheReferenceDecideWhereResultsVaryByThemselves) {
  KernelMeasurement kernel = timed(0.8, "faster");
  kernel.inputs[0].equal = false;
  kernel.repeats.differing_a = kernel.repeats.differing_b = 30;
  EXPECT_EQ(judge(kernel), Finding::refused);
  kernel.reference = {.reference = "histogram", .checked = 10, .elements = 10};
  EXPECT_EQ(judge(kernel), Finding::faster);
  kernel.repeats.differing_a = 0;  // only b varies
  EXPECT_EQ(judge(kernel), Finding::refused);
}

TEST(Judge, RefusesWhatMissesItsReference) {
  KernelMeasurement kernel = timed(0.8, "faster");
  kernel.reference = {.reference = "matmul", .checked = 4096, .elements = 1 << 24, .wrong_b = 3};
  EXPECT_EQ(judge(kernel), Finding::refused);
  EXPECT_EQ(explain(kernel), "b misses the reference matmul on 3 of 4,096 elements");
}

TEST(Judge, SaysOneCodeIsOneCode) {
  KernelMeasurement kernel = timed(1, "no difference");
  kernel.b.identity = kernel.a.identity;
  EXPECT_EQ(judge(kernel), Finding::same_code);
}

TEST(Judge, AFailureComesBeforeEverything) {
  KernelMeasurement kernel = timed(0.8, "faster");
  kernel.b.failure = "killed by signal 11 (Segmentation fault)";
  EXPECT_EQ(judge(kernel), Finding::failed);
  EXPECT_EQ(explain(kernel), "b: killed by signal 11 (Segmentation fault)");
}

TEST(Judge, NamesWhatMayBeWhy) {
  KernelMeasurement kernel = timed(1.3, "slower");
  kernel.a.registers = 128, kernel.b.registers = 214;
  kernel.a.blocks_per_multiprocessor = 2, kernel.b.blocks_per_multiprocessor = 1;
  EXPECT_NE(explain(kernel).find("30.0% more time"), std::string::npos) << explain(kernel);
  EXPECT_NE(explain(kernel).find("blocks on a multiprocessor 2 → 1, registers 128 → 214"),
            std::string::npos)
      << explain(kernel);
}

TEST(FalseAlarms, AreVerdictsOnControlsAndNoneLieInTheDeadBand) {
  report::Measurement measurement;
  for (const auto& [low, high, verdict] : {std::tuple{0.999, 1.001, "no difference"},
                                           {1.0001, 1.002, "no difference"},
                                           {0.98, 0.99, "faster"},
                                           {0.99, 1.02, "undecided"}}) {
    KernelMeasurement kernel = timed(1, "no difference");
    kernel.timings[0].control.interval = {low, high};
    kernel.timings[0].control.verdict = verdict;
    measurement.kernels.push_back(kernel);
  }
  const measure::FalseAlarms alarms = measure::false_alarms(measurement);
  EXPECT_EQ(alarms.runs, 4);
  EXPECT_EQ(alarms.alarms, 1);
  EXPECT_EQ(alarms.beside_one, 2);
  EXPECT_EQ(alarms.in_dead_band, 0);
}

}  // namespace
