// What measure and tune are told alike: which kernels, with which assemblers, how carefully.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/answering_hooks.h"
#include "measure/measure.h"
#include "util/error.h"
#include "util/pool.h"

namespace CLI {
class App;
}

namespace namesake::cli {

struct MeasureOptions {
  std::vector<std::string> files, sizes, assemblers = {"newest"}, front_end_options;
  std::string kernel, launch, front_end, disassembler = "newest";
  double seconds = 1, confidence = 95, dead_band = 0.5;  // the last two in percent
  int repeats = 100, device = 0, jobs = available_processors(), launch_limit = 10;
};

void add_measure_options(CLI::App& app, MeasureOptions& options);

// The request, and what must live as long as it. A command that came to its end calls
// kept->forget().
struct PreparedMeasurement {
  measure::MeasureRequest request;
  std::unique_ptr<AnsweringHooks> hooks;
  std::unique_ptr<measure::KeptResults> kept;
};
// Untreated against treated, as `tune` wants it.
Result<PreparedMeasurement> prepare_measurement(const MeasureOptions& options,
                                                const std::vector<toolchain::Tool>& tools);

}  // namespace namesake::cli
