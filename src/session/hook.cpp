#include "session/hook.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "hook/protocol.h"
#include "session/elf.h"
#include "session/folder.h"
#include "session/library.h"
#include "util/hash.h"

namespace namesake::session {
namespace {

constexpr uint32_t kTableEntries = 16384;
constexpr uint32_t kReservedEntries = 4096;

// The whole table gets its space now: a hooked process must never meet a hole on a full disk.
Status write_table(const std::filesystem::path& path) {
  ns_table head{};
  head.magic = NAMESAKE_TABLE_MAGIC;
  head.protocol = NAMESAKE_PROTOCOL;
  head.capacity = kTableEntries;
  head.reserved_first = kTableEntries - kReservedEntries;
  TRY(write_file(path, Bytes(reinterpret_cast<const char*>(&head), sizeof head)));
  int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  off_t size = sizeof head + off_t{kTableEntries} * sizeof(ns_process);
  int failed = fd < 0 ? errno : ::posix_fallocate(fd, 0, size);
  if (fd >= 0) ::close(fd);
  if (failed) return error(fmt::format("cannot write {}: {}", path.string(), strerror(failed)));
  return {};
}

}  // namespace

Result<Hook> Hook::make(const Settings& settings, Via via) {
  TRY_ASSIGN(TemporaryFolder folder, make_run_folder());
  TRY_ASSIGN(std::string library, hook_for(folder.path(), settings.all_tests));
  TRY_ASSIGN(std::string control, encode_control(settings, folder.path()));
  // The folder's own name must not enter the key.
  TRY_ASSIGN(std::string nowhere, encode_control(settings, "/"));
  std::string key = hash_bytes(nowhere + std::string(embedded_hook(settings.all_tests))).hex();
  TRY(write_file(folder.path() / "namesake.so", library, true));
  if (settings.record) {
    TRY(write_table(folder.path() / "table"));
    if (::mkdir((folder.path() / "rings").c_str(), 0700) != 0) {
      return error(
          fmt::format("cannot make a folder in {}: {}", folder.path().string(), strerror(errno)));
    }
  }
  if (settings.guard && ::mkdir((folder.path() / "guard").c_str(), 0700) != 0) {
    return error(
        fmt::format("cannot make a folder in {}: {}", folder.path().string(), strerror(errno)));
  }
  TRY(write_file(folder.path() / "control", control));
  return Hook(std::move(folder), via, key.substr(0, 16));
}

std::vector<std::string> Hook::variables(const std::filesystem::path& target,
                                         const std::vector<std::filesystem::path>& more) const {
  std::vector<std::string> first, behind;
  for (const std::filesystem::path& each : more) behind.push_back(each.string());
  std::string before = environment(via_ == Via::preload ? "LD_PRELOAD" : "LD_AUDIT");
  for (size_t at = 0; at < before.size();) {
    size_t end =
        std::min(before.find_first_of(via_ == Via::preload ? " :" : ":", at), before.size());
    std::string library = before.substr(at, end - at);
    if (!library.empty()) (is_sanitizer(library) ? first : behind).push_back(library);
    at = end + 1;
  }
  if (via_ == Via::preload && first.empty() && !target.empty()) {
    auto elf = read_elf(target);
    for (const std::string& needed : elf ? elf->needed : std::vector<std::string>{}) {
      if (is_sanitizer(needed)) first.push_back(needed);
    }
  }
  std::string list;
  auto add = [&](const std::string& library) { list += (list.empty() ? "" : ":") + library; };
  for (const std::string& each : first) add(each);
  add(library().string());
  for (const std::string& each : behind) add(each);
  return {(via_ == Via::preload ? "LD_PRELOAD=" : "LD_AUDIT=") + list,
          NAMESAKE_SESSION_VARIABLE "=" + folder().string()};
}

}  // namespace namesake::session
