#include "measure/tuning_run.h"

#include <algorithm>
#include <map>

#include "measure/assemblers.h"
#include "measure/retake.h"
#include "measure/sweep.h"
#include "measure/tune.h"

namespace namesake::measure {
namespace {

namespace fs = std::filesystem;
using LaunchFiles = std::map<Sizes, std::vector<fs::path>>;

// The second look at what stays open takes so much longer.
constexpr double kSecondLook = 4;

// Replaces the kernels of the first measurement that were measured again.
void replace(report::Measurement& first, report::Measurement second) {
  for (report::KernelMeasurement& again : second.kernels) {
    for (report::KernelMeasurement& kernel : first.kernels) {
      if (kernel.launch_file == again.launch_file && kernel.symbol == again.symbol &&
          kernel.assembler == again.assembler && kernel.assembler_build == again.assembler_build &&
          kernel.sizes == again.sizes) {
        kernel = std::move(again);
        break;
      }
    }
  }
  first.gpu_seconds += second.gpu_seconds;
  first.build_seconds += second.build_seconds;
}

Result<report::Measurement> measured_at(LaunchFiles launch_files, MeasureRequest request) {
  std::vector<report::Measurement> all;
  for (auto& [sizes, files] : launch_files) {
    request.sizes = sizes;
    request.files = std::move(files);
    TRY_ASSIGN(report::Measurement each, measure(request));
    all.push_back(std::move(each));
  }
  return merged(all);
}

}  // namespace

Result<report::Measurement> measure_for_tuning(MeasureRequest request, double threshold,
                                               bool sweep) {
  TRY_ASSIGN(report::Measurement first, measure(request));
  if (auto more = still_to_measure(first); sweep && !more.empty()) {
    TRY_ASSIGN(report::Measurement swept, measured_at(std::move(more), request));
    TRY_ASSIGN(first, merged(std::vector{std::move(first), std::move(swept)}));
  }
  TRY_ASSIGN(std::vector<report::Decision> decisions, decide(first, threshold));
  LaunchFiles open;
  for (const report::Decision& decision : decisions) {
    if (decision.settled || decision.samples.empty()) continue;
    for (const report::KernelMeasurement& kernel : first.kernels) {
      std::vector<fs::path>& files = open[kernel.sizes];
      bool known =
          std::find(files.begin(), files.end(), fs::path(kernel.launch_file)) != files.end();
      if (kernel.launch_file == decision.launch_file && !known) files.push_back(kernel.launch_file);
    }
  }
  std::erase_if(open, [](const auto& entry) { return entry.second.empty(); });
  if (open.empty() || request.stop()) return first;
  request.care.seconds *= kSecondLook;
  // What the first look found stands where the second fails altogether.
  if (auto second = measured_at(std::move(open), request)) replace(first, std::move(*second));
  return first;
}

Result<report::Measurement> measure_again(const policy::Policy& policy, MeasureRequest request,
                                          const std::vector<toolchain::Tool>& tools,
                                          double threshold, std::vector<std::string>& notes) {
  LaunchFiles launch_files;
  if (request.files.empty()) {
    TRY_ASSIGN(Retake retake, retake_of(policy, tools));
    request.assemblers = std::move(retake.assemblers);
    launch_files = std::move(retake.launch_files);
    notes.insert(notes.end(), retake.notes.begin(), retake.notes.end());
  } else {
    request.assemblers = assemblers_of(policy, tools, notes);
    launch_files[request.sizes] = request.files;
  }
  if (request.assemblers.empty()) return report::Measurement{};
  std::vector<report::Measurement> all;
  for (auto& [sizes, files] : launch_files) {
    request.sizes = sizes;
    request.files = std::move(files);
    TRY_ASSIGN(report::Measurement each, measure_for_tuning(request, threshold, false));
    all.push_back(std::move(each));
  }
  return merged(all);
}

}  // namespace namesake::measure
