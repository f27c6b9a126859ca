// What tune decides from measurements, without a GPU.
#include "measure/tune.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <random>

#include "gpu/statistics.h"

namespace namesake::measure {
namespace {

using report::Decision;
using report::Finding;
using report::KernelMeasurement;
using report::Measurement;
using Interval = std::array<double, 2>;

constexpr double kThreshold = 0.01;

report::Timing timing(std::string caches, Interval interval) {
  report::Timing timing;
  timing.caches = std::move(caches);
  timing.time.ratio = std::sqrt(interval[0] * interval[1]);
  timing.time.interval = interval;
  timing.time.pairs = 60;
  timing.control.ratio = 1;
  timing.control.interval = Interval{0.999, 1.001};
  return timing;
}

KernelMeasurement kernel(std::string symbol, std::vector<report::Timing> timings) {
  KernelMeasurement kernel;
  kernel.symbol = kernel.name = std::move(symbol);
  kernel.file = kernel.launch_file = kernel.name + ".cu";
  kernel.architecture = "sm_90";
  kernel.assembler = "13.0.88";
  kernel.assembler_build = "cuda_13.0.r13.0/compiler.36424714_0";
  kernel.finding = Finding::undecided;
  kernel.timings = std::move(timings);
  return kernel;
}

Measurement measurement(std::vector<KernelMeasurement> kernels) {
  Measurement measurement;
  measurement.gpu.name = "NVIDIA H200";
  measurement.a.treatment = "untreated";
  measurement.b.treatment = "treated";
  measurement.kernels = std::move(kernels);
  return measurement;
}

std::vector<Decision> decided(std::vector<KernelMeasurement> kernels) {
  auto decisions = decide(measurement(std::move(kernels)), kThreshold);
  EXPECT_TRUE(decisions) << decisions.error().message;
  return decisions.value_or(std::vector<Decision>{});
}
Decision one(std::vector<KernelMeasurement> kernels) {
  return decided(std::move(kernels)).at(0);
}

report::Tuning tuning(std::vector<KernelMeasurement> kernels) {
  report::Tuning tuning;
  tuning.gpu = "NVIDIA H200";
  tuning.decisions = decided(std::move(kernels));
  return tuning;
}

TEST(Tune, TreatsWhatIsFasterByMoreThanTheThreshold) {
  Decision decision = one({kernel("gemm", {timing("warm", {0.90, 0.92})})});
  EXPECT_EQ(decision.treatment, "treated");
  EXPECT_TRUE(decision.settled);
  EXPECT_EQ(decision.interval, (Interval{0.90, 0.92}));
}

TEST(Tune, LeavesAGainBelowTheThresholdNatural) {
  Decision decision = one({kernel("gemm", {timing("warm", {0.992, 0.996})})});
  EXPECT_EQ(decision.treatment, "natural");
  EXPECT_TRUE(decision.settled);
}

TEST(Tune, AGainThatIsSurelyAboutTheThresholdIsSettled) {
  Decision decision = one({kernel("gemm", {timing("warm", {0.987, 0.993})})});
  EXPECT_EQ(decision.treatment, "natural");
  EXPECT_TRUE(decision.settled);
}

TEST(Tune, LeavesAKernelThatTheTreatmentSlowsNatural) {
  EXPECT_EQ(one({kernel("gemm", {timing("warm", {1.30, 1.32})})}).treatment, "natural");
}

TEST(Tune, UntreatsAKernelWhoseOwnNameCosts) {
  Decision decision = one({kernel("_ZN7cutlass4gemmEv", {timing("warm", {1.30, 1.32})})});
  EXPECT_EQ(decision.treatment, "untreated");
  EXPECT_TRUE(decision.natural_is_treated);
}

TEST(Tune, LeavesAKernelWhoseOwnNameGainsNatural) {
  EXPECT_EQ(one({kernel("_ZN7cutlass4gemmEv", {timing("warm", {0.90, 0.92})})}).treatment,
            "natural");
}

TEST(Tune, RefusesAKernelWhoseResultsDifferHoweverFast) {
  KernelMeasurement refused = kernel("gemm", {timing("warm", {0.5, 0.51})});
  refused.finding = Finding::refused;
  refused.meaning = "the results differ";
  Decision decision = one({refused});
  EXPECT_EQ(decision.treatment, "natural");
  EXPECT_EQ(decision.why, "the results differ");
}

TEST(Tune, OneRefusedSizeRefusesTheFunction) {
  KernelMeasurement small = kernel("gemm", {timing("warm", {0.90, 0.92})});
  KernelMeasurement large = small;
  large.finding = Finding::refused;
  EXPECT_EQ(one({small, large}).treatment, "natural");
}

TEST(Tune, AGainAtOneSizeAndACostAtAnotherIsNatural) {
  Decision decision = one({kernel("gemm", {timing("warm", {0.90, 0.92})}),
                           kernel("gemm", {timing("warm", {1.05, 1.06})})});
  EXPECT_EQ(decision.treatment, "natural");
  EXPECT_NE(decision.why.find("gains at one setting, costs at another"), std::string::npos);
}

TEST(Tune, AGainWithWarmCachesAndACostWithColdOnesIsNatural) {
  EXPECT_EQ(
      one({kernel("gemm", {timing("warm", {0.90, 0.92}), timing("cold", {1.05, 1.06})})}).treatment,
      "natural");
}

TEST(Tune, QuotesTheTimingThatGainsLeast) {
  Decision decision =
      one({kernel("gemm", {timing("warm", {0.70, 0.72}), timing("cold", {0.93, 0.94})})});
  EXPECT_EQ(decision.treatment, "treated");
  EXPECT_EQ(decision.interval, (Interval{0.93, 0.94}));
}

TEST(Tune, AGainThatAWideIntervalMayTurnAroundWaitsForMoreMeasuring) {
  Decision decision =
      one({kernel("gemm", {timing("warm", {0.90, 0.92}), timing("cold", {0.9, 1.2})})});
  EXPECT_EQ(decision.treatment, "natural");
  EXPECT_FALSE(decision.settled);
}

TEST(Tune, AWideIntervalThatCannotCostMoreThanTheThresholdDoesNotBlock) {
  EXPECT_EQ(
      one({kernel("gemm", {timing("warm", {0.90, 0.92}), timing("cold", {0.9, 1.005})})}).treatment,
      "treated");
}

TEST(Tune, AFailedControlDecidesNothing) {
  report::Timing bad = timing("warm", {0.90, 0.92});
  bad.control.interval = Interval{0.93, 0.94};
  Decision decision = one({kernel("gemm", {bad})});
  EXPECT_EQ(decision.treatment, "natural");
  EXPECT_FALSE(decision.settled);
  EXPECT_NE(decision.why.find("control"), std::string::npos);
}

TEST(Tune, AControlThatTheClockAloneMadeFailDoesNotStandInTheWay) {
  report::Timing moved = timing("warm", {0.90, 0.91});
  moved.control.interval = Interval{0.93, 0.94};
  moved.control_cycles = {.ratio = 1, .interval = Interval{0.999, 1.001}, .pairs = 40};
  EXPECT_EQ(one({kernel("gemm", {moved})}).treatment, "treated");
}

TEST(Tune, AGainInTimeThatTheCyclesDoNotShowDecidesNothing) {
  report::Timing clocks = timing("warm", {0.95, 0.96});
  clocks.cycles.pairs = 60;
  clocks.cycles.interval = Interval{0.99, 1.01};
  EXPECT_EQ(one({kernel("gemm", {clocks})}).treatment, "natural");
}

TEST(Tune, TooFewPairsDecideNothing) {
  report::Timing few = timing("warm", {0.90, 0.92});
  few.time.interval.reset();
  Decision decision = one({kernel("gemm", {few})});
  EXPECT_EQ(decision.treatment, "natural");
  EXPECT_FALSE(decision.settled);
}

TEST(Tune, SaysWhereTreatedAndUntreatedAreOneCode) {
  KernelMeasurement same = kernel("saxpy", {});
  same.finding = Finding::same_code;
  Decision decision = one({same});
  EXPECT_TRUE(decision.settled);
  EXPECT_EQ(decision.why, "treated and untreated are the same code");
}

TEST(Tune, DecidesEachArchitectureAndAssemblerByItself) {
  KernelMeasurement old = kernel("gemm", {timing("warm", {0.90, 0.92})});
  KernelMeasurement young = kernel("gemm", {timing("warm", {1.20, 1.22})});
  young.assembler = "13.5.37";
  auto decisions = decided({old, young});
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].treatment, "treated");
  EXPECT_EQ(decisions[1].treatment, "natural");
}

TEST(Tune, WantsTreatedAgainstUntreated) {
  Measurement other = measurement({});
  other.b.treatment = "natural";
  EXPECT_FALSE(decide(other, kThreshold));
}

TEST(Tune, MergesOnlyMeasurementsOfOneGpu) {
  Measurement here = measurement({kernel("gemm", {})}), there = here;
  EXPECT_EQ(merged(std::vector{here, here})->kernels.size(), 2u);
  there.gpu.name = "NVIDIA A100";
  EXPECT_FALSE(merged(std::vector{here, there}));
}

// An interval of any width around any ratio from 0.7 to 1.4.
Interval an_interval() {
  double centre = std::exp(*rc::gen::inRange(-350, 350) / 1000.0);
  double width = std::exp(*rc::gen::inRange(0, 60) / 1000.0);
  return {centre / width, centre * width};
}

RC_GTEST_PROP(TuneProperty, NeverChoosesWhatMayCostMoreThanTheThreshold, ()) {
  std::vector<report::Timing> timings;
  for (int i = *rc::gen::inRange(1, 5); i > 0; --i)
    timings.push_back(timing("warm", an_interval()));
  Decision decision = one({kernel("gemm", timings)});
  if (decision.treatment != "treated") return;
  RC_ASSERT(decision.settled);
  RC_ASSERT((*decision.interval)[1] < 1 - kThreshold);
  for (const report::Timing& each : timings) RC_ASSERT((*each.time.interval)[1] <= 1 + kThreshold);
}

RC_GTEST_PROP(TuneProperty, ANameWithTheTriggerIsTheMirrorOfOneWithout, ()) {
  std::vector<report::Timing> timings, mirrored;
  for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
    Interval interval = an_interval();
    timings.push_back(timing("warm", interval));
    mirrored.push_back(timing("warm", {1 / interval[1], 1 / interval[0]}));
  }
  Decision plain = one({kernel("gemm", timings)});
  Decision named = one({kernel("cutlass_gemm", mirrored)});
  RC_ASSERT((plain.treatment == "treated") == (named.treatment == "untreated"));
  RC_ASSERT(plain.settled == named.settled);
}

RC_GTEST_PROP(TuneProperty, WhateverWasRecordedThePolicyCanBeRead, ()) {
  auto number =
      rc::gen::elementOf(std::vector<double>{0, -1, 1, 0.9, 1e-300, 1e300, INFINITY, NAN});
  std::vector<report::Timing> timings;
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    timings.push_back(timing("warm", {*number, *number}));
    timings.back().time.ratio = *number;
    if (*rc::gen::arbitrary<bool>()) timings.back().cycles.interval = Interval{*number, *number};
    if (*rc::gen::arbitrary<bool>()) timings.back().control.interval = Interval{*number, *number};
  }
  RC_ASSERT(
      policy::parse(policy::write(policy_of(tuning({kernel("gemm", timings)}), "")), "t.toml"));
}

TEST(Tune, TreatsNothingByChanceWhereNothingDiffers) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> time(0, 0.02);
  int chosen = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<gpu::PairedTime> pairs(30);
    for (gpu::PairedTime& pair : pairs) pair = {time(random), time(random)};
    gpu::Comparison comparison = gpu::compare(pairs);
    report::Timing each = timing("warm", {comparison.interval->low, comparison.interval->high});
    chosen += one({kernel("gemm", {each})}).treatment != "natural";
  }
  // At 95% an interval lies wholly to one side in 2.5% of the trials; the threshold leaves fewer.
  EXPECT_LE(chosen, 50);
}

TEST(TunedPolicy, ReadsBackAsItWasDecided) {
  report::Tuning decided = tuning({kernel("gemm", {timing("warm", {0.9012345, 0.92})}),
                                   kernel("_ZN7cutlass4gemmEv", {timing("warm", {1.3, 1.32})}),
                                   kernel("saxpy", {timing("warm", {0.999, 1.001})})});
  auto policy = policy::parse(policy::write(policy_of(decided, "tuned.json")), "tuned.toml");
  ASSERT_TRUE(policy) << policy.error().message;
  policy::Resolution rules =
      policy::resolve(*policy, {"13.0.88", "cuda_13.0.r13.0/compiler.36424714_0"}, "sm_90");
  EXPECT_EQ(policy::rule_for(rules, "gemm")->treatment, policy::Treatment::treated);
  EXPECT_EQ(policy::rule_for(rules, "_ZN7cutlass4gemmEv")->treatment, policy::Treatment::untreated);
  EXPECT_EQ(policy::rule_for(rules, "saxpy")->treatment, policy::Treatment::natural);
  EXPECT_EQ(policy->gpu, "NVIDIA H200");
  const policy::Evidence& evidence = *policy::rule_for(rules, "gemm")->evidence;
  EXPECT_EQ(evidence.file, "tuned.json");
  EXPECT_LE((*evidence.interval)[0], 0.9012345);
}

TEST(TunedPolicy, SpeaksOfNoOtherAssemblerAndNoOtherArchitecture) {
  policy::Policy policy = policy_of(tuning({kernel("gemm", {timing("warm", {0.90, 0.92})})}), "");
  EXPECT_TRUE(policy::resolve(policy, {"13.5.37", "other"}, "sm_90").rules.empty());
  EXPECT_TRUE(policy::resolve(policy, policy.measured, "sm_100a").rules.empty());
}

TEST(TunedPolicy, LeavesTheDriversOwnAssemblerOut) {
  KernelMeasurement jit = kernel("gemm", {timing("warm", {0.90, 0.92})});
  jit.assembler = "driver JIT 580.159.04";
  EXPECT_TRUE(policy_of(tuning({jit}), "").rules.empty());
}

// A policy made from one measurement, checked against another.
bool holds(std::vector<KernelMeasurement> then, std::vector<KernelMeasurement> now) {
  auto policy = policy::parse(policy::write(policy_of(tuning(std::move(then)), "")), "tuned.toml");
  EXPECT_TRUE(policy) << policy.error().message;
  report::Tuning present = tuning(std::move(now));
  return check(*policy, present);
}

TEST(TunedPolicy, HoldsWhereTheGainIsSeenAgain) {
  EXPECT_TRUE(holds({kernel("gemm", {timing("warm", {0.90, 0.92})})},
                    {kernel("gemm", {timing("warm", {0.91, 0.93})})}));
}

TEST(TunedPolicy, HoldsWhereAGainNearTheThresholdFallsJustBelowIt) {
  EXPECT_TRUE(holds({kernel("gemm", {timing("warm", {0.980, 0.989})})},
                    {kernel("gemm", {timing("warm", {0.982, 0.991})})}));
}

TEST(TunedPolicy, DoesNotHoldWhereTheGainIsGone) {
  EXPECT_FALSE(holds({kernel("gemm", {timing("warm", {0.90, 0.92})})},
                     {kernel("gemm", {timing("warm", {0.99, 1.01})})}));
}

TEST(TunedPolicy, DoesNotHoldWhereTheResultsNowDiffer) {
  KernelMeasurement refused = kernel("gemm", {timing("warm", {0.90, 0.92})});
  refused.finding = Finding::refused;
  EXPECT_FALSE(holds({kernel("gemm", {timing("warm", {0.90, 0.92})})}, {refused}));
}

TEST(TunedPolicy, DoesNotHoldWhereItsKernelWasNotMeasured) {
  EXPECT_FALSE(holds({kernel("gemm", {timing("warm", {0.90, 0.92})})},
                     {kernel("other", {timing("warm", {0.90, 0.92})})}));
}

TEST(TunedPolicy, ANaturalRuleHoldsUntilTheOtherAnswerGains) {
  std::vector then = {kernel("gemm", {timing("warm", {0.999, 1.002})})};
  EXPECT_TRUE(holds(then, {kernel("gemm", {timing("warm", {0.996, 1.001})})}));
  EXPECT_FALSE(holds(then, {kernel("gemm", {timing("warm", {0.90, 0.92})})}));
}

TEST(TunedPolicy, SaysWhichRulesWereNotMeasured) {
  auto policy = policy::parse(
      "format = 1\n[measured]\nassembler = \"any\"\n"
      "[[function]]\nsymbol = \"never_*\"\ntreatment = \"treated\"\n",
      "mine.toml");
  report::Tuning present = tuning({kernel("gemm", {timing("warm", {0.90, 0.92})})});
  EXPECT_FALSE(check(*policy, present));
  EXPECT_EQ(present.decisions.back().symbol, "never_*");
  EXPECT_FALSE(present.decisions.front().earlier);
}

}  // namespace
}  // namespace namesake::measure
