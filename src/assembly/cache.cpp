// One file an outcome, CBOR, named by the hash of its key; the key stands inside too, so that a
// collision or a foreign file is a miss and never a wrong answer. Files are renamed into place.
#include "assembly/cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "util/file.h"

namespace namesake::assembly {
namespace {
namespace fs = std::filesystem;
using json = nlohmann::json;

constexpr int kFormat = 1;   // raised whenever Outcome or the meaning of a field changes

json encoded(const FunctionCode& code) {
  json result = {code.identity.high, code.identity.low, code.registers, code.stack_bytes, code.spill_store_bytes,
                 code.spill_load_bytes, code.code_bytes, code.shared_bytes};
  result.push_back(json::binary({code.code.begin(), code.code.end()}));
  json branches = json::array(), relocations = json::array();
  for (const cubin::IndirectBranch& branch : code.indirect_branches) branches.push_back({branch.offset, branch.targets});
  for (const cubin::Relocation& r : code.relocations) relocations.push_back({r.offset, r.type, r.addend, r.target});
  result.push_back(std::move(branches));
  result.push_back(std::move(relocations));
  return result;
}

FunctionCode decoded(const json& value) {
  FunctionCode code;
  code.identity = {value.at(0).get<uint64_t>(), value.at(1).get<uint64_t>()};
  code.registers = value.at(2);
  code.stack_bytes = value.at(3);
  code.spill_store_bytes = value.at(4);
  code.spill_load_bytes = value.at(5);
  code.code_bytes = value.at(6);
  code.shared_bytes = value.at(7);
  const json::binary_t& bytes = value.at(8).get_binary();
  code.code.assign(bytes.begin(), bytes.end());
  for (const json& branch : value.at(9)) {
    code.indirect_branches.push_back({branch.at(0).get<uint32_t>(), branch.at(1).get<std::vector<uint32_t>>()});
  }
  for (const json& r : value.at(10)) {
    code.relocations.push_back({r.at(0).get<uint32_t>(), r.at(1).get<uint32_t>(), r.at(2).get<int64_t>(), r.at(3).get<std::string>()});
  }
  return code;
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
  try {
    json entry = json::from_cbor(*content);
    if (entry.at("format") != kFormat || entry.at("key") != salt_ + key) return std::nullopt;
    Outcome outcome;
    outcome.diagnostics = entry.at("diagnostics");
    outcome.addresses_fixed = entry.at("fixed");
    outcome.wall_seconds = entry.at("wall");
    outcome.data = {entry.at("data").at(0).get<uint64_t>(), entry.at("data").at(1).get<uint64_t>()};
    for (auto& [symbol, value] : entry.at("functions").items()) outcome.functions.emplace(symbol, decoded(value));
    fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
    return outcome;
  } catch (const json::exception&) {
    return std::nullopt;   // torn, foreign or of another format: as good as absent
  }
}

void Cache::remember(const std::string& key, const Outcome& outcome) const {
  if (folder_.empty() || !outcome.ok()) return;
  json functions = json::object();
  for (auto& [symbol, code] : outcome.functions) functions[symbol] = encoded(code);
  std::vector<uint8_t> content;
  try {
    content = json::to_cbor({{"format", kFormat}, {"key", salt_ + key}, {"diagnostics", outcome.diagnostics},
                             {"fixed", outcome.addresses_fixed}, {"wall", outcome.wall_seconds},
                             {"data", {outcome.data.high, outcome.data.low}},
                             {"functions", std::move(functions)}});
  } catch (const json::exception&) {
    return;   // a diagnostic that is no UTF-8
  }
  fs::path file = file_of(key);
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  (void)write_file(file, {reinterpret_cast<const char*>(content.data()), content.size()});
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
