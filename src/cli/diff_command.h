// What other commands hand over to `diff`.
#pragma once

#include <string>

#include "cli/command.h"

namespace namesake::cli {

// As `namesake diff FILE --kernel KERNEL` would.
Result<int> diff_kernel(const std::string& file, const std::string& kernel, const Global& global);

}  // namespace namesake::cli
