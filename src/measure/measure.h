// Two builds of each kernel on the GPU: are their results the same, and which is faster?
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assembly/build.h"
#include "assembly/experiment.h"
#include "measure/kept_results.h"
#include "report/measurement.h"
#include "toolchain/toolchain.h"
#include "util/error.h"

namespace namesake::measure {

// How long and how carefully.
struct Care {
  double seconds = 1.0;  // of timing a kernel, warm and cold together
  double confidence = 0.95;
  double dead_band = 0.005;                        // ratios within 1 ± this count as no difference
  int repeats = 100;                               // runs for "is it repeatable?"
  bool equality = true;                            // false: time only
  std::chrono::milliseconds launch_limit{10'000};  // one launch that takes longer hangs
};

struct MeasureRequest {
  // Launch files, PTX, CUDA source, or folders of launch files. A kernel without a launch file
  // named has its own beside it (kernel.toml).
  std::vector<std::filesystem::path> files;
  std::filesystem::path launch_file;         // for all files, where it does not lie beside them
  std::string kernel_glob;                   // on symbol or readable name; empty: all
  std::map<std::string, int64_t> sizes;      // instead of the launch file's defaults
  std::vector<toolchain::Tool> assemblers;   // each kernel is measured with each
  bool jit = false;                          // and with the driver's own assembler
  assembly::Build a, b;                      // their assembler is replaced by those above …
  bool own_assemblers = false;               // … unless the two builds differ in it
  std::filesystem::path cubin_a, cubin_b;    // given instead of builds: one file, one launch file
  std::optional<toolchain::Tool> front_end;  // nvcc for CUDA source
  bool compile = false;                      // also where PTX of it lies ready in ptx/
  std::vector<std::string> front_end_options;
  std::optional<toolchain::Tool> disassembler;  // without it no loops are counted
  assembly::HookVariables hooks;
  Care care;
  int controls = 0;  // > 0: so many runs of kernels against themselves instead, in turn
  int device = 0;
  std::string driver_library = "libcuda.so.1";  // tests stand in for the driver here
  std::string management_library = "libnvidia-ml.so.1";
  std::filesystem::path own_executable;  // of the tool: the child in which the driver assembles
  int workers = 1;                       // for assemblies and host references
  std::chrono::milliseconds assembly_timeout{std::chrono::minutes(5)};
  std::function<void(std::string_view)> progress = [](std::string_view) {};
  std::function<bool()> stop = [] { return false; };
  bool partial = false;  // stopped, report what was measured until then; else that is an error
  KeptResults* kept = nullptr;  // where results are kept as they come, and looked for first
};

// An error only where nothing could be measured at all: no GPU, no launch file, no assembler. A
// kernel that fails is a finding, and the others go on.
Result<report::Measurement> measure(const MeasureRequest& request);

// What a kernel's parts come to, and the sentence that says it. Pure, for tests and recorded data.
report::Finding judge(const report::KernelMeasurement& kernel);
std::string explain(const report::KernelMeasurement& kernel);

// Of kernels timed against themselves (the same code, loaded twice), in control runs or beside the
// builds: every difference that is claimed is a false alarm.
struct FalseAlarms {
  int64_t runs = 0;
  int64_t alarms = 0;        // verdicts
  int64_t beside_one = 0;    // intervals that do not hold 1, those inside the dead band included
  int64_t in_dead_band = 0;  // verdicts whose interval lies inside the dead band
};
FalseAlarms false_alarms(const report::Measurement& measurement);

}  // namespace namesake::measure
