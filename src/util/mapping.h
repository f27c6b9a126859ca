// A file's bytes without reading them all: mapped where that is possible, read where it is a pipe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "util/cursor.h"
#include "util/error.h"

namespace namesake {

class MappedFile {
 public:
  // Refuses folders. What is no regular file is read to its end, at most `pipe_limit` bytes.
  static Result<MappedFile> open(const std::filesystem::path& path,
                                 uint64_t pipe_limit = uint64_t{1} << 30);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  // Valid while the object lives, and while nobody cuts the file shorter.
  Bytes bytes() const { return address_ ? Bytes(address_, size_) : Bytes(content_); }
  // Gives the memory back by several threads: it takes 60 ms for each gigabyte that was looked at.
  void close(int workers);

 private:
  MappedFile() = default;
  const char* address_ = nullptr;
  size_t size_ = 0;
  std::string content_;  // of what could not be mapped
};

}  // namespace namesake
