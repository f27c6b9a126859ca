#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "policy/policy.h"

namespace namesake::policy {
namespace {

std::string a_text(std::string_view letters) {
  auto letter = rc::gen::elementOf(std::string(letters));
  return *rc::gen::nonEmpty(rc::gen::container<std::string>(letter));
}

Policy a_policy() {
  Policy policy;
  policy.measured = {*rc::gen::elementOf(std::vector<std::string>{"13.0.88", "12.9", "any"}), ""};
  if (policy.measured.version != "any" && *rc::gen::arbitrary<bool>()) policy.measured.build = "cuda_x";
  if (*rc::gen::arbitrary<bool>()) policy.gpu = a_text("NVIDIA \"H200\\");
  if (*rc::gen::arbitrary<bool>()) policy.spill_bytes = *rc::gen::inRange<int64_t>(0, 1 << 20);
  if (*rc::gen::arbitrary<bool>()) policy.timeout_seconds = *rc::gen::inRange<int64_t>(1, 4000);
  std::set<std::string> patterns;
  for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
    Rule rule;
    std::string pattern = a_text("_Zab*?:<>\"\\");
    if (!patterns.insert(pattern).second) continue;
    (*rc::gen::arbitrary<bool>() ? rule.symbol : rule.name) = pattern;
    rule.treatment = *rc::gen::elementOf(
        std::vector<Treatment>{Treatment::natural, Treatment::treated, Treatment::untreated});
    rule.architecture = *rc::gen::elementOf(std::vector<std::string>{"", "sm_90", "sm_100a"});
    Assembler own = policy.measured.version == "any" ? Assembler{} : policy.measured;
    rule.assembler = *rc::gen::elementOf(
        std::vector<Assembler>{own, {}, {"12.9.86", ""}, {"13.5.37", "cuda_y"}});
    if (*rc::gen::arbitrary<bool>()) {
      Evidence evidence;
      evidence.file = *rc::gen::elementOf(std::vector<std::string>{"", "a\"b.json", "Grüße/€/😀.json"});
      if (*rc::gen::arbitrary<bool>()) {
        double ratio = *rc::gen::inRange(1, 5000) / 1000.0;
        evidence.ratio = ratio;
        evidence.interval = {ratio * 0.99, ratio * 1.01};
      }
      rule.evidence = evidence;
    }
    policy.rules.push_back(rule);
  }
  return policy;
}

RC_GTEST_PROP(Property, WhatIsWrittenReadsBackTheSame, ()) {
  Policy policy = a_policy();
  std::string text = write(policy);
  Result<Policy> read = parse(text, "p.toml");
  if (!read) RC_FAIL(read.error().message + "\n" + text);
  RC_ASSERT(write(*read) == text);
  RC_ASSERT(read->measured == policy.measured);
  RC_ASSERT(read->gpu == policy.gpu);
  RC_ASSERT(read->spill_bytes == policy.spill_bytes);
  RC_ASSERT(read->timeout_seconds == policy.timeout_seconds);
  RC_ASSERT(read->rules.size() == policy.rules.size());
  for (size_t i = 0; i < policy.rules.size(); ++i) {
    const Rule &a = read->rules[i], &b = policy.rules[i];
    RC_ASSERT(a.symbol == b.symbol);
    RC_ASSERT(a.name == b.name);
    RC_ASSERT(a.treatment == b.treatment);
    RC_ASSERT(a.architecture == b.architecture);
    RC_ASSERT(a.assembler == b.assembler);
    RC_ASSERT(a.evidence == b.evidence);
  }
}

RC_GTEST_PROP(Property, ResolvedRulesHoldForTheAssemblerAndKeepTheirOrder, ()) {
  Policy policy = a_policy();
  Assembler used = *rc::gen::elementOf(
      std::vector<Assembler>{{"13.0.88", "cuda_x"}, {"12.9.86", "cuda_z"}, {"13.5.37", "cuda_y"}});
  std::string architecture = *rc::gen::elementOf(std::vector<std::string>{"sm_90", "sm_100a"});
  Resolution resolution = resolve(policy, used, architecture);
  size_t at = 0;
  for (const Rule& rule : policy.rules) {
    bool holds = holds_for(rule.assembler, used) &&
                 (rule.architecture.empty() || rule.architecture == architecture);
    if (!holds) continue;
    RC_ASSERT(at < resolution.rules.size());
    RC_ASSERT(resolution.rules[at++].pattern() == rule.pattern());
  }
  RC_ASSERT(at == resolution.rules.size());
  RC_ASSERT(resolution.void_because.empty() || at == 0);
}

}  // namespace
}  // namespace namesake::policy
