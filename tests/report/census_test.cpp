#include <gtest/gtest.h>

#include "report/census_findings.h"
#include "report/csv_census.h"
#include "report/html_census.h"
#include "report/json_census.h"
#include "report/text.h"
#include "util/terminal.h"
#include "util/text.h"

namespace namesake::report {
namespace {

CensusBuild build(const std::string& code, int64_t registers = 32, int64_t spills = 0) {
  CensusBuild build;
  build.codes = {code};
  build.draws = 1;
  build.registers = registers;
  build.code_bytes = 1024;
  build.spill_store_bytes = spills;
  return build;
}

CensusBuild broken(const std::string& reason) {
  CensusBuild build;
  build.failure = reason;
  build.draws = 1;
  return build;
}

// One kernel on one architecture, a pair of builds for each release.
Census census(const std::vector<std::pair<CensusBuild, CensusBuild>>& pairs,
              const std::vector<Reaction>& reactions) {
  const char* const kReleases[] = {"11.8.89", "12.4.131", "12.8.93", "13.0.88", "13.5.37"};
  Census census;
  census.kernels = {{"gemm", "_Z4gemmv", "gemm", "0123"}};
  census.architectures = {"sm_90"};
  census.opt_levels = {3};
  for (size_t i = 0; i < pairs.size(); ++i) {
    census.assemblers.push_back({kReleases[i], "a build"});
    census.points.push_back({0, 0, static_cast<int64_t>(i), 3, reactions[i], pairs[i].first, pairs[i].second});
  }
  return census;
}

using enum Reaction;

std::string history(const std::vector<Reaction>& reactions) {
  std::vector<std::pair<CensusBuild, CensusBuild>> pairs(reactions.size(), {build("a"), build("b")});
  Census all = census(pairs, reactions);
  return shown_history(all, histories(all, 3).at(0));
}

TEST(Histories, AReactionThatNeverChangesIsItsMark) {
  EXPECT_EQ(history({different, different}), "≠");
  EXPECT_EQ(history({same, same}), "=");
}

TEST(Histories, AReactionThatBeganNamesItsRelease) {
  EXPECT_EQ(history({same, different, different}), "≠ 12.4+");
}

TEST(Histories, AReactionThatEndedNamesItsRange) {
  EXPECT_EQ(history({different, different, same}), "≠ 11.8–12.4, = 12.8+");
}

TEST(Histories, AnAssemblerThatCannotSayItEndsNothing) {
  EXPECT_EQ(history({different, impossible, different}), "≠");
}

TEST(Histories, WhatNoAssemblerCanSayIsADot) {
  EXPECT_EQ(history({impossible, impossible}), "·");
}

TEST(Upgrades, CompareUntreatedBuildsAlone) {
  Census all = census({{build("a", 32), build("x", 64)}, {build("a", 32), build("y", 99)},
                       {build("c", 40, 8), build("y", 99)}},
                      {different, different, different});
  std::vector<Upgrade> found = upgrades(all, 3);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].other_code, 0);
  EXPECT_EQ(found[1].other_code, 1);
  EXPECT_DOUBLE_EQ(found[1].registers.mean, 1.25);
  EXPECT_EQ(found[1].spills_gained, 1);
}

TEST(Upgrades, ALotteryThatSharesACodeHasNotChanged) {
  CensusBuild varying = build("a");
  varying.codes = {"b", "a"};
  Census all = census({{build("a"), build("a")}, {varying, varying}}, {same, lottery});
  EXPECT_EQ(upgrades(all, 3).at(0).other_code, 0);
}

TEST(Upgrades, NameTheKernelsThatTheyChange) {
  Census all = census({{build("a"), build("a")}, {build("c"), build("b")}, {build("c"), build("c")}},
                      {same, different, same});
  std::vector<Upgrade> found = upgrades(all, 3);
  EXPECT_EQ(found.at(0).beginning, std::set<int64_t>{0});
  EXPECT_EQ(found.at(0).with_other_code, std::set<int64_t>{0});
  EXPECT_EQ(found.at(1).ending, std::set<int64_t>{0});
  EXPECT_TRUE(found.at(1).with_other_code.empty());
}

TEST(Spills, NeighbouringReleasesAreOneLine) {
  Census all = census({{build("a"), build("b", 32, 8)}, {build("a"), build("b", 32, 16)}, {build("a"), build("b")}},
                      {different, different, different});
  std::vector<SpillChange> found = spill_changes(all, 3);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first, 0);
  EXPECT_EQ(found[0].last, 1);
  EXPECT_EQ(found[0].treated, 16);
}

TEST(Casualties, EqualFailuresOfSeveralReleasesAreOneLine) {
  Census all = census({{build("a"), broken("died")}, {build("a"), broken("died")}, {build("a"), build("a")}},
                      {failed, failed, same});
  std::vector<Casualty> found = casualties(all, 3);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(shown_assemblers(all, found[0].assemblers), "11.8–12.4");
}

Census hostile() {
  Census all = census({{build("a"), build("b")}, {broken("</script>\x1b[31m,\"quoted\"\n"), build("b")}},
                      {different, failed});
  all.kernels[0] = {"ge,mm</script><b>", "sym\"bol", "ge,mm</script><b>", "0123"};
  all.ledger = "a ledger's </script>";
  all.sass = {{0, {{'~', "[B------:R-:W-:-:S04] MOV R1, c[0x0]</script>", "[B------:R-:W-:-:S04] MOV R2, R3"}}, false}};
  return all;
}

TEST(CensusPages, JsonReadsBackAsItWasWritten) {
  Census all = hostile();
  auto back = census_from_json(to_json(all));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_json(*back), to_json(all));
}

TEST(CensusPages, JsonWhosePointsNameNothingIsRefused) {
  Census all = census({{build("a"), build("b")}}, {different});
  all.points[0].kernel = 7;
  EXPECT_FALSE(census_from_json(to_json(all)));
}

TEST(CensusPages, CsvKeepsItsColumnsWhateverTheNames) {
  std::string csv = to_csv(hostile());
  EXPECT_NE(csv.find("\"ge,mm</script><b>\",\"sym\"\"bol\",sm_90,11.8.89,3,different,"), std::string::npos);
}

TEST(CensusPages, NoForeignTextEndsAScriptOrReachesTheMarkup) {
  std::string html = to_html(hostile());
  EXPECT_EQ(html.find("mm</script>"), std::string::npos);
  EXPECT_EQ(html.find("0x0]</script>"), std::string::npos);
  EXPECT_EQ(html.find('\x1b'), std::string::npos);
  size_t begun = 0, ended = 0;
  for (size_t at = 0; (at = html.find("<script", at)) != html.npos; ++at) ++begun;
  for (size_t at = 0; (at = html.find("</script", at)) != html.npos; ++at) ++ended;
  EXPECT_EQ(begun, ended);
}

TEST(CensusPages, DifferencesBeyondTheBudgetAreLeftToACommand) {
  Census all = hostile();
  CensusStyle style;
  EXPECT_NE(to_html(all, style).find("MOV R2, R3"), std::string::npos);
  all.sass.push_back(all.sass[0]);
  all.sass[1].rows[0].a = "ANOTHER";
  style.sass_budget = 10;
  EXPECT_EQ(to_html(all, style).find("ANOTHER"), std::string::npos);
}

TEST(CensusPages, NoLineOfTheTextIsWiderThanAsked) {
  Census all = hostile();
  for (int width : {40, 60, 100, 160}) {
    TextStyle style;
    style.width = width;
    std::string text = to_text(all, style);
    for (std::string_view line : split(text, '\n')) {
      EXPECT_LE(display_width(line), static_cast<size_t>(width)) << line;
    }
  }
}

}  // namespace
}  // namespace namesake::report
