#include "census/presence.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace namesake::census {
namespace {

constexpr off_t kFirst = off_t{1} << 44;  // no database is so large

struct flock byte_of(int64_t worker) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kFirst + worker;
  lock.l_len = 1;
  return lock;
}

}  // namespace

Result<Presence> Presence::open(const std::filesystem::path& file) {
  int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    return error(fmt::format("cannot open the ledger {}: {}", file.string(), std::strerror(errno)));
  }
  return Presence(descriptor);
}

Presence::~Presence() {
  if (file_ >= 0) ::close(file_);
}

void Presence::hold(int64_t worker) const {
  struct flock lock = byte_of(worker);
  ::fcntl(file_, F_OFD_SETLK, &lock);
}

bool Presence::held_by_another(int64_t worker) const {
  struct flock lock = byte_of(worker);
  return ::fcntl(file_, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace namesake::census
