// A tuning on the terminal and as JSON.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "report/tuning_pages.h"

namespace namesake::report {
namespace {

Decision decision(const std::string& name, const std::string& treatment) {
  Decision decision;
  decision.symbol = decision.name = name;
  decision.file = name + ".cu";
  decision.architecture = "sm_90";
  decision.assembler = "13.5.37";
  decision.treatment = treatment;
  decision.ratio = 0.9;
  decision.interval = std::array<double, 2>{0.89, 0.91};
  decision.why = "the treatment gains: 0.900 [0.890, 0.910] at m=4096, warm caches";
  return decision;
}

Tuning tuning() {
  Tuning tuning;
  tuning.gpu = "NVIDIA H200";
  tuning.decisions = {decision("saxpy", "natural"), decision("gemm", "treated"),
                      decision("cutlass_body", "untreated"), decision("wide", "natural")};
  tuning.decisions.back().settled = false;
  tuning.policy = "tuned.toml";
  tuning.next_command = "namesake run --policy tuned.toml -- ./your-program";
  return tuning;
}

size_t columns(std::string_view line) {
  return static_cast<size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

TEST(TuningText, WhatIsDecidedStandsBeforeWhatStays) {
  std::string text = to_text(tuning(), {});
  EXPECT_LT(text.find("gemm"), text.find("wide"));
  EXPECT_LT(text.find("wide"), text.find("saxpy"));
}

TEST(TuningText, CountsWhatWasDecidedAndWhatIsOpen) {
  std::string text = to_text(tuning(), {});
  EXPECT_NE(text.find("1 treated, 1 untreated, 2 natural (1 of them"), std::string::npos) << text;
}

TEST(TuningText, EndsWithTheNextCommand) {
  std::string text = to_text(tuning(), {});
  EXPECT_TRUE(text.ends_with("next: namesake run --policy tuned.toml -- ./your-program\n")) << text;
}

TEST(TuningText, ACheckShowsThenAndNow) {
  Tuning checked = tuning();
  checked.checked = "tuned.toml";
  checked.decisions[1].earlier = EarlierDecision{"treated", 0.85, {}, true, ""};
  checked.decisions[0].earlier = EarlierDecision{"treated", 0.95, {}, false, "no gain beyond 1%"};
  std::string text = to_text(checked, {});
  EXPECT_NE(text.find("0.850"), std::string::npos);
  EXPECT_NE(text.find("no gain beyond 1%"), std::string::npos);
  EXPECT_NE(text.find("1 of 2 rules still holds"), std::string::npos) << text;
}

TEST(TuningText, AsSourceSaysWhatToWriteAndWhere) {
  Tuning source = tuning();
  source.as_source = true;
  source.decisions[1].place = "gemm.cu:17";
  source.decisions[1].advice = "#pragma nv_mma_throughput";
  std::string text = to_text(source, {});
  EXPECT_NE(text.find("gemm.cu:17"), std::string::npos);
  EXPECT_NE(text.find("#pragma nv_mma_throughput"), std::string::npos);
}

TEST(TuningText, NoNamePaintsOnTheTerminal) {
  Tuning hostile = tuning();
  hostile.decisions[0].name = hostile.decisions[1].why = "\033[31mred\a";
  hostile.notes = {"\033[2J"};
  TextStyle style;
  style.verbose = true;
  EXPECT_EQ(to_text(hostile, style).find_first_of("\033\a"), std::string::npos);
}

RC_GTEST_PROP(TuningTextProperty, NoLineIsWiderThanTheTerminal, ()) {
  Tuning any = tuning();
  for (Decision& each : any.decisions) {
    each.name = *rc::gen::container<std::string>(rc::gen::inRange('a', 'z'));
    each.why = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab c")));
  }
  any.as_source = *rc::gen::arbitrary<bool>();
  any.next_command.clear();
  TextStyle style;
  style.width = *rc::gen::inRange(kLeastWidth, 140);
  style.verbose = *rc::gen::arbitrary<bool>();
  std::string text = to_text(any, style);
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    RC_ASSERT(columns(std::string_view(text).substr(at, end - at)) <=
              static_cast<size_t>(style.width));
  }
}

TEST(TuningJson, HoldsSchemaDecisionsAndIntervals) {
  auto json = nlohmann::json::parse(to_json(tuning()));
  EXPECT_EQ(json["schema"], "namesake.tune/1.0");
  EXPECT_EQ(json["decisions"].size(), 4u);
  EXPECT_EQ(json["decisions"][1]["interval"][0], 0.89);
  EXPECT_TRUE(json["decisions"][1]["earlier"].is_null());
}

}  // namespace
}  // namespace namesake::report
