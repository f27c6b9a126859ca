// What `namesake measure` found, as data: measure fills it, the pages only render it.
//
// Ratios are time of b / time of a everywhere: below 1, b is faster. Without other builds asked
// for, a is untreated and b treated, so a ratio below 1 says that the treatment gains.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/difference.h"

namespace namesake::report {

// The GPU and its state. What the card does not tell stays empty.
struct Gpu {
  std::string name, uuid, bus_id;
  std::string driver;        // "580.159.04"
  std::string cuda;          // what the driver speaks: "13.0"
  std::string architecture;  // "sm_90"
  int64_t multiprocessors = 0, memory_bytes = 0, l2_bytes = 0;
  std::optional<bool> ecc, mig;
  std::optional<double> power_limit_watts;
  std::optional<int64_t> max_clock_mhz, max_memory_mhz;
  std::vector<int64_t> other_processes;  // pids that compute on the card beside us
  std::string unknown;  // why clocks and power could not be read; "" where they could
};

// The card while one kernel was timed.
struct CardUse {
  double clock_mhz = 0, memory_mhz = 0;  // medians
  double watts = 0;
  int64_t celsius = 0;    // highest
  std::string slowdowns;  // every reason seen: "power cap", "none"
  bool power_capped = false;
};

// One build of the measured kernel: what it is, and why it may be as fast as it is.
struct MeasuredBuild {
  std::string failure;   // "" or why there is no code, or why it could not run
  std::string identity;  // hash of the code
  int64_t registers = 0, spill_bytes = 0, stack_bytes = 0, shared_bytes = 0, code_bytes = 0;
  int64_t blocks_per_multiprocessor = 0;
  double occupancy = 0;  // warps resident / warps a multiprocessor holds, from those blocks
  std::optional<int64_t> loop_instructions;  // of the hottest loop
  std::vector<std::string> edits;            // made to the PTX: ".version 9.0 lowered to 8.8"
};

// One output of one run of both builds on one set of inputs.
struct OutputEquality {
  std::string buffer, type;
  int64_t elements = 0, differing = 0;
  int64_t first = 0;             // index of the first that differs
  std::string value_a, value_b;  // there
  double largest = 0;            // |a - b| over the finite ones
};
struct InputSet {
  std::string name;  // "normal", "constant", "nan and infinity", "denormals", "extremes"
  std::vector<OutputEquality> outputs;
  bool equal = true;
  bool poison_seen = false;  // an output element kept the poison: not all of it is written
  std::string
      damage;  // "" or the guard zone that was written to: "b wrote 4 bytes past the end of c"
};

// The same inputs again and again.
struct Repeats {
  int64_t runs = 0;
  int64_t differing_a = 0, differing_b = 0;  // runs whose results were not the first one's
};

// Against the launch file's reference, on the inputs as the launch file gives them.
struct ReferenceCheck {
  std::string reference;              // "matmul" or a launch file; "" where there is none
  std::string note;                   // why it was not checked
  int64_t checked = 0, elements = 0;  // checked of all: large outputs are sampled
  int64_t wrong_a = 0, wrong_b = 0;   // outside the tolerance
  double error_a = 0, error_b = 0;    // ‖it − reference‖ / ‖reference‖
};

// A ratio with its exact interval.
struct Ratio {
  double ratio = 1;
  std::optional<std::array<double, 2>> interval;  // missing where the pairs are too few
  double confidence = 0;                          // truly covered
  std::string verdict;  // "faster", "slower", "no difference", "undecided": of b against a
  int64_t pairs = 0;    // used
  int64_t ties = 0;
};

// Whether a difference is claimed: in time, and where the clock could be read in cycles too. Under
// a power cap one code may run at another clock than the other, and whether that is its merit or
// the moment's cannot be told.
inline bool claims_difference(const Ratio& time, const Ratio& cycles) {
  return (time.verdict == "faster" || time.verdict == "slower") &&
         (cycles.pairs == 0 || cycles.verdict == time.verdict);
}

// Pairs timed with caches in one state, and buffers in one place.
struct Timing {
  std::string caches;                             // "warm" or "cold"
  int64_t shifted_bytes = 0;                      // the buffers lie so far behind a whole 2 MB
  double milliseconds_a = 0, milliseconds_b = 0;  // medians of one launch
  double megahertz_a = 0, megahertz_b = 0;  // medians of the true clock; 0 where too short to tell
  int64_t launches = 0;                     // in one timing
  int64_t rounds = 0, dropped = 0;  // rounds made; taken out for a thermal or hardware slowdown
  Ratio time, cycles;               // cycles.pairs is 0 where the clock could not be read
  Ratio control, control_cycles;    // build a, loaded twice, against itself
  std::vector<double> ratios, control_ratios;  // one a pair, in the order of time
  CardUse card;
};

// What the numbers come to.
enum class Finding : uint8_t {
  faster,  // b is, in time and, where the clock could be read, in cycles
  slower,
  no_difference,  // within the dead band
  undecided,      // measure more
  same_code,      // the builds are one code: nothing to decide
  refused,  // the results differ, or a build writes where it must not: the time does not matter
  failed,   // a build could not be made or run
};
constexpr const char* kFindingNames[] = {"faster",    "slower",  "no difference", "undecided",
                                         "same code", "refused", "failed"};

struct KernelMeasurement {
  std::string launch_file;                 // as given
  std::string file;                        // the PTX, CUDA source or cubin
  std::string symbol, name;                // mangled and readable
  std::string architecture;                // assembled for
  std::string assembler, assembler_build;  // "13.0.88"; "driver JIT"
  std::map<std::string, int64_t> sizes;
  std::string launch;  // "32×32 blocks of 256 threads, 48 kB shared"
  MeasuredBuild a, b;
  std::string failure;  // "" or why it could not be measured, whatever the builds
  Finding finding = Finding::failed;
  std::string meaning;  // one sentence
  std::vector<InputSet> inputs;
  Repeats repeats;
  ReferenceCheck reference;
  std::vector<Timing> timings;  // warm, cold, and warm with the buffers shifted
  double seconds = 0;           // of the GPU's process, this kernel's share

  const Timing* warm() const { return timings.empty() ? nullptr : &timings.front(); }
  const Timing* cold() const {
    for (const Timing& timing : timings)
      if (timing.caches == "cold") return &timing;
    return nullptr;
  }
  const Timing* shifted() const {
    for (const Timing& timing : timings)
      if (timing.shifted_bytes != 0) return &timing;
    return nullptr;
  }
};

struct Measurement {
  std::string command;  // as typed
  std::string date;     // ISO 8601, UTC
  Gpu gpu;
  BuildDescription a, b;  // the assembler is each kernel's own
  double confidence = 0.95, dead_band = 0.005;
  std::vector<KernelMeasurement> kernels;
  std::vector<std::string> notes;
  std::string next_command;
  double gpu_seconds = 0;    // how long we held the GPU
  double build_seconds = 0;  // wall time of making the codes
};

}  // namespace namesake::report
