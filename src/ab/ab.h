// A running application with two builds of each of its kernels.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ab/builds.h"
#include "report/live.h"
#include "session/run.h"
#include "util/error.h"
#include "util/file.h"

namespace namesake::ab {

struct RunRequest {
  std::vector<std::string> command;
  Settings settings;
  std::string kernels;  // a glob; empty: all
  double seconds = 0;   // from the first load on; 0: as long as the application runs
  int timed_per_second = 400;
  int check_launches = 0;
  uint64_t check_bytes = uint64_t{2} << 30;
  uint64_t seed = 1;
};

struct Outcome {
  report::Live live;
  session::Outcome session;
  TemporaryFolder folder;  // holds what the kernels were made of, and their builds
};

Result<Outcome> run(const RunRequest& request);

}  // namespace namesake::ab
