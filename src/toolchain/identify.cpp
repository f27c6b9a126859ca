// A program is asked with --version. A library, and cicc, which has no such option, carry the same
// sentence as text ("Cuda compilation tools, release 13.0, V13.0.88"): it is read from the file, for
// loading a library of 100 MB to ask it would run its constructors in our process.
#include "toolchain/identify.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "util/cursor.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::toolchain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCacheHeader = "namesake versions 1";

struct KindName {
  Kind kind;
  std::string_view name;
};
constexpr KindName kKinds[] = {{Kind::ptxas, "ptxas"},       {Kind::nvcc, "nvcc"},
                               {Kind::nvlink, "nvlink"},     {Kind::nvdisasm, "nvdisasm"},
                               {Kind::nvrtc, "libnvrtc"},    {Kind::nvjitlink, "libnvJitLink"},
                               {Kind::cicc, "cicc"}};

bool speaks_for_itself(Kind kind) {
  return kind != Kind::nvrtc && kind != Kind::nvjitlink && kind != Kind::cicc;
}

// "release 13.0, V13.0.88" and "cuda_13.0.r13.0/compiler.36424714_0" out of a text that may be binary.
struct Claim {
  std::string version, build;
};
Claim claim_in(std::string_view text) {
  auto run = [&](size_t begin, std::string_view allowed) {
    size_t end = std::min(text.find_first_not_of(allowed, begin), text.size());
    return std::string(text.substr(begin, end - begin));
  };
  Claim claim;
  constexpr std::string_view kRelease = "Cuda compilation tools, release ";
  constexpr std::string_view kDigits = "0123456789.";
  for (size_t at = 0; (at = text.find(kRelease, at)) != text.npos && claim.version.empty();) {
    at += kRelease.size();
    size_t behind = at + run(at, kDigits).size();
    if (text.substr(behind, 3) == ", V") claim.version = run(behind + 3, kDigits);
  }
  for (size_t at = 0; (at = text.find("cuda_", at)) != text.npos && claim.build.empty(); at += 5) {
    std::string build = run(at, "abcdefghijklmnopqrstuvwxyz_./0123456789");
    if (build.find("/compiler.") != build.npos) claim.build = build;
  }
  return claim;
}

Result<Claim> read_claim(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return error(fmt::format("cannot read {}: {}", path.string(), strerror(errno)));
  constexpr size_t kChunk = 1 << 20, kOverlap = 256;
  std::string window;
  Claim claim;
  while (stream && (claim.version.empty() || claim.build.empty())) {
    if (window.size() > kOverlap) window.erase(0, window.size() - kOverlap);
    size_t kept = window.size();
    window.resize(kept + kChunk);
    stream.read(window.data() + kept, kChunk);
    window.resize(kept + static_cast<size_t>(stream.gcount()));
    // The last bytes are looked at again with what follows them.
    std::string_view seen(window);
    Claim found = claim_in(stream ? seen.substr(0, seen.size() - kOverlap / 2) : seen);
    if (claim.version.empty()) claim.version = found.version;
    if (claim.build.empty()) claim.build = found.build;
  }
  if (claim.version.empty()) {
    return error(fmt::format("{} does not carry a CUDA release", path.string()));
  }
  return claim;
}

Result<Claim> ask(const fs::path& path) {
  Command command;
  command.arguments = {path.string(), "--version"};
  command.timeout = std::chrono::seconds(20);
  command.output_limit = 1 << 20;
  TRY_ASSIGN(Completed completed, run(command));
  Claim claim = claim_in(completed.out.empty() ? completed.err : completed.out);
  if (!completed.ok() || claim.version.empty()) {
    return error(fmt::format("{} --version tells no CUDA release ({})", path.string(),
                             completed.how_it_ended()));
  }
  return claim;
}

fs::path cache_file() {
  std::string folder = environment("XDG_CACHE_HOME");
  if (folder.empty()) {
    std::string home = environment("HOME");
    if (home.empty()) return {};
    folder = home + "/.cache";
  }
  return fs::path(folder) / "namesake" / "versions";
}

// Everything that changes when a file is replaced or written to.
Result<std::string> identity_of(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return error(fmt::format("{}: {}", path.string(), strerror(errno)));
  }
  if (!S_ISREG(info.st_mode)) return error(fmt::format("{} is no file", path.string()));
  return fmt::format("{}\t{}\t{}\t{}.{:09}\t{}.{:09}", path.string(), info.st_size, info.st_ino,
                     info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_ctim.tv_sec,
                     info.st_ctim.tv_nsec);
}

// Where a tool set begins: the folder above bin/, lib/ or nvvm/bin/.
fs::path root_of(const fs::path& path, Kind kind) {
  fs::path folder = path.parent_path();
  return kind == Kind::cicc ? folder.parent_path().parent_path() : folder.parent_path();
}

}  // namespace

std::string_view kind_name(Kind kind) {
  for (const KindName& each : kKinds) {
    if (each.kind == kind) return each.name;
  }
  return "";
}

std::optional<Kind> kind_of(const fs::path& file) {
  std::string name = file.filename().string();
  if (name.starts_with("ptxas")) return Kind::ptxas;
  for (std::string_view library : {"libnvrtc.so", "libnvJitLink.so"}) {
    if (name.starts_with(library)) return library == "libnvrtc.so" ? Kind::nvrtc : Kind::nvjitlink;
  }
  for (const KindName& each : kKinds) {
    if (speaks_for_itself(each.kind) || each.kind == Kind::cicc) {
      if (name == each.name) return each.kind;
    }
  }
  return std::nullopt;
}

std::optional<fs::path> on_path(std::string_view program) {
  std::string path = environment("PATH");
  for (std::string_view folder : split(path, ':')) {
    fs::path candidate = fs::path(folder) / program;
    std::error_code ignored;
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0 &&
        fs::is_regular_file(candidate, ignored)) {
      return candidate;
    }
  }
  return std::nullopt;
}

std::string host_compiler() {
  for (std::string_view name : {"g++", "clang++"}) {
    if (auto found = on_path(name)) return found->string();
  }
  return "";
}

VersionCache::VersionCache() : file_(cache_file()) {
  std::error_code ignored;
  if (file_.empty() || !fs::is_regular_file(file_, ignored)) return;
  Result<std::string> content = read_file(file_, 1 << 20);
  if (!content) return;
  Cursor cursor(*content);
  if (cursor.take_line() != kCacheHeader) return;
  while (!cursor.at_end()) {
    std::string_view line = cursor.take_line();
    // identity (five fields), version, build
    std::vector<std::string_view> fields = split(line, '\t');
    if (fields.size() != 7 || fields[5].empty()) continue;
    size_t length = static_cast<size_t>(fields[5].data() - line.data()) - 1;
    known_[std::string(line.substr(0, length))] = {std::string(fields[5]), std::string(fields[6])};
  }
}

VersionCache::~VersionCache() {
  if (!learned_ || file_.empty()) return;
  std::string content = fmt::format("{}\n", kCacheHeader);
  for (const auto& [identity, said] : known_) {
    fs::path path(identity.substr(0, identity.find('\t')));
    Result<std::string> now = identity_of(path);
    if (now && *now == identity) content += fmt::format("{}\t{}\t{}\n", identity, said.version, said.build);
  }
  std::error_code ignored;
  fs::create_directories(file_.parent_path(), ignored);
  // A cache that cannot be written costs the next start some time, nothing else.
  [[maybe_unused]] Status written = write_file(file_, content);
}

Result<Tool> VersionCache::identify(const fs::path& path, Kind kind, std::string_view source) {
  std::error_code failure;
  fs::path real = fs::canonical(path, failure);
  if (failure) return error(fmt::format("{}: {}", path.string(), failure.message()));
  TRY_ASSIGN(std::string identity, identity_of(real));
  bool storable = identity.find('\n') == identity.npos &&
                  std::count(identity.begin(), identity.end(), '\t') == 4;
  auto known = known_.find(identity);
  Claim claim;
  if (known != known_.end()) {
    claim = {known->second.version, known->second.build};
  } else {
    TRY_ASSIGN(claim, speaks_for_itself(kind) ? ask(real) : read_claim(real));
    // A tool that is a script may speak for a file elsewhere: its answer is true today only.
    std::ifstream stream(real, std::ios::binary);
    char magic[4] = {};
    stream.read(magic, sizeof magic);
    if (storable && std::memcmp(magic, "\x7f" "ELF", 4) == 0) {
      known_[identity] = {claim.version, claim.build};
      learned_ = true;
    }
  }
  Tool tool;
  tool.kind = kind;
  tool.path = real;
  tool.version = claim.version;
  tool.build = claim.build;
  tool.source = source;
  tool.root = root_of(real, kind);
  return tool;
}

Result<Tool> identify(const fs::path& path, std::string_view source) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return error(fmt::format("{}: no such file", path.string()));
  std::optional<Kind> kind = kind_of(path);
  if (!kind) kind = kind_of(fs::weakly_canonical(path, ignored));
  if (!kind) {
    return error(fmt::format("{} has the name of no tool known here (ptxas, nvcc, nvlink, nvdisasm, "
                             "cicc, libnvrtc.so, libnvJitLink.so)",
                             path.string()));
  }
  VersionCache cache;
  return cache.identify(path, *kind, source);
}

}  // namespace namesake::toolchain
