// Assemblies made before, on disk: the second look at the same kernels costs no compiler.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "assembly/experiment.h"

namespace namesake::assembly {

class Cache {
 public:
  // An empty folder: nothing is remembered. `salt` is what every entry depends on (the hook's hash).
  Cache(std::filesystem::path folder, std::string salt) : folder_(std::move(folder)), salt_(std::move(salt)) {}
  // $XDG_CACHE_HOME/namesake/assemblies, else ~/.cache/…; empty where there is no home.
  static std::filesystem::path default_folder();

  // `key` names the trial with everything that decides its outcome.
  std::optional<Outcome> find(const std::string& key) const;
  // Successes only: a failure may be the machine's. Errors are ignored: a cache may always forget.
  void remember(const std::string& key, const Outcome& outcome) const;
  // Removes the oldest entries beyond `limit` bytes.
  void prune(uint64_t limit) const;

 private:
  std::filesystem::path file_of(const std::string& key) const;
  std::filesystem::path folder_;
  std::string salt_;
};

}  // namespace namesake::assembly
