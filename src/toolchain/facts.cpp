// What a person must know about this machine before the assemblers can be used, each with its cure.
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "toolchain/identify.h"
#include "toolchain/toolchain.h"
#include "util/file.h"
#include "util/text.h"

namespace namesake::toolchain {
namespace {

namespace fs = std::filesystem;

std::vector<const Tool*> of_kind(const Survey& survey, Kind kind) {
  std::vector<const Tool*> found;
  for (const Tool& tool : survey.tools) {
    if (tool.kind == kind) found.push_back(&tool);
  }
  return found;
}

std::string listed(const std::vector<const Tool*>& tools) {
  std::vector<std::string> words;
  for (const Tool* tool : tools) words.push_back(fmt::format("{} ({})", tool->version, tool->source));
  return words.empty() ? "none at hand" : join(words, ", ");
}

Fact about_assemblers(const Survey& survey) {
  std::vector<const Tool*> tools = of_kind(survey, Kind::ptxas);
  return {"ptxas", !tools.empty(), listed(tools), tools.empty() ? "namesake toolchain add newest" : ""};
}

// An older nvdisasm leaves out instructions it does not know, and says nothing.
Fact about_disassembler(const Survey& survey) {
  std::vector<const Tool*> tools = of_kind(survey, Kind::nvdisasm);
  std::vector<const Tool*> assemblers = of_kind(survey, Kind::ptxas);
  Fact fact{"nvdisasm", !tools.empty(), listed(tools), ""};
  if (!tools.empty() && !assemblers.empty() &&
      compare_versions(tools[0]->version, assemblers[0]->version) < 0) {
    fact.good = false;
    fact.what = fmt::format("{} is older than ptxas {}: it may leave out instructions",
                            tools[0]->version, assemblers[0]->version);
  }
  if (!fact.good) fact.cure = "namesake toolchain add nvdisasm";
  return fact;
}

// nvcc is useless without the parts that its wheels or packages bring apart from it.
Fact about_front_end(const Survey& survey) {
  std::vector<const Tool*> tools = of_kind(survey, Kind::nvcc);
  Fact fact{"nvcc", false, listed(tools), "namesake toolchain add nvcc-newest"};
  for (const Tool* tool : tools) {
    std::vector<std::string> missing;
    for (std::string_view part : {"nvvm/bin/cicc", "nvvm/libdevice", "include/cuda_runtime.h"}) {
      std::error_code ignored;
      bool there = fs::exists(tool->root / part, ignored) ||
                   fs::exists(tool->root / "targets/x86_64-linux" / part, ignored);
      if (!there) missing.emplace_back(part);
    }
    if (missing.empty()) return {"nvcc", true, listed(tools), ""};
    fact.what = fmt::format("{} lacks {} in {}", tool->version, join(missing, " and "),
                            tool->root.string());
  }
  return fact;
}

Fact about_host_compiler() {
  std::string compiler = host_compiler();
  if (!compiler.empty()) return {"host compiler", true, compiler, ""};
  return {"host compiler", false, "PATH has neither g++ nor clang++; nvcc needs one",
          "apt-get install g++"};
}

Fact about_store() {
  fs::path folder = store(), existing = folder;
  std::error_code ignored;
  while (!fs::exists(existing, ignored) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  struct statvfs info {};
  if (::access(existing.c_str(), W_OK | X_OK) != 0) {
    return {"store", false, fmt::format("{} is not writable", folder.string()),
            "name another folder in NAMESAKE_TOOLCHAINS"};
  }
  if (::statvfs(existing.c_str(), &info) == 0 && (info.f_flag & ST_NOEXEC)) {
    return {"store", false,
            fmt::format("{} lies on a file system mounted noexec: tools cannot run there",
                        folder.string()),
            "name another folder in NAMESAKE_TOOLCHAINS"};
  }
  return {"store", true, folder.string(), ""};
}

Fact about_python() {
  if (auto found = on_path("python3")) return {"python3", true, found->string(), ""};
  return {"python3", false, "none on PATH; its pip fetches the compilers",
          "apt-get install python3-pip"};
}

}  // namespace

std::vector<Fact> facts(const Survey& survey) {
  std::vector<Fact> all = {about_assemblers(survey), about_disassembler(survey),
                           about_front_end(survey),  about_host_compiler(),
                           about_store(),            about_python()};
  for (const BrokenTool& broken : survey.broken) {
    all.push_back({broken.path.filename().string(), false, broken.why,
                   fmt::format("remove or reinstall {}", broken.path.string())});
  }
  return all;
}

}  // namespace namesake::toolchain
