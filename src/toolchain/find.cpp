// Tools are looked for where they are installed, in an order of trust: what the user pointed at and
// what this project fetched first, then what the system and Python environments happen to have. Only
// folders are listed; the one costly step, asking each tool its version, is remembered.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "toolchain/identify.h"
#include "toolchain/toolchain.h"
#include "util/file.h"
#include "util/text.h"

namespace namesake::toolchain {
namespace {

namespace fs = std::filesystem;

// Subfolders (or files) whose name matches, sorted; nothing where the folder cannot be read.
std::vector<fs::path> matching(const fs::path& folder, std::string_view pattern) {
  std::vector<fs::path> found;
  std::error_code failure;
  for (fs::directory_iterator it(folder, failure), end; !failure && it != end; it.increment(failure)) {
    if (glob_match(pattern, it->path().filename().string())) found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

class Finder {
 public:
  Survey run() {
    stored();
    for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
      if (std::string root = environment(name); !root.empty()) tool_set(root, name);
    }
    for (const fs::path& root : matching("/usr/local", "cuda*")) tool_set(root, root.string());
    path();
    python();
    std::stable_sort(survey_.tools.begin(), survey_.tools.end(), [](const Tool& a, const Tool& b) {
      return compare_versions(a.version, b.version) > 0;
    });
    return std::move(survey_);
  }

 private:
  void file(const fs::path& path, std::string_view source) {
    std::optional<Kind> kind = kind_of(path);
    std::error_code failure;
    fs::path real = fs::canonical(path, failure);
    if (!kind || failure || !fs::is_regular_file(real, failure) || !seen_.insert(real).second) return;
    Result<Tool> tool = cache_.identify(path, *kind, source);
    if (tool) {
      survey_.tools.push_back(std::move(*tool));
    } else {
      survey_.broken.push_back({path, tool.error().message});
    }
  }

  void folder(const fs::path& folder, std::string_view source, std::string_view pattern) {
    for (const fs::path& each : matching(folder, pattern)) file(each, source);
  }

  void programs(const fs::path& bin, std::string_view source) {
    for (std::string_view name : {"ptxas", "ptxas-blackwell", "nvlink", "nvdisasm"}) {
      file(bin / name, source);
    }
    // The wheel of ptxas has an nvcc too, which compiles nothing without cicc from another wheel.
    std::error_code ignored;
    bool wheel = source == "project" || source == "python";
    if (!wheel || fs::exists(bin.parent_path() / "nvvm" / "bin" / "cicc", ignored)) {
      file(bin / "nvcc", source);
    }
  }

  // A CUDA installation, or the nvidia/cu13 folder that NVIDIA's wheels fill together.
  void tool_set(const fs::path& root, std::string_view source) {
    programs(root / "bin", source);
    file(root / "nvvm" / "bin" / "cicc", source);
    for (std::string_view lib : {"lib64", "lib"}) {
      folder(root / lib, source, "libnvrtc.so*");
      folder(root / lib, source, "libnvJitLink.so*");
    }
  }

  void wheels(const fs::path& site, std::string_view source) {
    for (const fs::path& root : matching(site / "nvidia", "*")) tool_set(root, source);
  }

  void stored() {
    for (const fs::path& release : matching(store(), "*")) {
      std::string name = release.filename().string();
      if (name.starts_with('.')) continue;  // unfinished
      // The set that compiles CUDA holds the same ptxas as the release alone.
      std::error_code ignored;
      if (fs::exists(store() / ("nvcc-" + name), ignored)) continue;
      wheels(release, "project");
    }
  }

  void path() {
    std::string path = environment("PATH");
    for (std::string_view folder : split(path, ':')) {
      if (folder.empty()) continue;
      programs(folder, "PATH");
    }
  }

  void python() {
    std::vector<fs::path> prefixes;
    for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
      if (std::string root = environment(name); !root.empty()) prefixes.push_back(root);
    }
    if (auto program = on_path("python3")) {
      prefixes.push_back(program->parent_path().parent_path());  // before links: a virtual environment's
      std::error_code failure;
      fs::path real = fs::canonical(*program, failure);
      if (!failure) prefixes.push_back(real.parent_path().parent_path());
    }
    std::string home = environment("HOME");
    if (!home.empty()) {
      prefixes.push_back(fs::path(home) / ".local");
      for (const fs::path& each : matching(fs::path(home) / ".pyenv" / "versions", "*")) {
        prefixes.push_back(each);
      }
    }
    prefixes.push_back("/usr/local");
    prefixes.push_back("/usr");
    for (const fs::path& prefix : prefixes) {
      for (const fs::path& lib : matching(prefix / "lib", "python3*")) {
        for (std::string_view packages : {"site-packages", "dist-packages"}) {
          fs::path site = lib / packages;
          programs(site / "triton" / "backends" / "nvidia" / "bin", "triton");
          programs(site / "triton" / "third_party" / "cuda" / "bin", "triton");
          wheels(site, "python");
        }
      }
    }
  }

  Survey survey_;
  std::set<fs::path> seen_;
  VersionCache cache_;
};

std::string command_that_adds(Kind kind, std::string_view wish) {
  std::string release = wish.empty() || wish == "newest" ? "" : std::string(wish);
  switch (kind) {
    case Kind::nvcc:
    case Kind::cicc:
      return fmt::format("namesake toolchain add nvcc-{}", release.empty() ? "newest" : release);
    case Kind::nvdisasm:
      return "namesake toolchain add nvdisasm";
    case Kind::nvrtc:
      return fmt::format("namesake toolchain add nvrtc-{}", release.empty() ? "newest" : release);
    case Kind::nvjitlink:
      return fmt::format("namesake toolchain add nvjitlink-{}", release.empty() ? "newest" : release);
    default:
      return fmt::format("namesake toolchain add {}", release.empty() ? "newest" : release);
  }
}

// 13.0 is the beginning of 13.0.88, and 13 too, but 1 is not.
bool begins_with_release(std::string_view version, std::string_view wish) {
  return version == wish || (version.starts_with(wish) && version.substr(wish.size()).starts_with('.'));
}

}  // namespace

Survey survey() { return Finder().run(); }

std::vector<Tool> find_tools() { return survey().tools; }

fs::path store() {
  if (std::string given = environment("NAMESAKE_TOOLCHAINS"); !given.empty()) return given;
  fs::path folder = own_executable().parent_path();
  for (int up = 0; up < 2 && !folder.empty(); ++up, folder = folder.parent_path()) {
    std::error_code ignored;
    if (fs::exists(folder / "CMakeCache.txt", ignored)) return folder / "toolchains";
  }
  std::string data = environment("XDG_DATA_HOME");
  if (data.empty()) data = environment("HOME") + "/.local/share";
  return fs::path(data) / "namesake" / "toolchains";
}

Result<Tool> choose(const std::vector<Tool>& tools, Kind kind, std::string_view wish) {
  if (wish.find('/') != wish.npos) {
    Result<Tool> tool = identify(fs::path(wish));
    if (tool && tool->kind != kind) {
      return error(fmt::format("{} is {}, not {}", wish, kind_name(tool->kind), kind_name(kind)));
    }
    return tool;
  }
  std::vector<std::string> at_hand;
  for (const Tool& tool : tools) {
    if (tool.kind != kind) continue;
    if (wish.empty() || wish == "newest" || wish == tool.source ||
        begins_with_release(tool.version, wish)) {
      return tool;
    }
    at_hand.push_back(fmt::format("{} ({})", tool.version, tool.source));
  }
  std::string missing = wish.empty() || wish == "newest" ? "" : fmt::format(" {}", wish);
  bool release = missing.empty() || (wish[0] >= '0' && wish[0] <= '9');
  return error(fmt::format("no {}{} at hand{}{}{}", kind_name(kind), missing,
                           at_hand.empty() ? "" : "; there are ", join(at_hand, ", "),
                           release ? fmt::format("; get it with: {}", command_that_adds(kind, wish))
                                   : std::string()));
}

}  // namespace namesake::toolchain
