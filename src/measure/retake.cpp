#include "measure/retake.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "measure/assemblers.h"
#include "report/measurement_pages.h"
#include "util/file.h"

namespace namesake::measure {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kEvidenceLimit = uint64_t{1} << 30;

Result<fs::path> found(const std::string& file, const fs::path& folder,
                       const policy::Policy& policy) {
  std::error_code ignored;
  for (const fs::path& path : {fs::path(file), folder / file}) {
    if (fs::exists(path, ignored)) return path;
  }
  return error(
      fmt::format("{} rests on {}, which is not here: name the launch files, as in "
                  "namesake tune --check {} FILE…",
                  policy.origin, file, policy.origin));
}

}  // namespace

Result<Retake> retake_of(const policy::Policy& policy, const std::vector<toolchain::Tool>& tools) {
  Retake retake;
  retake.assemblers = assemblers_of(policy, tools, retake.notes);
  const fs::path folder = fs::path(policy.origin).parent_path();
  std::set<std::string> evidence;
  for (const policy::Rule& rule : policy.rules) {
    if (rule.evidence && !rule.evidence->file.empty()) evidence.insert(rule.evidence->file);
  }
  if (evidence.empty()) {
    return error(
        fmt::format("{} has no evidence to measure again: name the launch files, as in "
                    "namesake tune --check {} FILE…",
                    policy.origin, policy.origin));
  }
  for (const std::string& file : evidence) {
    // Evidence lies beside its policy, whatever lies in the folder where the command is typed.
    TRY_ASSIGN(const fs::path path, found((folder / file).string(), {}, policy));
    TRY_ASSIGN(const std::string text, read_file(path, kEvidenceLimit));
    auto measurement = report::measurement_from_json(text);
    if (!measurement) return error(path.string(), measurement.error());
    for (const report::KernelMeasurement& kernel : measurement->kernels) {
      if (kernel.launch_file.empty()) continue;
      TRY_ASSIGN(const fs::path launch, found(kernel.launch_file, path.parent_path(), policy));
      std::vector<fs::path>& files = retake.launch_files[kernel.sizes];
      if (std::find(files.begin(), files.end(), launch) == files.end()) files.push_back(launch);
    }
  }
  return retake;
}

}  // namespace namesake::measure
