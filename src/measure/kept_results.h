// What a measurement that was broken off had found, so that the same one goes on behind it.
//
// Minutes on a GPU are lost where a run ends early: an interrupt, a lost connection, a machine that
// is taken back. So each kernel's result is a file as soon as it is there, named by everything that
// it depends on: both codes, the launch, how it was timed, and the card. A run that comes to its
// end removes what it used and made: times are not a cache, and who measures again wants to measure
// again. What is a day old is not taken up either.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "report/measurement.h"

namespace namesake::measure {

struct GpuJob;

class KeptResults {
 public:
  KeptResults() = default;  // nothing is kept
  explicit KeptResults(std::filesystem::path folder);
  // $XDG_CACHE_HOME/namesake/measured, else ~/.cache/…; empty where there is no home.
  static std::filesystem::path default_folder();

  std::optional<report::KernelMeasurement> find(const std::string& key);
  // Failures are not kept: they may be the machine's. Errors are ignored: then a later run measures.
  void keep(const std::string& key, const report::KernelMeasurement& kernel);
  // All that was found or kept here.
  void forget();

 private:
  std::filesystem::path file_of(const std::string& key) const;
  std::filesystem::path folder_;
  std::vector<std::string> keys_;
};

// Equal for two jobs only where one's result may stand for the other's.
std::string key_of(const GpuJob& job, const report::KernelMeasurement& kernel,
                   const report::Gpu& gpu);

}  // namespace namesake::measure
