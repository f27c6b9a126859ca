// Python's package installer as a fetcher of wheels: ask for versions, download, unpack. Nothing is
// ever installed into a Python environment.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "util/error.h"

namespace namesake::toolchain {

class Pip {
 public:
  // A Python with pip: python3 itself, else a virtual environment made in a temporary folder under
  // `scratch`. The error says how to get one.
  static Result<Pip> find(const std::filesystem::path& scratch);

  // Released versions, oldest first, without pre-releases; empty where there is no such package.
  Result<std::vector<std::string>> versions(std::string_view package) const;

  // Downloads the wheels ("nvidia-cuda-nvcc==13.0.88", one each) and unpacks all into `folder`.
  Status fetch(const std::vector<std::string>& requirements, const std::filesystem::path& folder) const;

 private:
  std::vector<std::string> command_;  // that starts pip: {"python3", "-m", "pip"}
};

}  // namespace namesake::toolchain
