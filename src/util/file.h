// Files: read whole, written so that a half-written one is never seen, temporary folders that go
// away.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "util/error.h"

namespace namesake {

// Reads a regular file or a pipe to its end. Refuses folders and more than `limit` bytes.
Result<std::string> read_file(const std::filesystem::path& path,
                              uint64_t limit = uint64_t{4} << 30);

// Writes beside the target and renames: readers see the old file or the whole new one.
Status write_file(const std::filesystem::path& path, std::string_view content,
                  bool executable = false);

// A folder of its own below TMPDIR (or `parent`), removed with all it holds at the end of its life.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make(std::string_view name,
                                      const std::filesystem::path& parent = {});
  // The same for folders that only their maker and the programs it starts use. Those that killed
  // makers left behind, and no program of theirs uses any more, are removed on the way.
  static Result<TemporaryFolder> make_swept(std::string_view name,
                                            const std::filesystem::path& parent = {});
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  bool kept_ = false;
  int lock_ = -1;  // the folder itself, locked
};

// The running executable.
std::filesystem::path own_executable();

// $name, or "" when unset or empty.
std::string environment(const char* name);

}  // namespace namesake
