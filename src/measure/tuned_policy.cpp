// Decisions as a policy, and a policy held against new decisions.
//
// Checking asks less than deciding did. A treatment that was given for a gain of just over the
// threshold would come out just under it half of the time; so it holds as long as it still gains at
// all, costs nowhere, and the results are the same. A natural rule holds unless the other answer
// now gains more than the threshold, by an interval that lies apart from the old one.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "measure/tune.h"

namespace namesake::measure {
namespace {

using report::Decision;

policy::Treatment treatment_of(std::string_view word) {
  if (word == "treated") return policy::Treatment::treated;
  return word == "untreated" ? policy::Treatment::untreated : policy::Treatment::natural;
}

// The driver's own assembler has no file that a policy could name.
bool in_a_policy(const Decision& decision) {
  return !decision.assembler.empty() && decision.assembler[0] >= '0' &&
         decision.assembler[0] <= '9';
}

double rounded(double ratio) {
  return std::round(ratio * 1e4) / 1e4;
}

std::array<double, 2> rounded_outwards(const std::array<double, 2>& interval) {
  return {std::floor(interval[0] * 1e4) / 1e4, std::ceil(interval[1] * 1e4) / 1e4};
}

bool still_gains(const Decision& decision, std::string_view treatment) {
  bool gains = false;
  for (const report::TuningSample& sample : decision.samples) {
    if (sample.says == "costs") return false;
    if (!sample.interval || !sample.note.empty()) continue;
    gains |= treatment == "treated" ? (*sample.interval)[1] < 1 : (*sample.interval)[0] > 1;
  }
  return gains;
}

bool apart(const std::optional<std::array<double, 2>>& a,
           const std::optional<std::array<double, 2>>& b) {
  return !a || !b || (*a)[1] < (*b)[0] || (*b)[1] < (*a)[0];
}

report::EarlierDecision judged(const policy::Rule& rule, const Decision& now) {
  report::EarlierDecision earlier;
  earlier.treatment = policy::treatment_name(rule.treatment);
  if (rule.evidence) {
    earlier.ratio = rule.evidence->ratio;
    earlier.interval = rule.evidence->interval;
  }
  if (earlier.treatment == now.treatment) {
    earlier.holds = true;
  } else if (rule.treatment == policy::Treatment::natural) {
    earlier.holds = !apart(earlier.interval, now.interval);
  } else {
    // Untreating what is untreated by its name decides nothing; it does no harm either.
    bool idle = (rule.treatment == policy::Treatment::treated) == now.natural_is_treated;
    bool same_code =
        now.samples.empty() && now.settled && now.why.find("same code") != std::string::npos;
    earlier.holds = idle || same_code || still_gains(now, earlier.treatment);
  }
  earlier.why = earlier.holds ? "" : now.why;
  return earlier;
}

}  // namespace

policy::Policy policy_of(const report::Tuning& tuning, const std::string& evidence) {
  policy::Policy policy;
  policy.gpu = tuning.gpu;
  for (const Decision& decision : tuning.decisions) {
    if (!in_a_policy(decision)) continue;
    policy::Rule rule;
    rule.treatment = treatment_of(decision.treatment);
    rule.symbol = decision.symbol;
    rule.architecture = decision.architecture;
    rule.assembler = {decision.assembler, decision.assembler_build};
    rule.evidence.emplace();
    rule.evidence->file = evidence;
    if (decision.interval) {
      rule.evidence->ratio = rounded(decision.ratio);
      rule.evidence->interval = rounded_outwards(*decision.interval);
    }
    if (policy.measured.version.empty()) policy.measured = rule.assembler;
    policy.rules.push_back(std::move(rule));
  }
  if (policy.measured.version.empty()) policy.measured.version = "any";
  return policy;
}

bool check(const policy::Policy& policy, report::Tuning& tuning) {
  std::set<int> seen;
  bool all = true;
  for (Decision& decision : tuning.decisions) {
    policy::Resolution resolution = policy::resolve(
        policy, {decision.assembler, decision.assembler_build}, decision.architecture);
    const policy::Rule* rule = policy::rule_for(resolution, decision.symbol);
    if (!rule) continue;
    seen.insert(rule->line);
    decision.earlier = judged(*rule, decision);
    all &= decision.earlier->holds;
  }
  for (const policy::Rule& rule : policy.rules) {
    if (seen.contains(rule.line)) continue;
    Decision absent;
    absent.symbol = absent.name = rule.pattern();
    absent.architecture = rule.architecture;
    absent.assembler = rule.assembler.version;
    absent.assembler_build = rule.assembler.build;
    absent.treatment = "natural";
    absent.settled = false;
    absent.why = "nothing that it speaks of was measured";
    absent.earlier =
        report::EarlierDecision{.treatment = std::string(policy::treatment_name(rule.treatment))};
    absent.earlier->why = absent.why;
    if (rule.evidence) {
      absent.earlier->ratio = rule.evidence->ratio;
      absent.earlier->interval = rule.evidence->interval;
    }
    all = false;
    tuning.decisions.push_back(std::move(absent));
  }
  if (!policy.gpu.empty() && !tuning.gpu.empty() && policy.gpu != tuning.gpu) {
    tuning.notes.push_back(
        fmt::format("the policy was measured on a {}, this is a {}", policy.gpu, tuning.gpu));
  }
  return all;
}

}  // namespace namesake::measure
