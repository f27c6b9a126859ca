#include "gpu/statistics.h"

#include <algorithm>
#include <cmath>

namespace namesake::gpu {
namespace {

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

bool usable(const PairedTime& pair) {
  return std::isfinite(pair.a) && std::isfinite(pair.b) && pair.a > 0 && pair.b > 0;
}

// The exact interval on the median of values that are sorted already.
std::optional<Interval> interval_of(const std::vector<double>& ordered, double confidence,
                                    double* covered) {
  const auto rank = sign_interval_rank(ordered.size(), confidence);
  if (!rank) return std::nullopt;
  *covered = sign_interval_coverage(ordered.size(), *rank);
  return Interval{ordered[*rank - 1], ordered[ordered.size() - *rank]};
}

}  // namespace

double quantile(std::span<const double> values, double share) {
  if (values.empty()) return 0;
  const std::vector<double> ordered = sorted(values);
  const double position = std::clamp(share, 0.0, 1.0) * static_cast<double>(ordered.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, ordered.size() - 1);
  return std::lerp(ordered[below], ordered[above], position - static_cast<double>(below));
}

double median(std::span<const double> values) {
  return quantile(values, 0.5);
}

double median_absolute_deviation(std::span<const double> values) {
  const double middle = median(values);
  std::vector<double> distances(values.begin(), values.end());
  for (double& value : distances) value = std::abs(value - middle);
  return median(distances);
}

double binomial_half_cdf(size_t n, size_t k) {
  if (k >= n) return 1;
  if (k > n / 2)
    return 1 - binomial_half_cdf(n, n - k - 1);  // symmetrical, and terms below fall only here
  // Summed from the largest term down, in units of it, so that nothing under- or overflows:
  // C(n, i-1) = C(n, i) · i / (n - i + 1).
  const auto count = static_cast<double>(n);
  const auto last = static_cast<double>(k);
  double term = 1, sum = 0;
  for (size_t i = k;; --i) {
    sum += term;
    if (i == 0 || term < sum * 1e-18) break;
    term *= static_cast<double>(i) / static_cast<double>(n - i + 1);
  }
  const double log_largest = std::lgamma(count + 1) - std::lgamma(last + 1) -
                             std::lgamma(count - last + 1) - count * std::log(2.0);
  return std::min(1.0, std::exp(log_largest) * sum);
}

double sign_interval_coverage(size_t n, size_t rank) {
  // The median escapes below the interval if fewer than `rank` values lie under it; above,
  // likewise.
  return 1 - 2 * binomial_half_cdf(n, rank - 1);
}

std::optional<size_t> sign_interval_rank(size_t n, double confidence) {
  const auto covers = [&](size_t rank) { return sign_interval_coverage(n, rank) >= confidence; };
  if (n == 0 || !covers(1)) return std::nullopt;
  size_t good = 1, bad = n / 2 + 1;  // at the middle the two order statistics meet or cross
  while (bad - good > 1) {
    const size_t middle = good + (bad - good) / 2;
    (covers(middle) ? good : bad) = middle;
  }
  return good;
}

size_t fewest_values(double confidence) {
  size_t n = 1;
  while (n < 64 && !sign_interval_rank(n, confidence)) ++n;
  return n;
}

double confidence_of_each(double together, size_t statements) {
  return 1 - (1 - together) / static_cast<double>(std::max<size_t>(statements, 1));
}

const char* words(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster:
      return "faster";
    case Verdict::kSlower:
      return "slower";
    case Verdict::kNoDifference:
      return "no difference";
    case Verdict::kUndecided:
      break;
  }
  return "undecided";
}

Verdict judge(const Interval& interval, double dead_band) {
  // Symmetrical in logarithms, so that exchanging the builds exchanges the verdicts.
  const double upper = 1 + dead_band, lower = 1 / upper;
  if (interval.low >= lower && interval.high <= upper) return Verdict::kNoDifference;
  if (interval.high < 1) return Verdict::kFaster;
  if (interval.low > 1) return Verdict::kSlower;
  return Verdict::kUndecided;
}

Comparison compare(std::span<const PairedTime> pairs, const ComparisonOptions& options) {
  Comparison result;
  std::vector<double> logs;
  for (const PairedTime& pair : pairs) {
    if (!usable(pair)) {
      ++result.dropped;
      continue;
    }
    if (pair.a == pair.b) ++result.ties;
    logs.push_back(std::log(pair.a / pair.b));
  }
  result.pairs = logs.size();
  if (logs.empty()) return result;
  std::sort(logs.begin(), logs.end());
  result.ratio = std::exp(median(logs));
  result.spread = median_absolute_deviation(logs);
  const double confidence = confidence_of_each(options.confidence, options.statements);
  if (const auto bounds = interval_of(logs, confidence, &result.confidence)) {
    result.interval = Interval{std::exp(bounds->low), std::exp(bounds->high)};
    result.verdict = judge(*result.interval, options.dead_band);
  }
  return result;
}

Estimate estimate(std::span<const double> values, double confidence) {
  const std::vector<double> ordered = sorted(values);
  Estimate result;
  result.values = ordered.size();
  result.median = median(ordered);
  result.interval = interval_of(ordered, confidence, &result.confidence);
  return result;
}

double geometric_mean(std::span<const double> ratios) {
  if (ratios.empty()) return 0;
  double sum = 0;
  for (const double ratio : ratios) sum += std::log(ratio);
  return std::exp(sum / static_cast<double>(ratios.size()));
}

}  // namespace namesake::gpu
