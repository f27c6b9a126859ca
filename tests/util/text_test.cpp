#include "util/text.h"

#include <fnmatch.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <regex>

namespace namesake {
namespace {

TEST(GlobMatch, KnowsStarsMarksAndSets) {
  EXPECT_TRUE(glob_match("gemm*", "gemm_128"));
  EXPECT_TRUE(glob_match("*::gemm<?28>", "ns::gemm<128>"));
  EXPECT_TRUE(glob_match("k[0-9]", "k7"));
  EXPECT_FALSE(glob_match("k[!0-9]", "k7"));
  EXPECT_FALSE(glob_match("gemm", "gemm_128"));
  EXPECT_TRUE(glob_match("a[", "a["));
}

TEST(GlobMatch, ManyStarsStayCheap) {
  std::string pattern, text(20'000, 'a');
  for (int i = 0; i < 50; ++i) pattern += "*a";
  pattern += "b";
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(glob_match(pattern, text));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

RC_GTEST_PROP(GlobMatch, AgreesWithFnmatch, ()) {
  auto letters = rc::gen::container<std::string>(rc::gen::element('a', 'b', '*', '?'));
  std::string pattern = *letters;
  std::string text = *rc::gen::container<std::string>(rc::gen::element('a', 'b'));
  RC_ASSERT(glob_match(pattern, text) == (fnmatch(pattern.c_str(), text.c_str(), 0) == 0));
}

TEST(Demangled, LeavesPlainNamesAlone) {
  EXPECT_EQ(demangled("sgemm"), "sgemm");
  EXPECT_EQ(demangled("i"), "i");
  EXPECT_EQ(demangled("_Z5sgemmiPf"), "sgemm(int, float*)");
}

TEST(Demangled, ShowsThatAChanceTriggerStandsInNoReadableName) {
  EXPECT_EQ(demangled("_Z3cutlass"), "cut(long, signed char, short, short)");
}

TEST(DemangledName, DropsParametersAndReturnType) {
  EXPECT_EQ(demangled_name("_Z5sgemmiPf"), "sgemm");
  EXPECT_EQ(demangled_name("_ZN2ns4gemmILi128EEEvPf"), "ns::gemm<128>");
  EXPECT_EQ(demangled_name("plain"), "plain");
}

TEST(CompareVersions, ComparesNumbersNotText) {
  EXPECT_LT(compare_versions("12.9.86", "12.10"), 0);
  EXPECT_EQ(compare_versions("13.0", "13.0.0"), 0);
  EXPECT_GT(compare_versions("13", "12.9"), 0);
}

TEST(ParseInteger, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_FALSE(parse_integer("12x"));
  EXPECT_FALSE(parse_integer(""));
}

TEST(Text, TheMomentIsWrittenAsADateInUtcThatSortsAsText) {
  const std::string now = utc_now();
  EXPECT_TRUE(std::regex_match(now, std::regex(R"(20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\dZ)"))) << now;
  EXPECT_LE(now, utc_now());
}

}  // namespace
}  // namespace namesake
