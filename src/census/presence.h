// Who is still at work on a ledger, told by locks: each worker holds one byte of the file, far
// behind its end, and the kernel drops it with the process, however that ends. So a claim by a
// process that was killed is free at once, and one by a process in another container is not
// mistaken for dead.
//
// The locks belong to the open file (F_OFD_SETLK), not to the process as SQLite's own do; closing
// any descriptor of the file would drop those, so a Presence must outlive the database it watches
// over.
#pragma once

#include <cstdint>
#include <filesystem>

#include "util/error.h"

namespace namesake::census {

class Presence {
 public:
  static Result<Presence> open(const std::filesystem::path& file);
  Presence(Presence&& other) noexcept : file_(other.file_) { other.file_ = -1; }
  Presence& operator=(Presence&&) = delete;
  ~Presence();

  // Where the file system knows no locks nothing is held, and work may be done twice, never lost.
  void hold(int64_t worker) const;
  bool held_by_another(int64_t worker) const;

 private:
  explicit Presence(int file) : file_(file) {}
  int file_;
};

}  // namespace namesake::census
