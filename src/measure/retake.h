// What to measure again to know whether a policy still holds: the launch files and sizes that its
// evidence names, and the assemblers at hand that it speaks of.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "measure/sweep.h"
#include "policy/policy.h"
#include "toolchain/toolchain.h"
#include "util/error.h"

namespace namesake::measure {

struct Retake {
  std::vector<toolchain::Tool> assemblers;
  std::map<Sizes, std::vector<std::filesystem::path>> launch_files;
  std::vector<std::string> notes;  // what it speaks of and is not at hand
};

// Evidence is looked for beside the policy, launch files where the evidence says or beside it. An
// error names the first file that is missing.
Result<Retake> retake_of(const policy::Policy& policy, const std::vector<toolchain::Tool>& tools);

}  // namespace namesake::measure
