// The kernels that come with the tool: beside the build tree's sources, or where they were installed.
#pragma once

#include <filesystem>
#include <vector>

#include "util/error.h"

namespace namesake::cli {

// $NAMESAKE_KERNELS, else the source tree's kernels/, else share/namesake/kernels beside bin/.
Result<std::filesystem::path> kernels_folder();

// Their PTX, in name order.
Result<std::vector<std::filesystem::path>> bundled_kernels();

}  // namespace namesake::cli
