// The live library as bytes inside the tool, and its run folder.
#pragma once

#include <filesystem>
#include <string>

#include "util/cursor.h"
#include "util/error.h"

namespace namesake::ab {

Bytes embedded_library();

// The same with the run folder's path written into it.
Result<std::string> library_for(const std::filesystem::path& folder);

struct BoardSettings {
  int timed_per_second = 400;
  int check_launches = 0;
  uint64_t check_bytes = 0;
  uint64_t seed = 1;
};

// FOLDER/live with all that the library expects, and FOLDER/namesake_live.so.
Status set_up(const std::filesystem::path& folder, const BoardSettings& settings);

}  // namespace namesake::ab
