// Compile caches of other people's tools, moved out of the way of a treated run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "util/error.h"

namespace namesake::session {

struct MovedCache {
  std::string owner;     // "Triton", "the CUDA driver", …
  std::string variable;  // what tells it
  std::string value;     // where it is now
};

// Where each known cache lies in a run whose hook has this key. Nothing is created.
std::vector<MovedCache> caches_for(const std::string& key, const std::filesystem::path& below);

}  // namespace namesake::session
