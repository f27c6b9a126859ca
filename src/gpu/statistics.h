// Deciding which of two builds is faster, from paired times. Pure functions: no clock, no GPU.
//
// The problem. Two builds are timed in turn; their times drift together (clock, temperature,
// power), are skewed (a launch is sometimes late, never early) and come in small numbers. We must
// say "faster" rarely when nothing differs, and quickly when something does.
//
// Known ways. Comparing means or minima of two separate runs lets drift pass for a difference. The
// t-test on paired differences supposes a normal distribution, Wilcoxon's test a symmetrical one:
// skewed ratios make both lie. A bootstrap is approximate just where samples are few.
//
// Our choice. One number a pair, ln(time a / time b), so that drift cancels; its median; and the
// exact interval that inverts the sign test: of n independent pairs the number below the true
// median is binomial(n, 1/2) whatever their distribution, so two order statistics bound it. Ties
// cost nothing: the closed interval then covers more, not less.
//
// The cost. The interval is wider than a normal one by about a quarter on normal data, and below
// six pairs there is none at 95%.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace namesake::gpu {

double median(std::span<const double> values);  // 0 of nothing
// Median absolute deviation from the median; times 1.4826 it estimates a normal standard deviation.
double median_absolute_deviation(std::span<const double> values);
double quantile(std::span<const double> values, double share);  // between order statistics: linear

// P(X <= k) for X ~ binomial(n, 1/2), exact to rounding.
double binomial_half_cdf(size_t n, size_t k);

// The 1-based rank r so that [r-th smallest, r-th largest] covers the median of n values with at
// least the confidence; the largest such r. Nothing if even the whole range does not.
std::optional<size_t> sign_interval_rank(size_t n, double confidence);
// What that interval truly covers: at least the confidence, more for few values.
double sign_interval_coverage(size_t n, size_t rank);

// The fewest values that have an interval at this confidence.
size_t fewest_values(double confidence);

struct Interval {
  double low = 0, high = 0;
  bool contains(double value) const { return low <= value && value <= high; }
};

// Each of several statements must be this sure for all of them together to be (Bonferroni). Also
// for looking at growing data several times: each look is a statement.
double confidence_of_each(double together, size_t statements);

enum class Verdict {
  kFaster,        // the interval lies below 1 and not inside the dead band
  kSlower,        // above
  kNoDifference,  // inside the dead band: whatever differs is too small to matter
  kUndecided,     // measure more
};
const char* words(Verdict verdict);

struct PairedTime {
  double a = 0, b = 0;
};

struct ComparisonOptions {
  double confidence = 0.95;
  double dead_band = 0.005;  // ratios within 1 ± this count as no difference
  size_t statements = 1;     // verdicts judged together
};

// a / b: above 1, a takes longer. Faster and slower speak of a.
struct Comparison {
  size_t pairs = 0;    // used
  size_t dropped = 0;  // a time that was zero, negative or not finite
  size_t ties = 0;     // equal times: many of them say that the clock is too coarse
  double ratio = 1;
  // Missing if the pairs are too few for the confidence.
  std::optional<Interval> interval;
  double confidence = 0;  // truly covered
  double spread = 0;      // median absolute deviation of ln(ratio)
  Verdict verdict = Verdict::kUndecided;
};

Comparison compare(std::span<const PairedTime> pairs, const ComparisonOptions& options = {});

Verdict judge(const Interval& interval, double dead_band);

// The median with its interval, for one build's times or rates.
struct Estimate {
  size_t values = 0;
  double median = 0;
  std::optional<Interval> interval;
  double confidence = 0;
};
Estimate estimate(std::span<const double> values, double confidence = 0.95);

double geometric_mean(std::span<const double> ratios);

}  // namespace namesake::gpu
