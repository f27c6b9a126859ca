#include "measure/sweep.h"

#include <algorithm>
#include <set>

namespace namesake::measure {

std::vector<Sizes> sweep_of(const LaunchFile& launch) {
  size_t settings = 0;
  for (const SizeEntry& size : launch.sizes) settings = std::max(settings, size.sweep.size());
  std::vector<Sizes> result(settings);
  for (size_t i = 0; i < settings; ++i) {
    for (const SizeEntry& size : launch.sizes) {
      bool swept = !size.sweep.empty();
      result[i][size.name] = swept ? size.sweep[std::min(i, size.sweep.size() - 1)] : size.standard;
    }
  }
  return result;
}

std::map<Sizes, std::vector<std::filesystem::path>> still_to_measure(
    const report::Measurement& measured) {
  std::map<Sizes, std::vector<std::filesystem::path>> wanted;
  std::set<std::pair<std::string, Sizes>> known;
  for (const report::KernelMeasurement& kernel : measured.kernels) {
    known.emplace(kernel.launch_file, kernel.sizes);
  }
  for (const report::KernelMeasurement& kernel : measured.kernels) {
    using report::Finding;
    if (kernel.finding == Finding::same_code || kernel.finding == Finding::failed ||
        kernel.finding == Finding::refused) {
      continue;
    }
    auto launch = read_launch_file(kernel.launch_file);
    if (!launch) continue;
    for (const Sizes& sizes : sweep_of(*launch)) {
      if (known.emplace(kernel.launch_file, sizes).second) {
        wanted[sizes].push_back(kernel.launch_file);
      }
    }
  }
  return wanted;
}

}  // namespace namesake::measure
