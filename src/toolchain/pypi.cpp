// Releases as NVIDIA puts them on PyPI, and how they come into the store.
//
// One folder of the store is one thing that was asked for: "13.0.88" (the assembler), "nvcc-13.0.88"
// (all that compiles CUDA), "nvdisasm-13.5.37". It is filled under a hidden name beside its place,
// its tools are asked their version there, and only then it is renamed into place; so a folder with
// a plain name is whole. A lock file makes a second process wait for the first instead of fetching
// the same; where locks do not work (some network file systems), both fetch and one rename wins.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "toolchain/pip.h"
#include "toolchain/toolchain.h"
#include "util/file.h"
#include "util/pool.h"
#include "util/text.h"

namespace namesake::toolchain {
namespace {

namespace fs = std::filesystem;

// What can be asked for, and the package that carries it for each generation of CUDA.
struct Product {
  std::string_view name;
  Kind kind;
  std::string_view cuda11, cuda12, cuda13;  // empty: PyPI has none
};
constexpr std::array kProducts = {
    Product{"ptxas", Kind::ptxas, "nvidia-cuda-nvcc-cu11", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc"},
    Product{"nvcc", Kind::nvcc, "", "", "nvidia-cuda-nvcc"},
    Product{"nvdisasm", Kind::nvdisasm, "", "", "nvidia-cuda-nvdisasm"},
    Product{"nvrtc", Kind::nvrtc, "nvidia-cuda-nvrtc-cu11", "nvidia-cuda-nvrtc-cu12",
            "nvidia-cuda-nvrtc"},
    Product{"nvjitlink", Kind::nvjitlink, "", "nvidia-nvjitlink-cu12", "nvidia-nvjitlink"}};

struct Wish {
  const Product* product = nullptr;
  std::string release;  // "newest", "13", "13.0", "13.0.88"
  std::string folder_name(std::string_view version) const {
    return product->kind == Kind::ptxas ? std::string(version)
                                        : fmt::format("{}-{}", product->name, version);
  }
};

Result<Wish> understood(std::string_view text, bool with_front_end) {
  Wish wish;
  wish.product = &kProducts[with_front_end ? 1 : 0];
  wish.release = text;
  for (const Product& product : kProducts) {
    if (!text.starts_with(product.name)) continue;
    std::string_view rest = text.substr(product.name.size());
    if (!rest.empty() && rest[0] != '-') continue;
    wish.product = &product;
    wish.release = rest.empty() ? "newest" : rest.substr(1);
  }
  bool number = !wish.release.empty() &&
                wish.release.find_first_not_of("0123456789.") == std::string::npos;
  if (number || wish.release == "newest") return wish;
  return error(fmt::format("'{}' is no release: write 13.0, 13.0.88, newest, or nvcc-, nvdisasm-, "
                           "nvrtc- or nvjitlink- before one",
                           text));
}

std::string_view package_of(const Product& product, std::string_view version) {
  std::string_view generation = version.substr(0, version.find('.'));
  if (generation == "11") return product.cuda11;
  if (generation == "12") return product.cuda12;
  return product.cuda13;
}

Result<std::string> release_that_fits(const Pip& pip, const Wish& wish) {
  bool exact = split(wish.release, '.').size() >= 3;
  std::string_view package = package_of(*wish.product, wish.release);
  if (package.empty()) {
    return error(fmt::format("PyPI has no {} of CUDA {}", wish.product->name, wish.release));
  }
  if (exact) return wish.release;  // fetching tells
  TRY_ASSIGN(std::vector<std::string> releases, pip.versions(package));
  for (auto release = releases.rbegin(); release != releases.rend(); ++release) {
    if (wish.release == "newest" || (*release + ".").starts_with(wish.release + ".")) return *release;
  }
  return error(fmt::format("PyPI has no {} {}; it has {}", wish.product->name, wish.release,
                           join(releases, " ")));
}

// Two numbers of three: the release of CUDA that a version belongs to.
std::string cuda_of(std::string_view version) {
  std::vector<std::string_view> parts = split(version, '.');
  return parts.size() < 2 ? std::string(version) : fmt::format("{}.{}", parts[0], parts[1]);
}

std::vector<std::string> requirements_of(const Wish& wish, const std::string& version) {
  std::vector<std::string> all = {
      fmt::format("{}=={}", package_of(*wish.product, version), version)};
  if (wish.product->kind != Kind::nvcc) return all;
  std::string cuda = cuda_of(version);
  all.push_back(fmt::format("nvidia-cuda-crt=={}", version));
  all.push_back(fmt::format("nvidia-nvvm=={}", version));
  all.push_back(fmt::format("nvidia-cuda-runtime=={}.*", cuda));
  // CCCL counts for itself since CUDA 13.3: its 3.3 belongs to 13.3, its 3.4 to 13.4.
  std::string minor = cuda.substr(cuda.find('.') + 1);
  bool own_count = parse_integer(minor).value_or(0) >= 3;
  all.push_back(fmt::format("nvidia-cuda-cccl=={}.*", own_count ? "13.3." + minor : cuda));
  return all;
}

std::vector<Tool> tools_below(const fs::path& folder) {
  std::vector<Tool> tools;
  for (const Tool& tool : find_tools()) {
    fs::path relative = tool.path.lexically_relative(folder);
    if (!relative.empty() && *relative.begin() != "..") tools.push_back(tool);
  }
  return tools;
}

// Where the store has it already; the set that compiles CUDA holds the release's ptxas too.
std::optional<fs::path> at_hand(const Wish& wish, const std::string& version) {
  std::error_code ignored;
  for (const std::string& name : {wish.folder_name(version), "nvcc-" + version}) {
    bool holds = name == wish.folder_name(version) || wish.product->kind == Kind::ptxas;
    if (holds && fs::exists(store() / name, ignored)) return store() / name;
  }
  return std::nullopt;
}

class Lock {
 public:
  explicit Lock(const fs::path& file)
      : file_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (file_ >= 0) ::flock(file_, LOCK_EX);
  }
  ~Lock() {
    if (file_ >= 0) ::close(file_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

// The one file that shows that a folder is what was asked for.
Result<Tool> main_tool(const fs::path& folder, Kind kind) {
  std::error_code failure;
  for (fs::recursive_directory_iterator it(folder, failure), end; !failure && it != end;
       it.increment(failure)) {
    std::string name = it->path().filename().string();
    bool library = kind == Kind::nvrtc || kind == Kind::nvjitlink;
    bool fits = library ? name.starts_with(fmt::format("{}.so", kind_name(kind)))
                        : name == kind_name(kind) && it->path().parent_path().filename() == "bin";
    if (fits) return identify(it->path(), "project");
  }
  return error(fmt::format("the packages hold no {}", kind_name(kind)));
}

Status install(const Pip& pip, const Wish& wish, const std::string& version, const fs::path& place) {
  TRY_ASSIGN(TemporaryFolder scratch, TemporaryFolder::make(".adding", store()));
  fs::path folder = scratch.path() / "release";
  fs::create_directories(folder);
  TRY(pip.fetch(requirements_of(wish, version), folder));
  TRY_ASSIGN(Tool tool, main_tool(folder, wish.product->kind));
  if (tool.version != version) {
    return error(fmt::format("the package says {} and its {} says {}; nothing was added", version,
                             kind_name(tool.kind), tool.version));
  }
  std::error_code failure;
  fs::rename(folder, place, failure);
  // Somebody without our lock was faster: theirs is as good.
  if (failure && !fs::exists(place)) {
    return error(fmt::format("cannot rename into {}: {}", place.string(), failure.message()));
  }
  return {};
}

}  // namespace

Result<Added> add(std::string_view text, bool with_front_end) {
  TRY_ASSIGN(Wish wish, understood(text, with_front_end));
  std::error_code failure;
  fs::create_directories(store(), failure);
  if (failure || ::access(store().c_str(), W_OK | X_OK) != 0) {
    return error(fmt::format("cannot write to {}: {}; name another folder in NAMESAKE_TOOLCHAINS",
                             store().string(), failure ? failure.message() : strerror(errno)));
  }

  Added added;
  std::optional<fs::path> place;
  if (split(wish.release, '.').size() >= 3) {  // exact: nobody need be asked
    added.version = wish.release;
    place = at_hand(wish, wish.release);
    added.was_there = place.has_value();
  }
  if (!place) {
    TRY_ASSIGN(TemporaryFolder scratch, TemporaryFolder::make(".pip", store()));
    TRY_ASSIGN(Pip pip, Pip::find(scratch.path()));
    TRY_ASSIGN(added.version, release_that_fits(pip, wish));
    std::string name = wish.folder_name(added.version);
    Lock lock(store() / ("." + name + ".lock"));
    place = at_hand(wish, added.version);
    added.was_there = place.has_value();
    if (!place) {
      place = store() / name;
      TRY(install(pip, wish, added.version, *place));
    }
  }
  added.tools = tools_below(fs::canonical(*place, failure));
  return added;
}

Result<std::vector<std::string>> available_releases() {
  TRY_ASSIGN(TemporaryFolder scratch, TemporaryFolder::make("namesake-pip"));
  TRY_ASSIGN(Pip pip, Pip::find(scratch.path()));
  const Product& product = kProducts[0];
  std::array packages = {product.cuda11, product.cuda12, product.cuda13};
  std::array<Result<std::vector<std::string>>, packages.size()> found;
  for_each_parallel(packages.size(), static_cast<int>(packages.size()),
                    [&](size_t i) { found[i] = pip.versions(packages[i]); });
  std::vector<std::string> all;
  for (auto& each : found) {
    TRY_ASSIGN(std::vector<std::string> versions, std::move(each));
    all.insert(all.end(), versions.begin(), versions.end());
  }
  return all;
}

Result<std::string> newest_release() {
  TRY_ASSIGN(TemporaryFolder scratch, TemporaryFolder::make("namesake-pip"));
  TRY_ASSIGN(Pip pip, Pip::find(scratch.path()));
  return release_that_fits(pip, {&kProducts[0], "newest"});
}

}  // namespace namesake::toolchain
