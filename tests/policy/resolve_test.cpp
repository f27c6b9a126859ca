#include <gtest/gtest.h>

#include "policy/policy.h"

namespace namesake::policy {
namespace {

Policy parsed(std::string_view rules, std::string_view measured = "assembler = \"13.0.88\"") {
  std::string text = "format = 1\n[measured]\n" + std::string(measured) + "\n" + std::string(rules);
  Result<Policy> policy = parse(text, "p.toml");
  EXPECT_TRUE(policy) << policy.error().message;
  return policy ? *policy : Policy{};
}

constexpr std::string_view kRules = R"(
[[function]]
symbol = "_Z5sgemm*"
architecture = "sm_90"
treatment = "treated"
[[function]]
symbol = "_Z5sgemm*"
architecture = "sm_80"
treatment = "untreated"
[[function]]
name = "mine::*"
treatment = "untreated"
)";

const Assembler kMeasured{"13.0.88", "cuda_13.0.r13.0/compiler.36424714_0"};
const Assembler kOther{"13.5.37", "cuda_13.5.r13.5/compiler.39125733_0"};

TEST(Resolve, KeepsTheRulesOfOneArchitectureInOrder) {
  Resolution resolution = resolve(parsed(kRules), kMeasured, "sm_80");
  ASSERT_EQ(resolution.rules.size(), 2u);
  EXPECT_EQ(resolution.rules[0].treatment, Treatment::untreated);
  EXPECT_EQ(resolution.rules[1].name, "mine::*");
}

TEST(Resolve, IsVoidForAnotherAssemblerAndSaysSo) {
  Resolution resolution = resolve(parsed(kRules), kOther, "sm_90");
  EXPECT_TRUE(resolution.rules.empty());
  EXPECT_EQ(resolution.void_because,
            "p.toml was measured with 13.0.88, not with 13.5.37 "
            "(cuda_13.5.r13.5/compiler.39125733_0): everything is left natural; measure again with "
            "namesake tune");
}

TEST(Resolve, IsNotVoidWhereOnlyTheArchitectureDiffers) {
  Policy policy = parsed("[[function]]\nsymbol = \"k\"\narchitecture = \"sm_90\"\ntreatment = \"treated\"");
  Resolution resolution = resolve(policy, kMeasured, "sm_100a");
  EXPECT_TRUE(resolution.rules.empty());
  EXPECT_EQ(resolution.void_because, "");
}

TEST(Resolve, ABuildIsMoreExactThanItsVersion) {
  Policy policy = parsed(kRules, "assembler = \"13.0.88\"\nbuild = \"another\"");
  EXPECT_NE(resolve(policy, kMeasured, "sm_90").void_because, "");
}

TEST(Resolve, AReleaseSpeaksOfAllItsUpdates) {
  EXPECT_TRUE(holds_for({"13.0", ""}, kMeasured));
  EXPECT_FALSE(holds_for({"13", ""}, {"130.1.2", ""}));
  EXPECT_TRUE(holds_for({"any", ""}, kOther));
}

TEST(RuleFor, TheFirstThatFitsDecides) {
  Policy policy = parsed(
      "[[function]]\nsymbol = \"_Z5sgemmi\"\ntreatment = \"natural\"\n"
      "[[function]]\nsymbol = \"_Z5sgemm*\"\ntreatment = \"treated\"\n");
  Resolution resolution = resolve(policy, kMeasured, "sm_90");
  EXPECT_EQ(rule_for(resolution, "_Z5sgemmi")->treatment, Treatment::natural);
  EXPECT_EQ(rule_for(resolution, "_Z5sgemmf")->treatment, Treatment::treated);
  EXPECT_EQ(rule_for(resolution, "saxpy"), nullptr);
}

TEST(RuleFor, AReadableNameIsTriedWithAndWithoutItsParameters) {
  Policy policy = parsed("[[function]]\nname = \"mine::sgemm\"\ntreatment = \"treated\"\n"
                         "[[function]]\nname = \"mine::copy(int)\"\ntreatment = \"treated\"\n");
  Resolution resolution = resolve(policy, kMeasured, "sm_90");
  EXPECT_NE(rule_for(resolution, "_ZN4mine5sgemmEiPf"), nullptr);
  EXPECT_NE(rule_for(resolution, "_ZN4mine4copyEi"), nullptr);
  EXPECT_EQ(rule_for(resolution, "_ZN4mine4copyEf"), nullptr);
}

TEST(RulesOf, TheLastThatWasTypedDecidesAndBothNamesAreTried) {
  Resolution resolution{
      rules_of({{Treatment::untreated, "*"}, {Treatment::treated, "mine::*"}}).value(), ""};
  EXPECT_EQ(rule_for(resolution, "_ZN4mine5sgemmEiPf")->treatment, Treatment::treated);
  EXPECT_EQ(rule_for(resolution, "_Z5sgemmi")->treatment, Treatment::untreated);
}

TEST(RulesOf, RefusesWhatCannotBeMeant) {
  EXPECT_EQ(rules_of({{Treatment::treated, "a[b"}}).error().message,
            "the glob 'a[b' has a '[' without its ']'");
  EXPECT_EQ(rules_of({{Treatment::treated, ""}}).error().message,
            "the glob '' is empty or has a space at an end");
}

}  // namespace
}  // namespace namesake::policy
