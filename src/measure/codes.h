// The codes that are measured: each subject by each assembler in both builds.
#pragma once

#include <string>
#include <vector>

#include "measure/gpu_run.h"
#include "measure/subjects.h"
#include "report/measurement.h"

namespace namesake::measure {

// An assembler as the measurement sees it: a ptxas, or the driver's.
struct Maker {
  std::string version, build;           // "13.0.88"; "driver JIT"
  std::optional<toolchain::Tool> tool;  // none: the driver
};

// One pair to measure.
struct Pair {
  const Subject* subject = nullptr;
  Maker maker;
  Code a, b;
  report::MeasuredBuild of_a, of_b;
  bool ok() const { return of_a.failure.empty() && of_b.failure.empty(); }
};

// All pairs, made in parallel; a code that cannot be made is a failure in its MeasuredBuild. `cuda`
// is what the driver speaks ("13.0"), for its own assembler.
Result<std::vector<Pair>> make_codes(const MeasureRequest& request,
                                     const std::vector<Subject>& subjects, const std::string& cuda);

// One subject's reference kernel, made as it comes by the assembler of build a.
Result<Code> make_reference(const MeasureRequest& request, const assembly::Unit& unit);

}  // namespace namesake::measure
