#include "cli/census_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "cli/bundled.h"
#include "ptx/ptx.h"
#include "util/file.h"
#include "util/text.h"

namespace namesake::cli {
namespace {

namespace fs = std::filesystem;

using Files = std::map<std::string, fs::path>;  // by the name they get

Status take(Files& files, const std::string& name, const fs::path& path) {
  auto [place, is_new] = files.emplace(name, path);
  if (is_new || place->second == path) return {};
  return error(
      fmt::format("{} and {} would both be called \"{}\": name the folder above them instead",
                  place->second.string(), path.string(), name));
}

Status take_folder(Files& files, const std::string& prefix, const fs::path& folder) {
  std::error_code failure;
  for (fs::recursive_directory_iterator it(folder, failure), end; !failure && it != end;
       it.increment(failure)) {
    if (it->path().extension() != ".ptx") continue;
    fs::path inside = it->path().lexically_relative(folder).replace_extension();
    // NAME/ptx/x.ptx is how kernels lie beside their sources; the "ptx" says nothing.
    std::string name = inside.string();
    if (name.starts_with("ptx/")) name = name.substr(4);
    TRY(take(files, prefix + name, it->path()));
  }
  if (failure) return error(fmt::format("cannot read {}: {}", folder.string(), failure.message()));
  return {};
}

Result<Files> bundled_files() {
  Files files;
  TRY_ASSIGN(std::vector<fs::path> bundled, bundled_kernels());
  for (const fs::path& file : bundled) TRY(take(files, file.stem().string(), file));
  TRY_ASSIGN(fs::path folder, kernels_folder());
  std::error_code ignored;
  if (fs::is_directory(folder / "triton", ignored)) {
    TRY(take_folder(files, "", folder / "triton"));
  }
  return files;
}

}  // namespace

Result<std::vector<KernelFile>> read_kernels(const std::vector<std::string>& words) {
  Files files;
  if (words.empty()) {
    TRY_ASSIGN(files, bundled_files());
  }
  for (const std::string& word : words) {
    fs::path path = fs::path(word).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      TRY(take_folder(files, fs::weakly_canonical(path).filename().string() + "/", path));
    } else {
      TRY(take(files, path.stem().string(), path));
    }
  }
  std::vector<KernelFile> kernels;
  for (const auto& [name, path] : files) {
    KernelFile file{name, {}, {}};
    TRY_ASSIGN(file.text, read_file(path, uint64_t{256} << 20));
    TRY_ASSIGN(ptx::Module module, ptx::parse(file.text, path.string()));
    for (const ptx::Function& function : module.functions) {
      if (function.entry && function.defined) file.kernels.push_back(function.symbol);
    }
    if (!file.kernels.empty()) kernels.push_back(std::move(file));
  }
  if (kernels.empty()) return error("no kernel in " + join(words, " "));
  return kernels;
}

Result<std::vector<toolchain::Tool>> choose_assemblers(const std::vector<std::string>& words) {
  std::vector<toolchain::Tool> tools = toolchain::find_tools(), chosen;
  bool all = words.empty() || std::find(words.begin(), words.end(), "all") != words.end();
  if (all) {
    std::copy_if(tools.begin(), tools.end(), std::back_inserter(chosen),
                 [](const toolchain::Tool& tool) { return tool.kind == toolchain::Kind::ptxas; });
    if (chosen.empty()) {
      return error("no ptxas is at hand; type: namesake toolchain add newest");
    }
  } else {
    for (const std::string& word : words) {
      TRY_ASSIGN(toolchain::Tool tool, toolchain::choose(tools, toolchain::Kind::ptxas, word));
      chosen.push_back(std::move(tool));
    }
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const toolchain::Tool& a, const toolchain::Tool& b) {
                     return compare_versions(a.version, b.version) > 0;
                   });
  std::set<std::pair<std::string, std::string>> seen;
  std::erase_if(chosen, [&](const toolchain::Tool& tool) {
    return !seen.emplace(tool.version, tool.build).second;
  });
  return chosen;
}

}  // namespace namesake::cli
