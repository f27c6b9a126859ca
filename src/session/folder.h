// Where a run keeps its library and records.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "util/error.h"
#include "util/file.h"

namespace namesake::session {

// Why the loader could not map a library from this folder; "" if it can.
std::string why_unfit(const std::filesystem::path& folder);

// The first folder that is fit, of: XDG_RUNTIME_DIR, TMPDIR, /tmp, /dev/shm, XDG_CACHE_HOME,
// ~/.cache; the error lists each and what is wrong with it.
Result<TemporaryFolder> make_run_folder();
Result<TemporaryFolder> make_run_folder(const std::vector<std::filesystem::path>& candidates);

// What outlives runs: $XDG_STATE_HOME/namesake, ~/.local/state/namesake, and for caches
// $XDG_CACHE_HOME/namesake, ~/.cache/namesake; below TMPDIR, by user, where there is no home.
std::filesystem::path state_folder();
std::filesystem::path cache_folder();

}  // namespace namesake::session
