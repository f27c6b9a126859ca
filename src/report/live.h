// What `namesake ab` found, as data: two builds of each kernel in a running application.
//
// Ratios are time of b / time of a: below 1, b is faster.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/measurement.h"

namespace namesake::report {

struct LiveBuild {
  std::string identity;  // hash of the code; "" where there is none
  int64_t registers = 0, spill_bytes = 0, code_bytes = 0;
};

// Launches of one shape, which alone are compared with each other.
struct LiveShape {
  std::vector<int64_t> grid, block;  // x, y, z
  int64_t shared_bytes = 0;
  int64_t launches = 0;
  double milliseconds_a = 0, milliseconds_b = 0;  // medians of one launch; 0 where never timed
  double milliseconds = 0;                        // of one launch as loaded
  Ratio time;     // pairs: blocks of four launches, a b b a or b a a b
  Ratio control;  // a alone, read as if it alternated
  std::vector<double> ratios, control_ratios;
};

enum class LiveFinding : uint8_t {
  faster,  // b
  slower,
  no_difference,
  undecided,  // too few launches were timed, shapes disagree, or the control is not quiet
  same_code,
  alone,  // ran as loaded, and why
};
constexpr const char* kLiveFindingNames[] = {"faster",    "slower",    "no difference",
                                             "undecided", "same code", "left alone"};

struct LiveKernel {
  std::string symbol, name;  // mangled and readable
  std::string architecture, assembler, assembler_build;
  LiveFinding finding = LiveFinding::alone;
  std::string meaning;  // one sentence
  std::string loaded;   // "a", "b", or "" where the application's code is neither
  LiveBuild a, b;
  int64_t launches = 0, launches_of_b = 0;
  int64_t captured = 0, cooperative = 0, not_resident = 0,
          failed = 0;             // launches that ran as loaded
  double total_milliseconds = 0;  // of all launches as loaded, from those timed
  double saved_milliseconds = 0;  // of that, by the build that is faster where that is settled
  int64_t checked = 0, differing = 0, unrepeatable = 0;  // launches whose results were compared
  std::string unchecked;          // why no launch was compared, where that was asked for
  std::vector<LiveShape> shapes;  // by time, the most first
  std::string ptx;                // what it was made of, while the run folder stands

  const LiveShape* main_shape() const { return shapes.empty() ? nullptr : &shapes.front(); }
};

struct Live {
  std::string command, date;
  std::string gpu, cuda, architecture;
  std::string a, b;  // as asked for: "untreated", "treated"
  double confidence = 0.95, dead_band = 0.005;
  double seconds = 0;     // the application ran
  int64_t processes = 0;  // that launched something
  int64_t launches = 0, timed = 0, unknown = 0;
  std::string ended;  // how the application ended
  std::vector<LiveKernel> kernels;
  std::vector<std::string> notes;
  std::string advice;     // the last sentence
  std::string policy;     // file written; "" where none was
  std::string code_page;  // beside the page: the differences of the codes
  std::string next_command;
};

}  // namespace namesake::report
