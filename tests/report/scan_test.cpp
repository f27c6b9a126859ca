#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "golden.h"
#include "random_report.h"
#include "report/json.h"
#include "report/scan.h"
#include "report/text.h"
#include "util/terminal.h"
#include "util/text.h"

namespace namesake::report {
namespace {

void add(Scan& scan, const std::string& symbol, const std::string& library,
         std::vector<TriggerFind> triggers, int64_t kernels, const std::string& architecture) {
  auto number = static_cast<int64_t>(scan.symbols.size());
  scan.symbols.push_back({symbol, library, std::move(triggers)});
  for (int64_t i = 0; i < kernels; ++i) {
    bool code = i % 5 != 4;
    scan.functions.push_back({number, i % static_cast<int64_t>(scan.containers.size()),
                              architecture, code, true, 1000 + i * 100, code ? 32 + i : 0});
    Container& container = scan.containers[static_cast<size_t>(scan.functions.back().container)];
    ++(code ? container.kernels : container.ptx_kernels);
  }
}

Scan sample() {
  Scan scan;
  scan.files = {"mine.whl"};
  scan.containers.push_back({"mine.whl(mine/_C.so)", 12'345'678, 20, 3, 1, 0, 4, 16});
  scan.containers.push_back({"mine.whl(mine/_D.so)", 345'678, 2, 1});
  scan.file_bytes = 5'000'000;
  scan.unpacked_bytes = 70'000'000;
  scan.seconds = 0.25;
  scan.triggers = {"cutlass"};
  add(scan, "_ZN7cutlass13device_kernelIN4mine5ShapeEEEvT_Pi", "cutlass",
      {{"cutlass", {Place::cutlass_kernel, Place::enclosing_scope}}}, 12, "sm_90a");
  add(scan, "_Z7genericIN7cutlass5ShapeEEvPi", "generic", {{"cutlass", {Place::template_argument}}},
      7, "sm_80");
  add(scan, "_ZN48_GLOBAL__N__e95de0b0_15_cutlass_gemm_cu_c84982fb4anonEPf", "anon",
      {{"cutlass", {Place::file_name}}}, 3, "sm_80");
  add(scan, "_ZN2at6native3addEPf", "at", {}, 40, "sm_80");
  scan.next_command = "namesake scan mine.whl --list";
  return scan;
}

TEST(ScanText, at_100_columns) {
  expect_golden("scan.txt", to_text(sample(), {}));
}

TEST(ScanText, a_list_with_a_denied_text_and_a_problem) {
  Scan scan = sample();
  scan.denied = {"cutlass", "absent"};
  scan.problems = {"mine.whl(mine/_E.so): damaged: its checksum is not the archive's"};
  scan.functions.resize(14);
  TextStyle style;
  style.verbose = true;
  expect_golden("scan_list.txt", to_text(scan, style));
}

TEST(ScanText, twenty_thousand_kernels_of_a_thousand_libraries_fit_a_screen) {
  Scan scan = sample();
  for (int i = 0; i < 40; ++i)
    scan.containers.push_back({"lib" + std::to_string(i) + ".so", 1000, 1});
  for (int i = 0; i < 1000; ++i)
    add(scan, "kernel" + std::to_string(i), "lib" + std::to_string(i), {}, 20,
        "sm_" + std::to_string(70 + i % 50));
  std::string text = to_text(scan, {});
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 50);
}

TEST(ScanText, without_code_says_so_and_whether_all_was_read) {
  Scan scan;
  EXPECT_NE(to_text(scan, {}).find("No GPU code was found."), std::string::npos);
  scan.problems = {"cannot read x"};
  EXPECT_NE(to_text(scan, {}).find("No GPU code was found in what could be read."),
            std::string::npos);
}

TEST(ScanJson, holds_each_function_and_sums_that_agree) {
  Scan scan = sample();
  auto json = nlohmann::json::parse(to_json(scan));
  EXPECT_EQ(json["schema"], "namesake.scan/1.0");
  EXPECT_EQ(json["functions"].size(), scan.functions.size());
  EXPECT_EQ(json["summary"]["kernels"].get<size_t>() + json["summary"]["ptx_kernels"].get<size_t>(),
            scan.functions.size());
  EXPECT_EQ(json["summary"]["with_trigger"], 22);
  EXPECT_EQ(json["summary"]["places"]["cutlass"]["template_argument"], 7);
  EXPECT_EQ(json["functions"][0]["triggers"][0]["places"][0], "cutlass_kernel");
  EXPECT_EQ(json["functions"][0]["name"],
            "void cutlass::device_kernel<mine::Shape>(mine::Shape, int*)");
}

RC_GTEST_PROP(ScanText, no_line_is_wider_than_the_terminal_whatever_the_names, ()) {
  Scan scan = sample();
  for (int i = 0; i < 5; ++i) {
    std::string name = *random::text();
    scan.containers.push_back({*random::text(), 1000, 1});
    add(scan, name, *random::text(), {{*random::text(), {Place::chance}}}, 3, *random::text());
  }
  scan.problems = {*random::text()};
  scan.next_command = "";
  TextStyle style;
  style.width = *rc::gen::inRange(kLeastWidth, 160);
  style.verbose = *rc::gen::arbitrary<bool>();
  std::string text = to_text(scan, style);
  for (std::string_view line : split(text, '\n')) {
    RC_ASSERT(display_width(line) <= static_cast<size_t>(style.width));
    RC_ASSERT(line.find('\033') == std::string_view::npos);
  }
  RC_ASSERT(nlohmann::json::accept(to_json(scan)));
}

}  // namespace
}  // namespace namesake::report
