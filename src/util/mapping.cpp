#include "util/mapping.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "util/file.h"
#include "util/pool.h"

namespace namesake {

Result<MappedFile> MappedFile::open(const std::filesystem::path& path, uint64_t pipe_limit) {
  MappedFile file;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return error(fmt::format("cannot read {}: {}", path.string(), strerror(errno)));
  }
  if (!S_ISREG(status.st_mode) || status.st_size == 0) {
    TRY_ASSIGN(file.content_, read_file(path, pipe_limit));
    return file;
  }
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return error(fmt::format("cannot read {}: {}", path.string(), strerror(errno)));
  auto size = static_cast<size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  int number = errno;
  ::close(descriptor);
  if (address == MAP_FAILED)
    return error(fmt::format("cannot map {}: {}", path.string(), strerror(number)));
  ::madvise(address, size, MADV_WILLNEED);
  file.address_ = static_cast<const char*>(address);
  file.size_ = size;
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)),
      size_(other.size_),
      content_(std::move(other.content_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  std::swap(content_, other.content_);
  return *this;
}

MappedFile::~MappedFile() {
  if (address_) ::munmap(const_cast<char*>(address_), size_);
}

void MappedFile::close(int workers) {
  constexpr size_t kPart = size_t{64} << 20;
  for_each_parallel((size_ + kPart - 1) / kPart, workers, [&](size_t i) {
    Bytes part = bytes().substr(i * kPart, kPart);
    ::madvise(const_cast<char*>(part.data()), part.size(), MADV_DONTNEED);
  });
  MappedFile closed;
  std::swap(*this, closed);
}

}  // namespace namesake
