// Measuring for tune: as long as it takes to decide, and again for a policy that is checked.
#pragma once

#include <string>
#include <vector>

#include "measure/measure.h"
#include "policy/policy.h"
#include "util/error.h"

namespace namesake::measure {

// Measures; with `sweep` at every size that the launch files list. What stays open is measured once
// more by itself and longer, and the second look alone then counts.
Result<report::Measurement> measure_for_tuning(MeasureRequest request, double threshold,
                                               bool sweep);

// The kernels of the request, or those that a policy's evidence names if it has none, with the
// assemblers that the policy speaks of. Empty, with notes, where none of them is at hand.
Result<report::Measurement> measure_again(const policy::Policy& policy, MeasureRequest request,
                                          const std::vector<toolchain::Tool>& tools,
                                          double threshold, std::vector<std::string>& notes);

}  // namespace namesake::measure
