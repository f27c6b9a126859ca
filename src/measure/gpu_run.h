// One kernel's two builds on the GPU: results first, then times.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gpu/clocks.h"
#include "gpu/driver.h"
#include "measure/checker.h"
#include "measure/measure.h"
#include "measure/plan.h"
#include "report/measurement.h"

namespace namesake::measure {

// One build as the driver takes it.
struct Code {
  std::string image;   // a cubin
  std::string symbol;  // the kernel's name in it
};

// What is to be run: all of it made beforehand, without a GPU.
struct GpuJob {
  Plan plan;
  Code a, b;
  bool same_code = false;              // then b is a's code, and only a and its double are timed
  std::string reference;               // a host function, or …
  std::optional<Code> reference_code;  // … another kernel,
  Plan reference_plan;                 // launched so, its buffers found by name
  std::string reference_name;          // for people
  Care care;
  bool time_only = false;
  uint64_t seed = 1;
  int workers = 1;
};

struct Gpu {
  const gpu::Context& context;
  const Checker& checker;
  std::shared_ptr<const gpu::Card> card;  // nullptr where clocks and power cannot be read
};

// What is being done, for the watchdog and for whoever reads about a crash: "running b on
// denormals".
using Stage = std::function<void(std::string_view)>;

// Fills `into` as it goes, so that what was found before a failure stays. After an error the
// context is of no further use: the process should end.
Status run_on_gpu(const Gpu& gpu, const GpuJob& job, report::KernelMeasurement& into,
                  const Stage& stage);

}  // namespace namesake::measure
