// Globs as rules hold them.
#pragma once

#include <string_view>

#include "util/error.h"

namespace namesake::policy {

// An error for what matches nothing by mistake: an open '[' or a space at an end.
Status check_pattern(std::string_view pattern);

}  // namespace namesake::policy
