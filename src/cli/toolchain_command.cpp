#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/output.h"
#include "report/table.h"
#include "toolchain/toolchain.h"

namespace namesake::cli {
namespace {

struct Options {
  std::vector<std::string> versions;
  bool front_end = false, versions_only = false;
  CLI::App *list = nullptr, *add = nullptr, *newest = nullptr, *releases = nullptr;
};

Result<int> list_tools(const Options& options, const Global& global) {
  std::vector<toolchain::Tool> tools = toolchain::find_tools();
  if (options.versions_only) {
    for (const toolchain::Tool& tool : tools) fmt::print("{} {}\n", toolchain::kind_name(tool.kind), tool.version);
    return 0;
  }
  if (tools.empty()) {
    fmt::print("no compiler is at hand; type: namesake toolchain add newest\n");
    return 0;
  }
  report::Table table({{"tool"}, {"version"}, {"from"}, {"build", false, 2, 12}, {"path", false, 1, 20}});
  for (const toolchain::Tool& tool : tools) {
    table.add({{std::string(toolchain::kind_name(tool.kind))}, {tool.version, report::Tone::bold}, {tool.source},
               {tool.build, report::Tone::dim}, {tool.path.string(), report::Tone::dim}});
  }
  report::TextStyle style = text_style(global);
  fmt::print("{}", table.text(static_cast<size_t>(style.width), style.color));
  fmt::print("\nadd another release: namesake toolchain add 12.9.86 (available: namesake toolchain releases)\n");
  return 0;
}

Result<int> add_releases(std::vector<std::string> versions, bool front_end) {
  for (std::string& version : versions) {
    fmt::print(stderr, "adding {} …\n", version);
    TRY_ASSIGN(toolchain::Added added, toolchain::add(version, front_end));
    for (const toolchain::Tool& tool : added.tools) {
      fmt::print("{} {} {}\n", toolchain::kind_name(tool.kind), tool.version, tool.path.string());
    }
    if (added.was_there) fmt::print("{} was there already\n", added.version);
  }
  return 0;
}

Result<int> list_releases() {
  TRY_ASSIGN(std::vector<std::string> releases, toolchain::available_releases());
  for (const std::string& release : releases) fmt::print("{}\n", release);
  return 0;
}

}  // namespace

Command add_toolchain(CLI::App& root, const Global& global) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("toolchain", "The assemblers and front ends at hand, and how to get others");
  app->require_subcommand(1);
  options->list = app->add_subcommand("list", "what is at hand, from where, with version and build id");
  options->list->add_flag("--versions", options->versions_only, "only kind and version, for scripts");
  options->add = app->add_subcommand("add", "get releases from PyPI into the project's own folder; the system is never touched");
  options->add->add_option("versions", options->versions, "releases, for example 12.9.86 13.0.88, newest, or nvdisasm")->required()->type_name("VERSION");
  options->add->add_flag("--front-end", options->front_end, "also what compiles CUDA C++ (nvcc, cicc, headers)");
  options->newest = app->add_subcommand("newest", "get the newest release");
  options->releases = app->add_subcommand("releases", "every release that can be added");
  app->footer("Example:\n  namesake toolchain add 12.9.86 13.0.88 newest");
  Command command;
  command.app = app;
  command.run = [options, &global]() -> Result<int> {
    if (options->list->parsed()) return list_tools(*options, global);
    if (options->releases->parsed()) return list_releases();
    if (options->newest->parsed()) return add_releases({"newest"}, false);
    return add_releases(options->versions, options->front_end);
  };
  return command;
}

}  // namespace namesake::cli
