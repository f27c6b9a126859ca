// The hook as bytes inside the tool.
#pragma once

#include <filesystem>
#include <string>

#include "util/cursor.h"
#include "util/error.h"

namespace namesake::session {

// The library as built: the small one, or the one that watches all tests.
Bytes embedded_hook(bool all_tests);

// The same with the run folder's path written into it.
Result<std::string> hook_for(const std::filesystem::path& folder, bool all_tests);

}  // namespace namesake::session
