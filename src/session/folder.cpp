// A preloaded library has to lie where the loader can name and map it. LD_PRELOAD has no escape: a
// space or a colon ends the path, a dollar starts a token, and on any failure the loader prints a
// line and runs the program unhooked. A folder mounted noexec fails the same silent way. So each
// candidate is tried for real, by mapping a file from it executable.
#include "session/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "hook/protocol.h"

namespace namesake::session {
namespace fs = std::filesystem;

namespace {

std::string why_not_executable(const fs::path& folder) {
  std::string name = (folder / "namesake-exec-XXXXXX").string();
  int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return fmt::format("cannot be written to ({})", strerror(errno));
  std::string reason;
  const std::string page(4096, '\0');
  if (::write(fd, page.data(), page.size()) != static_cast<ssize_t>(page.size())) {
    reason = fmt::format("cannot be written to ({})", strerror(errno));
  } else {
    void* mapped = ::mmap(nullptr, page.size(), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED) {
      reason = fmt::format("cannot hold libraries ({}; mounted noexec?)", strerror(errno));
    } else {
      ::munmap(mapped, page.size());
    }
  }
  ::close(fd);
  ::unlink(name.c_str());
  return reason;
}

fs::path user_folder(const char* variable, const char* below_home) {
  std::string own = environment(variable);
  if (!own.empty() && own[0] == '/') return fs::path(own) / "namesake";
  std::string home = environment("HOME");
  if (!home.empty() && home[0] == '/') return fs::path(home) / below_home / "namesake";
  std::error_code code;
  fs::path base = fs::temp_directory_path(code);
  return (base.empty() ? fs::path("/tmp") : base) / fmt::format("namesake-{}", ::getuid());
}

}  // namespace

std::string why_unfit(const fs::path& folder) {
  std::string text = folder.string();
  if (text.empty() || text[0] != '/') return "is no absolute path";
  size_t bad = text.find_first_of(" :$\t\n;\"'\\");
  if (bad != std::string::npos) {
    return fmt::format("has a '{}' in its path, which LD_PRELOAD cannot hold", text[bad]);
  }
  if (text.size() + 64 > NAMESAKE_SLOT_SIZE) return "has too long a path";
  std::error_code code;
  if (!fs::is_directory(folder, code)) return "does not exist";
  return why_not_executable(folder);
}

Result<TemporaryFolder> make_run_folder(const std::vector<fs::path>& candidates) {
  std::string reasons;
  for (const fs::path& candidate : candidates) {
    if (candidate.empty()) continue;
    std::string reason = why_unfit(candidate);
    if (reason.empty()) {
      auto folder = TemporaryFolder::make("namesake", candidate);
      if (folder) return folder;
      reason = folder.error().message;
    }
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : "; ", candidate.string(), reason);
  }
  return error(
      fmt::format("no folder can hold the hook: {}. Set TMPDIR to a folder that is not "
                  "mounted noexec and has a plain path",
                  reasons));
}

Result<TemporaryFolder> make_run_folder() {
  fs::path cache = cache_folder();
  std::error_code ignored;
  fs::create_directories(cache, ignored);
  return make_run_folder(
      {environment("XDG_RUNTIME_DIR"), environment("TMPDIR"), "/tmp", "/dev/shm", cache});
}

fs::path state_folder() {
  return user_folder("XDG_STATE_HOME", ".local/state");
}
fs::path cache_folder() {
  return user_folder("XDG_CACHE_HOME", ".cache");
}

}  // namespace namesake::session
