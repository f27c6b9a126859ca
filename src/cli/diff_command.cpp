#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

#include "cli/answering_hooks.h"
#include "cli/bundled.h"
#include "cli/command.h"
#include "cli/diff_command.h"
#include "cli/output.h"
#include "report/html.h"
#include "report/json.h"
#include "report/text.h"
#include "assembly/cache.h"
#include "study/diff.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/interrupt.h"
#include "util/pool.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::cli {
namespace {

struct Options {
  std::vector<std::string> files, architectures, front_end_options, fail_on;
  std::string kernel, assembler = "newest", disassembler = "newest", front_end = "newest";
  std::string a, b, json, html;
  int opt_level = 3, draws = 0, timeout = 300, jobs = available_processors();
  bool sass = false, no_controls = false, no_cache = false;
};

// Which of the verdicts that the user calls a failure occurred.
bool failed(const report::Difference& difference, const std::vector<std::string>& fail_on) {
  auto asked = [&](std::string_view word) {
    return std::find(fail_on.begin(), fail_on.end(), word) != fail_on.end();
  };
  for (const report::FunctionDifference& function : difference.functions) {
    if (asked("different") && (function.verdict == report::Verdict::different ||
                               function.verdict == report::Verdict::same_but_registers)) return true;
    if (asked("lottery") && function.verdict == report::Verdict::lottery) return true;
    if (asked("failed") && function.verdict == report::Verdict::failed) return true;
    if (asked("spills") && function.b.spill_store_bytes > function.a.spill_store_bytes) return true;
  }
  for (const report::Control& control : difference.controls) {
    if (asked("control") && control.outcome == report::ControlOutcome::failed) return true;
  }
  return false;
}

// Without --a and --b: untreated against treated. With one of them, the other is the build as it comes.
Status choose_builds(const Options& options, const assembly::Build& base, const std::vector<toolchain::Tool>& tools,
                     study::DiffRequest& request) {
  request.a = request.b = base;
  if (!options.b.empty()) {
    TRY_ASSIGN(request.b, assembly::parse_build(options.b, base, tools));
  }
  if (!options.a.empty()) {
    TRY_ASSIGN(request.a, assembly::parse_build(options.a, base, tools));
  }
  bool neither = options.a.empty() && options.b.empty();
  if (neither) request.b.treatment = assembly::Treatment::treated;
  if (options.a.empty() && request.b.treatment == assembly::Treatment::treated) {
    request.a.treatment = assembly::Treatment::untreated;
  }
  if (request.a == request.b) {
    return error(fmt::format("both builds are the same (ptxas {}, {}, -O{}); name another with --b", base.assembler.version,
                             assembly::treatment_name(request.a.treatment), request.a.opt_level));
  }
  return {};
}

std::string next_command(const report::Difference& difference, const Options& options) {
  if (options.html.empty()) return "namesake diff " + (options.files.empty() ? "" : quoted(options.files) + " ") + "--html report.html";
  for (const report::FunctionDifference& function : difference.functions) {
    if (function.verdict != report::Verdict::different) continue;
    std::string files = options.files.empty() ? "" : quoted(options.files) + " ";
    return fmt::format("namesake diff {}--kernel {} --arch {} --sass", files, quoted({demangled_name(function.symbol)}), function.architecture);
  }
  return "namesake trace";
}

constexpr uint64_t kCacheLimit = uint64_t{512} << 20;

Result<int> run_diff(const Options& options, const Global& global, const std::string& command_line) {
  catch_interrupts();
  std::vector<toolchain::Tool> tools = toolchain::find_tools();
  study::DiffRequest request;
  assembly::Build base;
  TRY_ASSIGN(base.assembler, toolchain::choose(tools, toolchain::Kind::ptxas, options.assembler));
  base.opt_level = options.opt_level;
  TRY(choose_builds(options, base, tools, request));

  bool bundled = options.files.empty();
  if (bundled) {
    TRY_ASSIGN(request.inputs.files, bundled_kernels());
  } else {
    request.inputs.files.assign(options.files.begin(), options.files.end());
  }
  request.inputs.architectures = options.architectures;
  if (bundled && options.architectures.empty()) request.inputs.architectures = {"sm_80", "sm_90", "sm_100a"};
  request.inputs.kernel_glob = options.kernel;
  request.inputs.front_end_options = options.front_end_options;
  if (auto nvcc = toolchain::choose(tools, toolchain::Kind::nvcc, options.front_end)) request.inputs.front_end = *nvcc;
  if (auto nvdisasm = toolchain::choose(tools, toolchain::Kind::nvdisasm, options.disassembler)) request.disassembler = *nvdisasm;

  TRY_ASSIGN(AnsweringHooks hooks, AnsweringHooks::make());
  request.hooks = hooks.variables();
  // What an entry means is decided by the hooks and by the code that reads cubins: by this executable.
  TRY_ASSIGN(std::string executable, read_file(own_executable()));
  assembly::Cache cache(options.no_cache ? std::filesystem::path() : assembly::Cache::default_folder(),
                     hooks.key() + hash_bytes(executable).hex());
  request.cache = &cache;
  request.controls = !options.no_controls;
  if (options.draws > 0) request.draws = options.draws;
  request.sass = options.sass || !options.html.empty() || !options.json.empty();
  request.workers = options.jobs;
  request.timeout = std::chrono::seconds(options.timeout);
  Progress progress(!global.quiet);
  request.progress = [&](std::string_view text) { progress.update(text); };
  request.stop = [] { return interrupted(); };

  TRY_ASSIGN(report::Difference difference, study::diff(request));
  progress.clear();
  cache.prune(kCacheLimit);
  difference.command = command_line;
  difference.next_command = next_command(difference, options);
  if (!options.json.empty()) TRY(write_output(options.json, report::to_json(difference)));
  if (!options.html.empty()) TRY(write_output(options.html, report::to_html(difference)));
  if (options.json != "-" && options.html != "-") {
    report::TextStyle style = text_style(global);
    style.sass = options.sass;
    fmt::print("{}", report::to_text(difference, style));
    if (!options.html.empty()) fmt::print("\nreport: {}\n", options.html);
  }
  return failed(difference, options.fail_on) ? 1 : 0;
}

}  // namespace

Result<int> diff_kernel(const std::string& file, const std::string& kernel, const Global& global) {
  Options options;
  options.files = {file};
  options.kernel = kernel;
  return run_diff(options, global, "namesake diff " + quoted({file, "--kernel", kernel}));
}

Command add_diff(CLI::App& root, const Global& global) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("diff", "Two builds of each function side by side: treated against untreated, or any two");
  app->add_option("files", options->files, "PTX or CUDA source; without any, the bundled kernels")->type_name("FILE");
  app->add_option("--kernel", options->kernel, "only kernels whose symbol or readable name matches, for example 'gemm*'")->type_name("GLOB");
  app->add_option("--arch", options->architectures, "architectures, for example sm_80,sm_90a; default: the file's own target")->delimiter(',')->type_name("SM");
  app->add_option("--assembler", options->assembler, "the ptxas of both builds: a version, a path or newest")->capture_default_str()->type_name("VERSION");
  app->add_option("--opt", options->opt_level, "-O level of both builds")->check(CLI::Range(0, 3))->capture_default_str()->type_name("N");
  app->add_option("--a", options->a, "the first build: words separated by commas out of a version, natural, treated, untreated, renamed, pragma, O0 to O3, -option; default: untreated")->type_name("BUILD");
  app->add_option("--b", options->b, "the second build, for example 13.5 or O2; default: treated")->type_name("BUILD");
  app->add_flag("--sass", options->sass, "show the instructions side by side");
  app->add_option("--html", options->html, "write a self-contained page to this file (- for stdout)")->type_name("FILE");
  app->add_option("--json", options->json, "write everything as JSON to this file (- for stdout)")->type_name("FILE");
  app->add_option("--fail-on", options->fail_on, "exit 1 if any of these occurs: different, lottery, failed, spills, control")
      ->delimiter(',')->check(CLI::IsMember({"different", "lottery", "failed", "spills", "control"}).description(""))->type_name("WHAT");
  app->add_option("--draws", options->draws, "draw every build N times with address randomisation on; default: only where codes differ")->check(CLI::Range(1, 1000))->type_name("N");
  app->add_flag("--no-controls", options->no_controls, "leave the controls out: faster, and proves nothing");
  app->add_option("--timeout", options->timeout, "seconds after which an assembly counts as hung")->check(CLI::PositiveNumber)->capture_default_str()->type_name("N");
  app->add_flag("--no-cache", options->no_cache, "assemble everything anew, also what was assembled in an earlier run");
  app->add_option("--front-end", options->front_end, "the nvcc for CUDA source: a version, a path or newest")->type_name("VERSION");
  app->add_option("--front-end-option", options->front_end_options, "passed to nvcc, for example -Iinclude")->type_name("OPTION");
  app->add_option("--disassembler", options->disassembler, "the nvdisasm: a version, a path or newest")->type_name("VERSION");
  app->add_option("-j,--jobs", options->jobs, "assemblies at a time")->check(CLI::Range(1, 1024))->capture_default_str()->type_name("N");
  app->footer("Examples:\n  namesake diff my.ptx --arch sm_90a --sass\n  namesake diff my.cu --a 12.9 --b 13.5\n  namesake diff my.ptx --b pragma --fail-on different");
  Command command;
  command.app = app;
  command.run = [options, &global] { return run_diff(*options, global, own_command_line()); };
  return command;
}

}  // namespace namesake::cli
