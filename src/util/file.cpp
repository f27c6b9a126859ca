#include "util/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

namespace namesake {
namespace fs = std::filesystem;

namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace

Result<std::string> read_file(const fs::path& path, uint64_t limit) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0)
    return error(fmt::format("cannot read {}: {}", path.string(), strerror(errno)));
  struct stat status {};
  if (::fstat(file.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return error(fmt::format("cannot read {}: it is a folder, give a file", path.string()));
  }
  std::string content;
  uint64_t expected = S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0;
  if (expected > limit) {
    return error(fmt::format("{} has {} bytes, more than the {} this command reads", path.string(),
                             expected, limit));
  }
  // One byte more than expected, so that the read which finds the end needs no growth.
  content.resize(expected + 1);
  size_t filled = 0;
  for (;;) {
    if (filled == content.size()) content.resize(content.size() * 2 + 65536);
    ssize_t got = ::read(file.get(), content.data() + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return error(fmt::format("cannot read {}: {}", path.string(), strerror(errno)));
    if (got == 0) break;
    filled += static_cast<size_t>(got);
    if (filled > limit) {
      return error(fmt::format("{} holds more than {} bytes", path.string(), limit));
    }
  }
  content.resize(filled);
  return content;
}

Status write_file(const fs::path& path, std::string_view content, bool executable) {
  std::string temporary = path.string() + ".XXXXXX";
  Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  auto fail = [&](const char* what) {
    int number = errno;
    ::unlink(temporary.c_str());
    return error(fmt::format("cannot {} {}: {}", what, path.string(), strerror(number)));
  };
  if (file.get() < 0) {
    return error(fmt::format("cannot write {}: {}", path.string(), strerror(errno)));
  }
  size_t written = 0;
  while (written < content.size()) {
    ssize_t put = ::write(file.get(), content.data() + written, content.size() - written);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail("write");
    written += static_cast<size_t>(put);
  }
  mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(file.get(), (executable ? 0777 : 0666) & ~mask) != 0) return fail("write");
  if (::close(file.release()) != 0) return fail("write");
  if (::rename(temporary.c_str(), path.c_str()) != 0) return fail("rename into place");
  return {};
}

namespace {

fs::path folder_for_temporaries(const fs::path& parent) {
  std::error_code ignored;
  fs::path base = parent.empty() ? fs::temp_directory_path(ignored) : parent;
  return base.empty() ? fs::path("/tmp") : base;
}

// Whoever holds the lock uses the folder. The descriptor outlives exec on purpose: the programs
// that the maker starts hold the lock too, and some outlive a maker that is killed.
int locked(const fs::path& folder) {
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (descriptor >= 0 && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  if (descriptor >= 0) ::close(descriptor);
  return -1;
}

// Removes folders of ours called NAME-XXXXXX that nobody holds.
void sweep(std::string_view name, const fs::path& base) {
  std::string prefix = fmt::format("{}-", name);
  std::error_code failure;
  for (fs::directory_iterator it(base, failure), end; !failure && it != end;
       it.increment(failure)) {
    std::string each = it->path().filename().string();
    if (each.size() != prefix.size() + 6 || !each.starts_with(prefix)) continue;
    struct stat status {};
    if (::lstat(it->path().c_str(), &status) != 0 || status.st_uid != ::geteuid()) continue;
    int lock = locked(it->path());
    if (lock < 0) continue;
    std::error_code ignored;
    fs::remove_all(it->path(), ignored);
    ::close(lock);
  }
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::make(std::string_view name, const fs::path& parent) {
  fs::path base = folder_for_temporaries(parent);
  std::string pattern = (base / fmt::format("{}-XXXXXX", name)).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    return error(fmt::format("cannot make a folder in {}: {}; set TMPDIR to one you may write",
                             base.string(), strerror(errno)));
  }
  return TemporaryFolder(pattern);
}

Result<TemporaryFolder> TemporaryFolder::make_swept(std::string_view name, const fs::path& parent) {
  static std::mutex mutex;
  static std::set<fs::path> swept;
  fs::path base = folder_for_temporaries(parent);
  {
    std::lock_guard once(mutex);
    if (swept.insert(base / name).second) sweep(name, base);
  }
  // Another process may sweep it away between its birth and its lock.
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    TRY_ASSIGN(TemporaryFolder folder, make(name, parent));
    folder.lock_ = locked(folder.path_);
    std::error_code ignored;
    if (folder.lock_ >= 0 && fs::exists(folder.path_, ignored)) return folder;
  }
  return make(name, parent);  // in a file system without locks nothing is swept either
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      kept_(other.kept_),
      lock_(std::exchange(other.lock_, -1)) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(kept_, other.kept_);
  std::swap(lock_, other.lock_);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty() && !kept_) fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

fs::path own_executable() {
  std::error_code code;
  return fs::read_symlink("/proc/self/exe", code);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace namesake
