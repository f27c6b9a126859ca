// The comparisons that must show nothing, run beside every difference.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/difference.h"
#include "assembly/experiment.h"
#include "assembly/variant.h"

namespace namesake::study {

// Which of the controls a pair of builds needs, over all units; adds one row per control.
struct ControlRequest {
  const std::vector<assembly::Unit>* units = nullptr;
  assembly::Build a, b;
  bool hooked = true;          // whether the compared builds run with the hook
  int draws = 4;               // of each side, where a fixed run shows a difference
};
Result<std::vector<report::Control>> run_controls(assembly::Laboratory& laboratory, const ControlRequest& request,
                                                  const std::function<void(size_t, size_t)>& progress);

}  // namespace namesake::study
