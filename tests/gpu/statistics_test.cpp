#include "gpu/statistics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace namesake::gpu;

namespace {

// An independent oracle for the binomial distribution: Pascal's triangle, row by row, in
// probabilities.
std::vector<double> binomial_half_row(size_t n) {
  std::vector<double> row = {1.0};
  for (size_t i = 0; i < n; ++i) {
    std::vector<double> next(row.size() + 1, 0.0);
    for (size_t k = 0; k < row.size(); ++k) {
      next[k] += row[k] / 2;
      next[k + 1] += row[k] / 2;
    }
    row = std::move(next);
  }
  return row;
}

std::vector<PairedTime> times_of(const std::vector<double>& ratios) {
  std::vector<PairedTime> pairs;
  for (const double ratio : ratios) pairs.push_back({ratio, 1.0});
  return pairs;
}

std::vector<double> positive_values(size_t at_least) {
  std::vector<double> values;
  const auto raw =
      *rc::gen::suchThat(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 100000)),
                         [&](const auto& v) { return v.size() >= at_least; });
  for (const int value : raw) values.push_back(value / 1000.0);
  return values;
}

TEST(BinomialHalfCdf, AgreesWithPascalsTriangleForEveryCountUpTo300) {
  for (size_t n = 0; n <= 300; ++n) {
    const std::vector<double> row = binomial_half_row(n);
    double sum = 0;
    for (size_t k = 0; k <= n; ++k) {
      sum += row[k];
      ASSERT_NEAR(binomial_half_cdf(n, k), sum, 1e-12) << "n " << n << " k " << k;
    }
  }
}

TEST(BinomialHalfCdf, IsCloseToTheNormalDistributionForLargeCounts) {
  const size_t n = 1'000'000;
  for (const double z : {-3.0, -1.0, 0.0, 1.0, 3.0}) {
    const double k = n / 2.0 + z * std::sqrt(n) / 2;
    const double normal =
        0.5 * std::erfc(-(std::floor(k) + 0.5 - n / 2.0) / (std::sqrt(n) / 2) / std::sqrt(2.0));
    EXPECT_NEAR(binomial_half_cdf(n, static_cast<size_t>(k)), normal, 1e-6);
  }
}

TEST(SignIntervalRank, IsTheLargestThatCoversByTheOracle) {
  for (const double confidence : {0.9, 0.95, 0.99}) {
    for (size_t n = 1; n <= 200; ++n) {
      const std::vector<double> row = binomial_half_row(n);
      std::optional<size_t> expected;
      double tail = 0;
      for (size_t rank = 1; rank <= (n + 1) / 2; ++rank) {
        tail += row[rank - 1];
        if (1 - 2 * tail >= confidence) expected = rank;
      }
      ASSERT_EQ(sign_interval_rank(n, confidence), expected) << "n " << n << " at " << confidence;
    }
  }
}

TEST(SignIntervalRank, NeedsSixPairsAt95Percent) {
  EXPECT_EQ(fewest_values(0.95), 6u);
  EXPECT_FALSE(sign_interval_rank(5, 0.95));
  EXPECT_TRUE(sign_interval_rank(6, 0.95));
}

TEST(Compare, CoversTheTrueMedianAtLeastAsOftenAsItSaysOnSkewedTimes) {
  std::mt19937_64 random(20);
  // Late launches: a log-normal tail on both sides of the ratio, unequal, so neither normal nor
  // symmetrical.
  std::exponential_distribution<double> late(40.0);
  std::vector<double> many(200001);
  for (double& value : many) value = late(random) - 0.4 * late(random);
  const double truth = median(many);
  for (const size_t pairs : {6, 9, 20, 51}) {
    const int trials = 4000;
    int covered = 0;
    double claimed = 0;
    for (int trial = 0; trial < trials; ++trial) {
      std::vector<double> ratios(pairs);
      for (double& ratio : ratios) ratio = std::exp(late(random) - 0.4 * late(random));
      const Comparison comparison = compare(times_of(ratios));
      covered += comparison.interval->contains(std::exp(truth));
      claimed = comparison.confidence;
    }
    EXPECT_GE(claimed, 0.95);
    // Three standard deviations of the simulation below what the interval claims.
    EXPECT_GE(covered, trials * claimed - 3 * std::sqrt(trials * claimed * (1 - claimed)))
        << pairs << " pairs";
  }
}

TEST(Compare, RaisesFewFalseAlarmsOnEqualBuildsWhoseClockDrifts) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0, 0.004);
  const int trials = 4000;
  int alarms = 0, alarms_beyond_band = 0;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<PairedTime> pairs;
    for (int i = 0; i < 25; ++i) {
      const double drift = 1 + 0.05 * i / 25;
      pairs.push_back({drift * std::exp(noise(random)), drift * std::exp(noise(random))});
    }
    const Comparison comparison = compare(pairs, {.dead_band = 0});
    alarms += comparison.verdict == Verdict::kFaster || comparison.verdict == Verdict::kSlower;
    const Comparison banded = compare(pairs);
    alarms_beyond_band += banded.verdict == Verdict::kFaster || banded.verdict == Verdict::kSlower;
  }
  EXPECT_LE(alarms, trials * 0.05 + 3 * std::sqrt(trials * 0.05 * 0.95));
  EXPECT_LE(alarms_beyond_band, alarms);
}

TEST(Compare, FindsAOnePercentDifferenceInTwentyFivePairs) {
  std::mt19937_64 random(9);
  std::normal_distribution<double> noise(0, 0.004);
  int found = 0;
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<PairedTime> pairs;
    for (int i = 0; i < 25; ++i)
      pairs.push_back({1.01 * std::exp(noise(random)), std::exp(noise(random))});
    found += compare(pairs).verdict == Verdict::kSlower;
  }
  EXPECT_GE(found, 380);
}

TEST(Compare, JudgesAWholeTableAsSurelyAsOneRow) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise(0, 0.01);
  const int tables = 300, rows = 20;
  int tables_with_alarm = 0;
  for (int table = 0; table < tables; ++table) {
    bool alarm = false;
    for (int row = 0; row < rows; ++row) {
      std::vector<double> ratios(30);
      for (double& ratio : ratios) ratio = std::exp(noise(random));
      const Verdict verdict =
          compare(times_of(ratios), {.dead_band = 0, .statements = rows}).verdict;
      alarm |= verdict == Verdict::kFaster || verdict == Verdict::kSlower;
    }
    tables_with_alarm += alarm;
  }
  EXPECT_LE(tables_with_alarm, tables * 0.05 + 3 * std::sqrt(tables * 0.05 * 0.95));
}

TEST(Compare, DropsAndCountsTimesThatAreNone) {
  std::vector<PairedTime> pairs = times_of(std::vector<double>(10, 2.0));
  pairs.push_back({0, 1});
  pairs.push_back({1, -1});
  pairs.push_back({1, std::nan("")});
  const Comparison comparison = compare(pairs);
  EXPECT_EQ(comparison.dropped, 3u);
  EXPECT_EQ(comparison.pairs, 10u);
  EXPECT_DOUBLE_EQ(comparison.ratio, 2.0);
}

TEST(Compare, CountsTiesAndCallsTheirMedianNoDifference) {
  const Comparison comparison = compare(times_of(std::vector<double>(12, 1.0)));
  EXPECT_EQ(comparison.ties, 12u);
  EXPECT_EQ(comparison.verdict, Verdict::kNoDifference);
}

TEST(Compare, OfTooFewPairsIsUndecidedAndHasNoInterval) {
  const Comparison comparison = compare(times_of(std::vector<double>(5, 3.0)));
  EXPECT_FALSE(comparison.interval);
  EXPECT_EQ(comparison.verdict, Verdict::kUndecided);
}

TEST(Judge, SaysNoDifferenceForAnIntervalInsideTheDeadBandEvenIfItExcludesOne) {
  EXPECT_EQ(judge({1.001, 1.004}, 0.005), Verdict::kNoDifference);
  EXPECT_EQ(judge({1.001, 1.006}, 0.005), Verdict::kSlower);
  EXPECT_EQ(judge({0.990, 0.996}, 0.005), Verdict::kFaster);
  EXPECT_EQ(judge({0.990, 1.002}, 0.005), Verdict::kUndecided);
}

RC_GTEST_PROP(CompareProperty, ExchangingTheBuildsInvertsTheRatioAndTheVerdict, ()) {
  std::vector<PairedTime> pairs, exchanged;
  for (const double ratio : positive_values(6)) {
    pairs.push_back({ratio, 7});
    exchanged.push_back({7, ratio});
  }
  const Comparison forth = compare(pairs), back = compare(exchanged);
  RC_ASSERT(std::abs(forth.ratio * back.ratio - 1) < 1e-9);
  RC_ASSERT(std::abs(forth.interval->low * back.interval->high - 1) < 1e-9);
  const auto mirrored = [](Verdict v) {
    return v == Verdict::kFaster ? Verdict::kSlower : v == Verdict::kSlower ? Verdict::kFaster : v;
  };
  RC_ASSERT(back.verdict == mirrored(forth.verdict));
}

RC_GTEST_PROP(CompareProperty, TheOrderOfPairsDoesNotMatter, ()) {
  std::vector<double> ratios = positive_values(6);
  const Comparison before = compare(times_of(ratios));
  std::reverse(ratios.begin(), ratios.end());
  const Comparison after = compare(times_of(ratios));
  RC_ASSERT(before.ratio == after.ratio);
  RC_ASSERT(before.interval->low == after.interval->low);
}

RC_GTEST_PROP(CompareProperty, TheIntervalHoldsTheMedian, ()) {
  const Comparison comparison = compare(times_of(positive_values(6)));
  RC_ASSERT(comparison.interval->low <= comparison.ratio * (1 + 1e-12));
  RC_ASSERT(comparison.interval->high >= comparison.ratio * (1 - 1e-12));
}

RC_GTEST_PROP(CompareProperty, MoreConfidenceNeverNarrowsTheInterval, ()) {
  const std::vector<PairedTime> pairs = times_of(positive_values(12));
  const Comparison less = compare(pairs, {.confidence = 0.9});
  const Comparison more = compare(pairs, {.confidence = 0.99});
  RC_ASSERT(more.interval->low <= less.interval->low);
  RC_ASSERT(more.interval->high >= less.interval->high);
}

RC_GTEST_PROP(MedianProperty, HasAsManyValuesBelowAsAbove, ()) {
  const std::vector<double> values = positive_values(1);
  const double middle = median(values);
  const auto below =
      std::count_if(values.begin(), values.end(), [&](double v) { return v < middle; });
  const auto above =
      std::count_if(values.begin(), values.end(), [&](double v) { return v > middle; });
  RC_ASSERT(2 * below <= static_cast<long>(values.size()));
  RC_ASSERT(2 * above <= static_cast<long>(values.size()));
}

TEST(MedianAbsoluteDeviation, EstimatesANormalStandardDeviation) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(5, 2);
  std::vector<double> values(20001);
  for (double& value : values) value = normal(random);
  EXPECT_NEAR(1.4826 * median_absolute_deviation(values), 2, 0.06);
}

TEST(GeometricMean, OfARatioAndItsInverseIsOne) {
  const std::vector<double> ratios = {4.0, 0.25};
  EXPECT_DOUBLE_EQ(geometric_mean(ratios), 1.0);
}

}  // namespace
