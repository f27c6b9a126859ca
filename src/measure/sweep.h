// The other sizes at which kernels are to be measured before something is decided for all of them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "measure/launch_file.h"
#include "report/measurement.h"

namespace namesake::measure {

using Sizes = std::map<std::string, int64_t>;

// A launch file's `sweep` lists are walked side by side: the i-th setting takes the i-th value of
// each, the last one where a list is shorter, the default where there is none.
std::vector<Sizes> sweep_of(const LaunchFile& launch);

// Launch files by the settings at which they have not been measured; those whose builds are one
// code, failed or were refused are decided already.
std::map<Sizes, std::vector<std::filesystem::path>> still_to_measure(
    const report::Measurement& measured);

}  // namespace namesake::measure
