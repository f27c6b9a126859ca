// What is to be measured: launch files with the PTX they run.
#pragma once

#include <string>
#include <vector>

#include "assembly/inputs.h"
#include "measure/launch_file.h"
#include "measure/measure.h"
#include "measure/plan.h"

namespace namesake::measure {

struct Subject {
  LaunchFile launch;
  Plan plan;
  assembly::Unit unit;  // its `kernels` is the entry alone; unused for cubins
  std::string file;     // for people
};

struct Subjects {
  std::vector<Subject> all;
  std::vector<std::string> notes;  // what was left out and why
};

// Files and folders of the request as subjects for a GPU ("sm_90"). An error where nothing is left.
Result<Subjects> find_subjects(const MeasureRequest& request, const std::string& architecture);

// The code that a launch file names, as PTX for the architecture: as it lies there, or through the
// front end.
Result<assembly::Unit> load_unit(const LaunchFile& launch, const MeasureRequest& request,
                                 const std::string& architecture);

}  // namespace namesake::measure
