#include "runner.h"

#include <algorithm>
#include <cmath>

#include "xxhash.h"

namespace namesake::attention::test {
namespace {

// What rounding alone explains. P and O are each rounded once to the element type: with unit
// roundoff u that is u / 2 in the norm, which is what cuDNN shows too, and the bound is 1.5 times
// that. The norm of few elements strays from what is expected of it: of a single row of 64, one in
// three hundred is past the factor 1.5 by chance alone. A score of magnitude s carries an error of
// some 2^-23 s, which is the relative error of its weight.
double bound_from_eps(DType dtype, double largest_score, double elements) {
  const double u = dtype == DType::bf16 ? 0x1p-8 : 0x1p-11;
  return 1.5 * u / 2 * (1 + 4 / std::sqrt(elements)) + 8 * 0x1p-23 * largest_score;
}

// Sums of up to 2^18 weights in single precision.
double lse_bound(double largest_score) {
  return 5e-5 + 8 * 0x1p-23 * largest_score;
}

// ---- fp8 ----
// P is rounded to three bits after the first, relative to each number by up to 2^-4: over numbers
// of all sizes 2^-4 / √3 · √(3 / (8 ln 2)) in the mean square. That goes into o one to one, for the
// errors of different keys have nothing to do with each other; the sums are those of the rounded P.
const double kRoundingOfP = 0x1p-4 / std::sqrt(3) * std::sqrt(3 / (8 * std::log(2)));

// The tensor cores add up 32 products and what is held, each cut to a unit of 2^-13 of the largest.
// Cuts of numbers of one sign go one way, half a unit each, of half of what is held at the end; of
// numbers of either sign only the cut of what is held does.
double cuts(double keys, double share_of_one_sign) {
  const double steps = keys / 32;
  return steps * (1 + 32 * share_of_one_sign) * 0x1p-15;
}

// Keys of the largest block, over which row sums are held.
constexpr double kKeysOfSums = 224;

// A score: head_dim / 32 steps, of terms that may be larger than the score.
constexpr double kScoreUnit = 0x1p-11;

double keys_of(const Case& c, size_t pair) {
  return static_cast<double>(c.lengths == Lengths::same ? c.seqlen_kv
                                                        : c.lengths_kv[pair / c.heads_q]);
}

double rows_of(const Case& c, size_t pair) {
  return static_cast<double>(c.lengths == Lengths::same ? c.seqlen_q
                                                        : c.lengths_q[pair / c.heads_q]);
}

// How far a mean square over so many numbers may stray. Roundings count by their weight: of normal
// scores a few keys in ten; with a causal mask the first rows, of few keys, weigh most.
double scatter(const Case& c, size_t pair) {
  const double rows = std::max(rows_of(c, pair), 1.0), keys = keys_of(c, pair);
  const double first_row = c.causal ? std::max(keys - rows, 0.0) : keys;
  const double roundings = std::max({rows * first_row / 8, c.causal ? 16.0 : rows, 1.0});
  return 4 / std::sqrt(roundings) + 4 / std::sqrt(rows * static_cast<double>(c.head_dim));
}

double fp8_bound(const Case& c, size_t pair, const Difference& d) {
  const double promoted = c.promote_keys == kNeverPromote ? 0x1p30
                          : c.promote_keys == 0           ? kPromoteKeys
                                                          : static_cast<double>(c.promote_keys);
  const double held = cuts(std::min(keys_of(c, pair), std::max(promoted, kKeysOfSums)),
                           std::fabs(c.v.mean) / std::hypot(c.v.mean, 1.0));
  const double sums = cuts(kKeysOfSums, 1),
               scores = c.scores_are_exact ? 0 : kScoreUnit * d.largest_score,
               output = d.reference2 > 0 ? d.rounding2 / d.reference2 : 0;
  return (1.1 + scatter(c, pair)) * std::sqrt(kRoundingOfP * kRoundingOfP + output + held * held +
                                              sums * sums + scores * scores);
}

// The sum of a row's weights is off by its rounding: 2^-4 at most, less where many keys share it.
double fp8_lse_bound(const Case& c, size_t pair, const Difference& d) {
  const bool even = !c.causal && c.scale == 0 && c.q.sigma == Fill{}.sigma && c.q.outliers == 0 &&
                    c.pokes.empty();
  const double rounding =
      even ? std::min(0x1p-4, 6 * kRoundingOfP / std::sqrt(std::max(keys_of(c, pair) / 8, 1.0)))
           : 0x1p-4;
  const double scores = c.scores_are_exact ? 8 * 0x1p-23 : kScoreUnit;
  return rounding + cuts(kKeysOfSums, 1) + scores * d.largest_score;
}

// cuDNN's order of the same operations may be luckier; FlashAttention-3 in fp8 rounds the same
// things, so it is held to no more than what chance explains.
constexpr double kPeerFactor = 1.5, kPeerFactor8 = 1.02;

double bound_of(const Case& c, size_t pair, const Difference& d, std::optional<double> peer_error) {
  if (is_fp8(c.dtype))
    return peer_error ? (kPeerFactor8 + scatter(c, pair)) * *peer_error : fp8_bound(c, pair, d);
  const double elements = static_cast<double>(c.head_dim * std::max<int64_t>(c.seqlen_q, 1));
  return peer_error ? kPeerFactor * *peer_error
                    : bound_from_eps(c.dtype, d.largest_score, elements);
}

void complain(Outcome& outcome, const std::string& text) {
  if (!outcome.complaint.empty()) outcome.complaint += "; ";
  outcome.complaint += text;
}

void judge(const std::vector<Difference>& differences, const Case& c,
           std::optional<double> peer_error, Outcome& outcome) {
  int64_t wrong = 0;
  double excess = 0, lse_excess = 0;
  for (size_t pair = 0; pair < differences.size(); pair++) {
    const Difference& d = differences[pair];
    wrong += d.wrong;
    const double error = d.reference2 > 0 ? std::sqrt(d.error2 / d.reference2)
                         : d.error2 > 0   ? INFINITY
                                          : 0;
    const double bound = bound_of(c, pair, d, peer_error);
    outcome.error = std::max(outcome.error, error);
    outcome.bound = std::max(outcome.bound, bound);
    outcome.lse_error = std::max(outcome.lse_error, d.lse_error);
    excess = std::max(excess, error - bound);
    const double lse = is_fp8(c.dtype) ? fp8_lse_bound(c, pair, d) : lse_bound(d.largest_score);
    lse_excess = std::max(lse_excess, d.lse_error - lse);
  }
  if (wrong > 0)
    complain(outcome, std::to_string(wrong).append(
                          " values are not finite where they should be, or the reverse"));
  if (excess > 0) complain(outcome, "o's error is past its bound");
  if (lse_excess > 0) complain(outcome, "lse's error is past its bound");
}

// Device memory for what the kernels of the suite report.
struct Counters {
  unsigned long long inputs_before, inputs_after, touched;
};

}  // namespace

std::string digest(const std::string& text) {
  const XXH64_hash_t hash = XXH3_64bits(text.data(), text.size());
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(hash));
  return hex;
}

std::optional<std::string> plan_digest(const Case& c, Kernel kernel, const DeviceInfo& device) {
  Forward call = forward_of(c, layouts_of(c));
  call.kernel = kernel;
  Plan plan;
  if (!prepare_for(call, device, plan).ok()) return {};
  return digest(plan.describe());
}

std::vector<Outcome> run_case(Arena& arena, const Case& c, const std::vector<Kernel>& kernels,
                              std::optional<double> peer_error) {
  const cudaStream_t stream = nullptr;
  arena.reset();
  Stage stage(arena, c, stream);
  const size_t rows = c.batch * c.heads_q * c.seqlen_q, pairs = c.batch * c.heads_q;
  const Oracle reference{arena.take<double>(rows * c.head_dim), arena.take<double>(rows),
                         arena.take<double>(rows)};
  oracle(stage.problem, reference, stream);
  auto* differences = arena.take<Difference>(pairs);
  auto* counters = arena.take<Counters>(1);

  DeviceInfo device;
  check(current_device(device), "reading the device");
  std::vector<Outcome> outcomes;
  for (Kernel kernel : kernels) {
    Outcome outcome{c.name(), name(kernel)};
    Forward call = stage.call;
    call.kernel = kernel;
    Plan plan;
    if (const Status s = prepare(call, plan); !s.ok()) {
      if (s.code != Code::unsupported) throw std::runtime_error(outcome.name + ": " + s.message);
      if (plan_digest(c, kernel, device))
        throw std::runtime_error(outcome.name +
                                 ": refused with real addresses but planned without: " + s.message);
      continue;
    }
    outcome.plan = digest(plan.describe());
    if (outcome.plan != plan_digest(c, kernel, device))
      complain(outcome, "its plan depends on addresses");

    stage.poison_outputs(stream);
    const Arena::Block workspace = stage.poisoned_workspace(plan.workspace_bytes(), stream);
    check(cudaMemsetAsync(counters, 0, sizeof(Counters), stream), "clearing");
    stage.add_checksum_of_inputs(&counters->inputs_before, stream);
    check(plan.run(workspace.data, plan.workspace_bytes(), stream), outcome.name.c_str());
    stage.add_checksum_of_inputs(&counters->inputs_after, stream);
    compare(stage.problem, reference, c.nan_allowed_from, differences, stream);
    stage.count_touched_outside(workspace, &counters->touched, stream);

    std::vector<Difference> host(pairs);
    Counters seen;
    check(cudaMemcpy(host.data(), differences, pairs * sizeof(Difference), cudaMemcpyDeviceToHost),
          outcome.name.c_str());
    check(cudaMemcpy(&seen, counters, sizeof seen, cudaMemcpyDeviceToHost), outcome.name.c_str());
    judge(host, c, peer_error, outcome);
    if (seen.inputs_before != seen.inputs_after) complain(outcome, "inputs were written to");
    if (seen.touched > 0)
      complain(
          outcome,
          std::to_string(seen.touched).append(" bytes were written that are none of the call's"));
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace namesake::attention::test
