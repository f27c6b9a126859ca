#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <map>
#include <memory>

#include "cli/answering_hooks.h"
#include "cli/bundled.h"
#include "cli/command.h"
#include "cli/output.h"
#include "measure/measure.h"
#include "report/measurement_pages.h"
#include "util/file.h"
#include "util/interrupt.h"
#include "util/pool.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::cli {
namespace {

struct Options {
  std::vector<std::string> files, assemblers = {"newest"}, sizes, front_end_options, fail_on;
  std::string launch, kernel, a, b, front_end, disassembler = "newest", json, html, fresh;
  double seconds = 1, dead_band = 0.5, confidence = 95;
  int repeats = 100, device = 0, jobs = available_processors(), launch_limit = 10, controls = 0;
  bool jit = false, time_only = false, verbose = false;
};

bool is_cubin(const std::string& name) {
  return name.ends_with(".cubin");
}

Result<std::map<std::string, int64_t>> sizes_of(const std::vector<std::string>& words) {
  std::map<std::string, int64_t> sizes;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const auto value = equals == word.npos
                           ? std::nullopt
                           : parse_integer(std::string_view(word).substr(equals + 1));
    if (!value)
      return error(
          fmt::format("\"{}\" is no size: write a name and a whole number, as m=1024", word));
    sizes[word.substr(0, equals)] = *value;
  }
  return sizes;
}

// Untreated against treated, unless other builds or two cubins are named.
Status choose_builds(const Options& options, const std::vector<toolchain::Tool>& tools,
                     measure::MeasureRequest& request) {
  if (is_cubin(options.a) != is_cubin(options.b))
    return error("name two cubins, with --a and with --b");
  if (is_cubin(options.a)) {
    request.cubin_a = options.a;
    request.cubin_b = options.b;
    return {};
  }
  for (const std::string& wish : options.assemblers) {
    if (wish == "none") continue;
    TRY_ASSIGN(toolchain::Tool tool, toolchain::choose(tools, toolchain::Kind::ptxas, wish));
    request.assemblers.push_back(std::move(tool));
  }
  if (request.assemblers.empty() && !options.jit)
    return error("there is no assembler to measure with: name one with --assembler, or --jit");
  assembly::Build base;
  if (!request.assemblers.empty()) base.assembler = request.assemblers.front();
  request.a = request.b = base;
  request.a.treatment = assembly::Treatment::untreated;
  request.b.treatment = assembly::Treatment::treated;
  base.treatment = assembly::Treatment::natural;
  if (!options.a.empty()) {
    TRY_ASSIGN(request.a, assembly::parse_build(options.a, base, tools));
  }
  if (!options.b.empty()) {
    TRY_ASSIGN(request.b, assembly::parse_build(options.b, base, tools));
  }
  request.own_assemblers = !(request.a.assembler.path == request.b.assembler.path);
  if (request.own_assemblers && (options.jit || request.assemblers.size() > 1))
    return error("--a and --b name two assemblers already: leave --assembler and --jit out");
  return {};
}

std::string next_command(const report::Measurement& measurement, const Options& options) {
  const std::string files = options.files.empty() ? "" : " " + quoted(options.files);
  for (const report::KernelMeasurement& kernel : measurement.kernels)
    if (kernel.finding == report::Finding::undecided)
      return fmt::format("namesake measure{} --kernel {} --seconds {:g}", files,
                         quoted({kernel.name}), 4 * options.seconds);
  for (const report::KernelMeasurement& kernel : measurement.kernels)
    if (kernel.finding == report::Finding::faster || kernel.finding == report::Finding::slower)
      return "namesake tune" + files;
  return {};
}

bool failed(const report::Measurement& measurement, const std::vector<std::string>& fail_on) {
  return std::any_of(measurement.kernels.begin(), measurement.kernels.end(),
                     [&](const report::KernelMeasurement& kernel) {
                       return std::find(
                                  fail_on.begin(), fail_on.end(),
                                  report::kFindingNames[static_cast<size_t>(kernel.finding)]) !=
                              fail_on.end();
                     });
}

Result<int> run_measure(const Options& options, const Global& global,
                        const std::string& command_line) {
  catch_interrupts();
  const std::vector<toolchain::Tool> tools = toolchain::find_tools();
  measure::MeasureRequest request;
  TRY(choose_builds(options, tools, request));
  if (options.files.empty()) {
    TRY_ASSIGN(const std::filesystem::path folder, kernels_folder());
    request.files = {folder};
  } else {
    request.files.assign(options.files.begin(), options.files.end());
  }
  request.launch_file = options.launch;
  request.kernel_glob = options.kernel;
  TRY_ASSIGN(request.sizes, sizes_of(options.sizes));
  request.jit = options.jit;
  request.compile = !options.front_end.empty();
  const auto front_end = toolchain::choose(tools, toolchain::Kind::nvcc,
                                           request.compile ? options.front_end : "newest");
  if (!front_end && request.compile) return tl::unexpected(front_end.error());
  if (front_end) request.front_end = *front_end;
  request.front_end_options = options.front_end_options;
  if (auto nvdisasm = toolchain::choose(tools, toolchain::Kind::nvdisasm, options.disassembler))
    request.disassembler = *nvdisasm;
  TRY_ASSIGN(const AnsweringHooks hooks, AnsweringHooks::make());
  request.hooks = hooks.variables();
  request.care = {.seconds = options.seconds,
                  .confidence = options.confidence / 100,
                  .dead_band = options.dead_band / 100,
                  .repeats = options.repeats,
                  .equality = !options.time_only,
                  .launch_limit = std::chrono::seconds(options.launch_limit)};
  request.controls = options.controls;
  request.device = options.device;
  // For tests, which have no GPU.
  if (const std::string library = environment("NAMESAKE_DRIVER"); !library.empty())
    request.driver_library = library;
  if (const std::string library = environment("NAMESAKE_NVML"); !library.empty())
    request.management_library = library;
  request.own_executable = own_executable();
  request.workers = options.jobs;
  Progress progress(!global.quiet);
  request.progress = [&](std::string_view text) { progress.update(text); };
  request.stop = [] { return interrupted(); };

  TRY_ASSIGN(report::Measurement measurement, measure::measure(request));
  progress.clear();
  measurement.command = command_line;
  measurement.next_command = next_command(measurement, options);
  if (options.controls > 0) {
    const measure::FalseAlarms alarms = measure::false_alarms(measurement);
    measurement.notes.push_back(
        fmt::format("{} runs of kernels against themselves: a difference was claimed in {}, inside "
                    "the dead band in {}",
                    alarms.runs, alarms.alarms, alarms.in_dead_band));
  }
  if (!options.json.empty()) TRY(write_output(options.json, report::to_json(measurement)));
  if (!options.html.empty()) TRY(write_output(options.html, report::to_html(measurement)));
  if (options.json != "-" && options.html != "-") {
    report::TextStyle style = text_style(global);
    style.verbose = options.verbose;
    fmt::print("{}", report::to_text(measurement, style));
    if (!options.html.empty()) fmt::print("\nreport: {}\n", options.html);
  }
  return failed(measurement, options.fail_on) ? 1 : 0;
}

}  // namespace

Command add_measure(CLI::App& root, const Global& global) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "measure", "On a GPU: are both builds' results equal, and which is faster, by how much?");
  app->add_option("files", options->files,
                  "launch files, PTX or CUDA source with a launch file beside it, or folders of "
                  "launch files; without any, the bundled kernels")
      ->type_name("FILE");
  app->add_option("--launch", options->launch,
                  "the launch file of the files given, where it does not lie beside them")
      ->type_name("FILE");
  app->add_option("--kernel", options->kernel,
                  "only kernels whose symbol or readable name matches, for example 'gemm*'")
      ->type_name("GLOB");
  app->add_option("--size", options->sizes,
                  "another size than the launch file's default, for example m=1024,n=1024")
      ->delimiter(',')
      ->type_name("NAME=N");
  app->add_option("--assembler", options->assemblers,
                  "the ptxas: versions, paths or newest; none: only --jit")
      ->delimiter(',')
      ->capture_default_str()
      ->type_name("VERSION");
  app->add_flag("--jit", options->jit, "measure what the driver's own assembler makes, too");
  app->add_option("--a", options->a,
                  "the first build: words as for diff, or a cubin; default: untreated")
      ->type_name("BUILD");
  app->add_option("--b", options->b, "the second build, or a cubin; default: treated")
      ->type_name("BUILD");
  app->add_option("--seconds", options->seconds,
                  "of timing each kernel; longer makes intervals narrower")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str()
      ->type_name("S");
  app->add_option("--repeats", options->repeats,
                  "runs of each build that must give the same results")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str()
      ->type_name("N");
  app->add_option("--dead-band", options->dead_band,
                  "percent either way that count as no difference")
      ->check(CLI::Range(0.0, 50.0))
      ->capture_default_str()
      ->type_name("P");
  app->add_option("--confidence", options->confidence, "percent, of each interval")
      ->check(CLI::Range(50.0, 99.99))
      ->capture_default_str()
      ->type_name("P");
  app->add_flag(
      "--time-only", options->time_only,
      "leave the results unchecked: faster, and says nothing about what the builds compute");
  app->add_option("--html", options->html,
                  "write a self-contained page to this file (- for stdout)")
      ->type_name("FILE");
  app->add_option("--json", options->json, "write everything as JSON to this file (- for stdout)")
      ->type_name("FILE");
  app->add_option("--fail-on", options->fail_on,
                  "exit 1 if any of these occurs: slower, faster, undecided, refused, failed")
      ->delimiter(',')
      ->check(CLI::IsMember({"slower", "faster", "undecided", "refused", "failed"}).description(""))
      ->type_name("WHAT");
  app->add_flag("-v,--verbose", options->verbose, "every kernel with its sentence");
  app->add_option("--launch-limit", options->launch_limit,
                  "seconds after which a launch counts as hung")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->type_name("S");
  app->add_option("--device", options->device, "the GPU, numbered from 0")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->type_name("N");
  app->add_option("--front-end", options->front_end,
                  "compile CUDA source with this nvcc (a version, a path or newest) even where PTX "
                  "of it lies ready")
      ->type_name("VERSION");
  app->add_option("--front-end-option", options->front_end_options,
                  "passed to nvcc, for example -Iinclude")
      ->type_name("OPTION");
  app->add_option("--disassembler", options->disassembler,
                  "the nvdisasm that counts loops: a version, a path or newest")
      ->type_name("VERSION");
  app->add_option("--controls", options->controls,
                  "instead of comparing builds, time kernels against themselves, so many runs in "
                  "all: how often does the method cry wolf?")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app->add_option("-j,--jobs", options->jobs, "assemblies at a time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->type_name("N");
  app->footer(
      "Examples:\n  namesake measure\n  namesake measure my.ptx --html out.html\n  namesake "
      "measure kernels/triton --assembler 12.9,13.0,newest --jit\n"
      "  namesake measure sgemm.toml --a 12.9 --b 13.5\n  namesake measure sgemm.toml --a "
      "old.cubin --b new.cubin");
  Command command;
  command.app = app;
  command.run = [options, &global] { return run_measure(*options, global, own_command_line()); };
  return command;
}

}  // namespace namesake::cli
