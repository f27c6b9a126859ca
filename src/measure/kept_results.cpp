#include "measure/kept_results.h"

#include <fmt/format.h>

#include <chrono>
#include <variant>

#include "measure/gpu_run.h"
#include "report/measurement_pages.h"
#include "util/file.h"
#include "util/hash.h"

namespace namesake::measure {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kLongest{24};
constexpr uint64_t kResultLimit = uint64_t{64} << 20;

bool is_fresh(const fs::path& file) {
  std::error_code problem;
  const auto written = fs::last_write_time(file, problem);
  return !problem && fs::file_time_type::clock::now() - written < kLongest;
}

// A file that fills a buffer is known by its size and when it was written: it may be large.
std::string stamp_of(const fs::path& file) {
  std::error_code problem;
  const auto size = fs::file_size(file, problem);
  const auto written = fs::last_write_time(file, problem).time_since_epoch().count();
  return fmt::format("{} {} {}", file.string(), size, written);
}

}  // namespace

KeptResults::KeptResults(fs::path folder) : folder_(std::move(folder)) {
  std::error_code problem;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, problem))
    if (std::error_code ignored; !is_fresh(entry.path())) fs::remove(entry.path(), ignored);
}

fs::path KeptResults::default_folder() {
  const std::string cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
  if (!cache.empty()) return fs::path(cache) / "namesake" / "measured";
  if (!home.empty()) return fs::path(home) / ".cache" / "namesake" / "measured";
  return {};
}

fs::path KeptResults::file_of(const std::string& key) const {
  return folder_ / (key + ".json");
}

std::optional<report::KernelMeasurement> KeptResults::find(const std::string& key) {
  if (folder_.empty() || !is_fresh(file_of(key))) return std::nullopt;
  const auto text = read_file(file_of(key), kResultLimit);
  if (!text) return std::nullopt;
  auto kernel = report::kernel_measurement_from_json(*text);
  if (!kernel) return std::nullopt;
  keys_.push_back(key);
  return std::move(*kernel);
}

void KeptResults::keep(const std::string& key, const report::KernelMeasurement& kernel) {
  if (folder_.empty() || !kernel.failure.empty()) return;
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  if (write_file(file_of(key), report::to_json(kernel))) keys_.push_back(key);
}

void KeptResults::forget() {
  std::error_code ignored;
  for (const std::string& key : keys_) fs::remove(file_of(key), ignored);
  keys_.clear();
}

std::string key_of(const GpuJob& job, const report::KernelMeasurement& kernel,
                   const report::Gpu& gpu) {
  const Care& care = job.care;
  std::string all =
      fmt::format("{}\n{} {} {} {}\n{} {} {} {} {} {} {} {} {} {}\n", NAMESAKE_VERSION, gpu.name,
                  gpu.uuid, gpu.bus_id, gpu.driver, care.seconds, care.confidence, care.dead_band,
                  care.repeats, care.equality, care.launch_limit.count(), job.time_only,
                  job.same_code, job.seed, job.reference_name);
  all += fmt::format("{} {} {}\n", kernel.launch_file, kernel.file, kernel.assembler);
  for (const auto& [name, value] : kernel.sizes) all += fmt::format("{}={} ", name, value);
  const auto text = read_file(kernel.launch_file);
  all += text ? *text : std::string();
  all += job.reference_plan.describe();
  for (const BufferPlan& buffer : job.plan.buffers)
    if (const auto* fill = std::get_if<FileFill>(&buffer.fill)) all += stamp_of(fill->file);
  for (const Code* code : {&job.a, &job.b, job.reference_code ? &*job.reference_code : nullptr})
    if (code) all += code->symbol + "\n" + hash_bytes(code->image).hex() + "\n";
  return hash_bytes(all).hex();
}

}  // namespace namesake::measure
