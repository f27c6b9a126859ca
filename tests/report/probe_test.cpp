#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "random_report.h"
#include "report/json.h"
#include "report/text.h"
#include "util/terminal.h"
#include "util/text.h"

namespace namesake::report {
namespace {

ProbeReaction any_reaction() {
  return {*random::text(), *random::text(),
          *rc::gen::element<std::string>("", "code", "crash", "hang"), *random::text()};
}

ProbeFinding any_finding() {
  ProbeFinding finding;
  finding.text = *random::text();
  finding.match =
      *rc::gen::element<std::string>("substring", "prefix", "suffix", "exact", "together", "other");
  finding.any_case = *rc::gen::arbitrary<bool>();
  finding.at_far_end = *rc::gen::arbitrary<bool>();
  finding.found_in = *random::text();
  finding.runs = *random::count();
  finding.reactions = random::some(4, any_reaction);
  return finding;
}

ProbeSearch any_search() {
  ProbeSearch search;
  search.kernel = *random::text();
  search.architecture = *random::text();
  search.failure = *rc::gen::arbitrary<bool>() ? *random::text() : "";
  search.inside = *random::count();
  search.names = *random::count();
  search.assemblies = *random::count();
  search.remembered = *random::count();
  search.neutral_codes = *random::count();
  search.dismissed = *random::count();
  search.given_up = *rc::gen::arbitrary<bool>();
  search.inside_seconds = *random::time();
  search.names_seconds = *random::time();
  search.cpu_seconds = *random::time();
  return search;
}

ProbeRefusal any_refusal() {
  return {*random::text(), *random::text()};
}

ProbedProgram any_program() {
  ProbedProgram program;
  program.kind = *rc::gen::element<std::string>("ptxas", "command");
  program.version = *random::text();
  program.path = *random::text();
  program.texts_in_file = *random::count();
  program.texts_in_rot13 = *random::count();
  program.texts_added = *random::count();
  program.findings = random::some(4, any_finding);
  program.searches = random::some(4, any_search);
  program.refused = random::some(12, any_refusal);
  program.unexplained = random::texts(2);
  program.notes = random::texts(2);
  program.wall_seconds = *random::time();
  return program;
}

Probe any_probe() {
  Probe probe;
  probe.programs = random::some(3, any_program);
  probe.notes = random::texts(2);
  probe.conclusion = *random::text();
  probe.limits = random::texts(3);
  probe.next_command = *random::text();
  return probe;
}

RC_GTEST_PROP(ProbeText, no_line_is_wider_than_asked_nor_holds_a_control_character, ()) {
  TextStyle style;
  style.width = *rc::gen::inRange(kLeastWidth, 240);
  style.verbose = *rc::gen::arbitrary<bool>();
  std::string text = to_text(any_probe(), style);
  for (std::string_view line : split(text, '\n')) {
    if (line.find("next:") != line.npos) continue;
    RC_ASSERT(display_width(line) <= static_cast<size_t>(style.width));
    for (unsigned char c : line) RC_ASSERT(c >= 0x20 && c != 0x7f);
  }
}

RC_GTEST_PROP(ProbeJson, holds_every_finding_and_parses, ()) {
  Probe probe = any_probe();
  auto json = nlohmann::json::parse(to_json(probe));
  RC_ASSERT(json["schema"] == "namesake.probe/1.0");
  RC_ASSERT(json["programs"].size() == probe.programs.size());
  for (size_t i = 0; i < probe.programs.size(); ++i) {
    RC_ASSERT(json["programs"][i]["findings"].size() == probe.programs[i].findings.size());
    RC_ASSERT(json["programs"][i]["searches"].size() == probe.programs[i].searches.size());
  }
}

// Two kernels on two architectures, one of them left alone.
Probe known() {
  ProbeFinding finding;
  finding.text = "cutlass";
  finding.match = "substring";
  finding.found_in = "cutlass_gemm";
  finding.runs = 5;
  finding.reactions = {{"mma", "sm_80", "code", ""},
                       {"simt", "sm_80", "code", ""},
                       {"mma", "sm_90", "code", ""},
                       {"simt", "sm_90", "crash", "killed by signal 11"},
                       {"wgmma", "sm_90a", "", ""}};
  ProbedProgram program;
  program.kind = "ptxas";
  program.version = "13.5.37";
  program.texts_in_file = 16946;
  program.texts_in_rot13 = 16084;
  program.findings = {finding};
  ProbeSearch search;
  search.kernel = "mma";
  search.architecture = "sm_80";
  search.inside = 33030;
  program.searches = {search};
  Probe probe;
  probe.programs = {program};
  return probe;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

TEST(ProbeText, SaysWhichKernelsReactWhereAndHow) {
  TextStyle wide;
  wide.width = 200;
  std::string text = to_text(known(), wide);
  EXPECT_TRUE(
      has(text, "other code: mma on sm_80, sm_90; simt on sm_80. a crash: simt on sm_90. nothing:"))
      << text;
  EXPECT_TRUE(has(text, "wgmma on sm_90a"));
  EXPECT_TRUE(has(text, "33,030 texts: 16,946 in its file, 16,084 more in ROT13")) << text;
}

TEST(ProbeText, ManyProgramsAreALineEach) {
  Probe probe = known();
  probe.programs.push_back(probe.programs[0]);
  probe.programs[1].version = "12.9.86";
  probe.programs[1].findings.clear();
  std::string text = to_text(probe, {});
  EXPECT_TRUE(has(text, "ptxas 12.9.86  33,030        1  nothing")) << text;
}

}  // namespace
}  // namespace namesake::report
