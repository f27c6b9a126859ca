#include "cli/bundled.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/file.h"

namespace namesake::cli {
namespace fs = std::filesystem;

Result<fs::path> kernels_folder() {
  fs::path beside = own_executable().parent_path().parent_path();
  std::vector<fs::path> candidates = {beside / "kernels", beside / "share" / "namesake" / "kernels"};
  std::string named = environment("NAMESAKE_KERNELS");
  if (!named.empty()) candidates = {named};
  for (const fs::path& folder : candidates) {
    std::error_code ignored;
    if (fs::is_directory(folder / "ptx", ignored)) return folder;
  }
  return error(fmt::format("the bundled kernels are not in {}; set NAMESAKE_KERNELS to the folder that holds ptx/, or name a file",
                           candidates.front().string()));
}

Result<std::vector<fs::path>> bundled_kernels() {
  TRY_ASSIGN(fs::path folder, kernels_folder());
  std::vector<fs::path> files;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / "ptx", code)) {
    if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) return error(fmt::format("no PTX in {}", (folder / "ptx").string()));
  return files;
}

}  // namespace namesake::cli
