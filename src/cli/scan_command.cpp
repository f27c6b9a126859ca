#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/diff_command.h"
#include "cli/output.h"
#include "report/json.h"
#include "report/text.h"
#include "study/scan.h"
#include "util/file.h"
#include "util/interrupt.h"
#include "util/pool.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::cli {
namespace {

struct Options {
  std::vector<std::string> files, architectures, deny;
  std::string kernel, explain, json;
  int jobs = available_processors();
  bool list = false;
};

// The file as it was given, of what lies in it.
std::string given_file(const report::Scan& scan, const report::ScannedFunction& function) {
  const std::string& container = scan.containers[static_cast<size_t>(function.container)].name;
  for (const std::string& file : scan.files) {
    if (container == file || container.starts_with(file + "(")) return file;
  }
  return container;
}

// To see what the name does where there is PTX, else to see the kernels, and all of them at last.
std::string next_command(const report::Scan& scan, const Options& options) {
  for (const report::ScannedFunction& function : scan.functions) {
    const report::ScannedSymbol& symbol = scan.symbols[static_cast<size_t>(function.symbol)];
    if (function.code || symbol.triggers.empty()) continue;
    return "namesake scan " + quoted({given_file(scan, function), "--explain", symbol.symbol});
  }
  if (options.list || scan.functions.empty()) return "";
  for (const report::ScannedFunction& function : scan.functions) {
    const report::ScannedSymbol& symbol = scan.symbols[static_cast<size_t>(function.symbol)];
    if (symbol.triggers.empty()) continue;
    return "namesake scan " + quoted({given_file(scan, function), "--kernel",
                                      "*" + symbol.triggers.front().trigger + "*", "--list"});
  }
  return "namesake scan " + quoted({given_file(scan, scan.functions.front()), "--list"});
}

// The PTX stays where it is written: what diff says to type next needs it.
Result<int> explain(const Options& options, const Global& global, study::ScanRequest request) {
  request.kernel_glob = options.explain;
  TRY_ASSIGN(study::CarriedPtx ptx, study::find_ptx(request));
  TRY_ASSIGN(TemporaryFolder folder, TemporaryFolder::make("namesake-scan"));
  std::filesystem::path file =
      folder.path() /
      fmt::format("{}.{}.ptx",
                  std::filesystem::path(ptx.container).filename().string().substr(0, 64),
                  ptx.target);
  TRY(write_file(file, ptx.text));
  folder.keep();
  fmt::print(stderr, "{}: the PTX for {} is written to {}\n", ptx.container, ptx.target,
             file.string());
  if (!ptx.options.empty())
    fmt::print(stderr, "it was assembled with {}; diff assembles it without\n",
               trimmed(ptx.options));
  return diff_kernel(file.string(), ptx.kernel, global);
}

Result<int> run_scan(const Options& options, const Global& global) {
  catch_interrupts();
  for (const std::string& text : options.deny) {
    if (text.empty())
      return error(
          "--deny got an empty text, which stands in every symbol or in none; give a word");
  }
  study::ScanRequest request;
  request.files.assign(options.files.begin(), options.files.end());
  request.denied = options.deny;
  request.kernel_glob = options.kernel;
  request.architectures = options.architectures;
  request.detailed = options.list || !options.json.empty();
  request.workers = options.jobs;
  request.stop = [] { return interrupted(); };
  if (!options.explain.empty()) return explain(options, global, std::move(request));

  Progress progress(!global.quiet);
  request.progress = [&](std::string_view text) { progress.update(text); };
  TRY_ASSIGN(report::Scan scan, study::scan(request));
  progress.clear();
  scan.command = own_command_line();
  scan.denied = options.deny;
  std::vector<std::string> filter;
  if (!options.kernel.empty()) filter.push_back(fmt::format("called \"{}\"", options.kernel));
  if (!options.architectures.empty())
    filter.push_back("for " + join(options.architectures, " or "));
  scan.filter = join(filter, " and ");
  scan.next_command = next_command(scan, options);
  if (!options.json.empty()) TRY(write_output(options.json, report::to_json(scan)));
  if (options.json != "-") {
    report::TextStyle style = text_style(global);
    style.verbose = options.list;
    fmt::print("{}", report::to_text(scan, style));
  }
  for (const std::string& denied : options.deny) {
    if (report::carrying(scan, denied) > 0) return 1;
  }
  return scan.problems.empty() ? 0 : 2;  // what was not read may hold anything
}

}  // namespace

Command add_scan(CLI::App& root, const Global& global) {
  auto options = std::make_shared<Options>();
  CLI::App* app =
      root.add_subcommand("scan",
                          "The kernels of any program, library, archive, wheel, fatbin, cubin or "
                          "PTX, and where a trigger stands in their symbols");
  app->add_option("files", options->files, "what to look into")->required()->type_name("FILE");
  app->add_flag("--list", options->list, "every kernel on a line of its own");
  app->add_option("--kernel", options->kernel,
                  "only kernels whose symbol or readable name matches, for example '*gemm*'")
      ->type_name("GLOB");
  app->add_option("--arch", options->architectures,
                  "only for these architectures, for example sm_80,sm_90a")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("SM");
  app->add_option("--deny", options->deny,
                  "exit 1 if a symbol holds this text, for example cutlass")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("TRIGGER");
  app->add_option(
         "--explain", options->explain,
         "take this kernel's PTX out of the file and show what its name does to it, as diff does")
      ->type_name("KERNEL");
  app->add_option("--json", options->json, "write everything as JSON to this file (- for stdout)")
      ->type_name("FILE");
  app->add_option("-j,--jobs", options->jobs, "workers")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str()
      ->type_name("N");
  app->footer(
      "Examples:\n  namesake scan libmine.so\n  namesake scan wheelhouse/*.whl --deny cutlass\n  "
      "namesake scan libmine.so --explain 'mine::gemm*'\n"
      "Exit status: 0 all was read, 1 a denied text was found, 2 something could not be read.");
  Command command;
  command.app = app;
  command.run = [options, &global] { return run_scan(*options, global); };
  return command;
}

}  // namespace namesake::cli
