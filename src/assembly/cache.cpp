// One file an outcome, named by the hash of its key; the key stands inside too, so that a collision
// or a foreign file is a miss and never a wrong answer. Files are renamed into place.
#include "assembly/cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "assembly/outcome.h"
#include "util/file.h"

namespace namesake::assembly {
namespace {
namespace fs = std::filesystem;

std::string head(const std::string& key) {
  return fmt::format("{}\n{}", key.size(), key);
}

}  // namespace

fs::path Cache::default_folder() {
  std::string cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
  if (!cache.empty()) return fs::path(cache) / "namesake" / "assemblies";
  if (!home.empty()) return fs::path(home) / ".cache" / "namesake" / "assemblies";
  return {};
}

fs::path Cache::file_of(const std::string& key) const {
  std::string name = hash_bytes(salt_ + key).hex();
  return folder_ / name.substr(0, 2) / name.substr(2);
}

std::optional<Outcome> Cache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  fs::path file = file_of(key);
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::nullopt;
  auto content = read_file(file);
  if (!content) return std::nullopt;
  std::string expected = head(salt_ + key);
  if (!content->starts_with(expected)) return std::nullopt;
  std::optional<Outcome> outcome = decoded_outcome(std::string_view(*content).substr(expected.size()));
  if (!outcome) return std::nullopt;
  outcome->cpu_seconds = 0;   // this time it cost nothing
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
  return outcome;
}

void Cache::remember(const std::string& key, const Outcome& outcome) const {
  if (folder_.empty() || !outcome.ok()) return;
  fs::path file = file_of(key);
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  (void)write_file(file, head(salt_ + key) + encoded(outcome));
}

void Cache::prune(uint64_t limit) const {
  if (folder_.empty()) return;
  struct Entry {
    fs::file_time_type time;
    uint64_t size;
    fs::path path;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder_, code)) {
    std::error_code ignored;
    if (!entry.is_regular_file(ignored)) continue;
    entries.push_back({entry.last_write_time(ignored), entry.file_size(ignored), entry.path()});
    total += entries.back().size;
  }
  if (total <= limit) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.time < b.time; });
  for (const Entry& entry : entries) {
    if (total <= limit) return;
    std::error_code ignored;
    fs::remove(entry.path, ignored);
    total -= entry.size;
  }
}

}  // namespace namesake::assembly
