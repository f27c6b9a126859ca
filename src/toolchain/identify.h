// Which tool a file is and which version, remembered between runs.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "toolchain/toolchain.h"

namespace namesake::toolchain {

// By name: ptxas, ptxas-blackwell, nvcc, libnvrtc.so.13, …; nothing for any other file.
std::optional<Kind> kind_of(const std::filesystem::path& file);

// The host compiler that nvcc uses: g++, else clang++; empty where PATH has neither.
std::string host_compiler();

// On PATH and executable.
std::optional<std::filesystem::path> on_path(std::string_view program);

// What tools said about themselves, kept in the user's cache folder. A line holds for one file as it
// is: path, size, inode and both times must agree, so a replaced tool is asked again.
class VersionCache {
 public:
  VersionCache();   // read from the cache folder; anything unreadable counts as empty
  ~VersionCache();  // written back if something was learned
  VersionCache(const VersionCache&) = delete;
  VersionCache& operator=(const VersionCache&) = delete;

  Result<Tool> identify(const std::filesystem::path& path, Kind kind, std::string_view source);

 private:
  struct Said {
    std::string version, build;
  };
  std::filesystem::path file_;
  std::map<std::string, Said> known_;  // by the file's identity
  bool learned_ = false;
};

}  // namespace namesake::toolchain
