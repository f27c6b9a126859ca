#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "measure/measure.h"
#include "report/measurement_pages.h"
#include "util/terminal.h"
#include "util/text.h"

using namespace namesake;
using namespace namesake::report;

namespace {

std::string word() {
  return *rc::gen::element<std::string>(
      "sgemm", "", "<b>&\"'", "a very long name of a kernel that no column holds as it is",
      "×±\x1b[31m", "\xff\xfe");
}
double number() {
  return *rc::gen::inRange(-1000, 100000) / 64.0;
}
int64_t count() {
  return *rc::gen::inRange<int64_t>(0, 1 << 20);
}

Ratio random_ratio() {
  Ratio ratio{.ratio = 0.5 + *rc::gen::inRange(0, 1000) / 500.0,
              .confidence = 0.95,
              .pairs = count(),
              .ties = count()};
  ratio.verdict = *rc::gen::element<std::string>("faster", "slower", "no difference", "undecided");
  if (*rc::gen::arbitrary<bool>())
    ratio.interval = std::array<double, 2>{ratio.ratio * 0.99, ratio.ratio * 1.01};
  return ratio;
}

KernelMeasurement random_kernel() {
  KernelMeasurement kernel{.launch_file = word(),
                           .file = word(),
                           .symbol = word(),
                           .name = word(),
                           .architecture = "sm_90",
                           .assembler = word(),
                           .launch = word()};
  kernel.sizes = {{"m", count()}, {"n", count()}};
  kernel.a = {.failure = word(),
              .identity = "aa",
              .registers = count(),
              .spill_bytes = count(),
              .blocks_per_multiprocessor = 2,
              .occupancy = 0.25,
              .loop_instructions = count()};
  kernel.b = kernel.a;
  kernel.b.loop_instructions.reset();
  kernel.finding = static_cast<Finding>(*rc::gen::inRange<size_t>(0, std::size(kFindingNames)));
  kernel.meaning = word();
  kernel.inputs = {{.name = "as given",
                    .outputs = {{.buffer = word(),
                                 .type = "f32",
                                 .elements = count(),
                                 .differing = count(),
                                 .value_a = "nan",
                                 .value_b = word()}},
                    .equal = false,
                    .damage = word()}};
  kernel.repeats = {.runs = count(), .differing_a = count()};
  kernel.reference = {.reference = word(),
                      .checked = count(),
                      .elements = count(),
                      .wrong_b = count(),
                      .error_a = number()};
  for (const int i : {0, 1}) {
    if (*rc::gen::inRange(0, 4) == 0) break;
    Timing timing{.caches = i ? "cold" : "warm",
                  .milliseconds_a = number(),
                  .milliseconds_b = number(),
                  .launches = count(),
                  .rounds = count(),
                  .dropped = count()};
    timing.time = random_ratio(), timing.cycles = random_ratio(), timing.control = random_ratio();
    timing.ratios = *rc::gen::container<std::vector<double>>(
        rc::gen::map(rc::gen::inRange(1, 4000), [](int x) { return x / 1024.0; }));
    timing.control_ratios = timing.ratios;
    timing.card = {.clock_mhz = number(),
                   .watts = number(),
                   .celsius = count(),
                   .slowdowns = word(),
                   .power_capped = true};
    kernel.timings.push_back(timing);
  }
  return kernel;
}

Measurement random_measurement() {
  Measurement measurement{.command = word(), .date = "2026-01-01T00:00:00Z"};
  measurement.gpu = {.name = word(),
                     .driver = word(),
                     .architecture = "sm_90",
                     .ecc = true,
                     .power_limit_watts = 700.0,
                     .other_processes = {1, 2}};
  measurement.a.label = "untreated", measurement.b.label = word();
  for (int i = *rc::gen::inRange(0, 6); i > 0; --i) measurement.kernels.push_back(random_kernel());
  measurement.notes = {word()};
  measurement.next_command = "namesake tune";
  return measurement;
}

RC_GTEST_PROP(MeasurementJson, ComesBackAsItWas, ()) {
  const Measurement measurement = random_measurement();
  const std::string json = to_json(measurement);
  const auto back = measurement_from_json(json);
  RC_ASSERT(back.has_value());
  RC_ASSERT(to_json(*back) == json);
}

RC_GTEST_PROP(MeasurementJson, OfOneKernelComesBackAsItWas, ()) {
  const std::string json = to_json(random_kernel());
  RC_ASSERT(json.find('\n') == std::string::npos);
  const auto back = kernel_measurement_from_json(json);
  RC_ASSERT(back.has_value());
  RC_ASSERT(to_json(*back) == json);
}

TEST(MeasurementJson, OfAnotherSchemaIsRefusedWithTheCure) {
  const auto found = measurement_from_json("{\"schema\": \"namesake.diff/1.0\"}");
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("make the file with `namesake measure --json`"),
            std::string::npos);
}

RC_GTEST_PROP(MeasurementText, FitsTheTerminalAndPaintsNothingForeign, ()) {
  const Measurement measurement = random_measurement();
  TextStyle style;
  style.width = *rc::gen::inRange(40, 200);
  style.verbose = *rc::gen::arbitrary<bool>();
  const std::string text = to_text(measurement, style);
  RC_ASSERT(text.find('\x1b') == std::string::npos);
  for (std::string_view line : split(text, '\n'))
    if (!line.starts_with("next:"))
      RC_ASSERT(display_width(line) <= static_cast<size_t>(style.width));
}

RC_GTEST_PROP(MeasurementPage, HoldsNoForeignMarkup, ()) {
  const std::string page = to_html(random_measurement());
  RC_ASSERT(page.find("<b>&\"'") == std::string::npos);
  RC_ASSERT(page.find('\x1b') == std::string::npos);
  RC_ASSERT(page.find("http://") == std::string::npos);
  RC_ASSERT(page.find("nan\"") == std::string::npos);
}

}  // namespace
