#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/measure_request.h"
#include "cli/output.h"
#include "measure/first_launch_file.h"
#include "report/measurement_pages.h"
#include "util/file.h"
#include "util/interrupt.h"
#include "util/subprocess.h"

namespace namesake::cli {
namespace {

constexpr uint64_t kMeasurementLimit = uint64_t{1} << 30;
constexpr int kInterrupted = 130;  // what was measured until then is reported all the same

struct Options : MeasureOptions {
  std::vector<std::string> fail_on;
  std::string a, b, json, html, fresh, from;
  int controls = 0;
  bool time_only = false, verbose = false;
};

bool is_cubin(const std::string& name) {
  return name.ends_with(".cubin");
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
  assembly::Build base = request.a;
  base.treatment = assembly::Treatment::natural;
  if (!options.a.empty()) {
    TRY_ASSIGN(request.a, assembly::parse_build(options.a, base, tools));
  }
  if (!options.b.empty()) {
    TRY_ASSIGN(request.b, assembly::parse_build(options.b, base, tools));
  }
  if (request.a == request.b && options.controls == 0)
    return error(fmt::format("both builds are the same (ptxas {}, {}); name another with --b",
                             request.a.assembler.version,
                             assembly::treatment_name(request.a.treatment)));
  request.own_assemblers = request.a.assembler.path != request.b.assembler.path;
  if (request.own_assemblers && (request.jit || request.assemblers.size() > 1))
    return error("--a and --b name two assemblers already: leave --assembler out");
  return {};
}

std::string next_command(const report::Measurement& measurement, const Options& options) {
  const std::string files = options.files.empty() ? "" : " " + quoted(options.files);
  const auto first =
      [&](std::initializer_list<report::Finding> wanted) -> const report::KernelMeasurement* {
    for (const report::KernelMeasurement& kernel : measurement.kernels)
      if (std::find(wanted.begin(), wanted.end(), kernel.finding) != wanted.end()) return &kernel;
    return nullptr;
  };
  if (options.controls > 0) return {};
  if (const auto* kernel = first({report::Finding::undecided}))
    return fmt::format("namesake measure{} --kernel {} --seconds {:g}", files,
                       quoted({kernel->name}), 4 * options.seconds);
  if (first({report::Finding::faster, report::Finding::slower}) && options.a.empty() &&
      options.b.empty())
    return "namesake tune" + files;
  return options.html.empty() ? "namesake measure" + files + " --html report.html" : "";
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

Result<int> write_first_launch_file(const Options& options) {
  const std::filesystem::path source = options.fresh;
  TRY_ASSIGN(std::string text, read_file(source));
  TRY_ASSIGN(const ptx::Module module, ptx::parse(std::move(text), source.filename().string()));
  TRY_ASSIGN(const std::string launch, measure::first_launch_file(module, options.kernel));
  std::filesystem::path target = source;
  target.replace_extension(".toml");
  std::error_code ignored;
  if (std::filesystem::exists(target, ignored))
    return error(fmt::format("{} exists already", target.string()));
  TRY(write_file(target, launch));
  fmt::print("{}\nnext: fill in what is marked, then namesake measure {}\n", target.string(),
             quoted({target.string()}));
  return 0;
}

Status write_pages(const report::Measurement& measurement, const Options& options,
                   const Global& global) {
  if (!options.json.empty()) TRY(write_output(options.json, report::to_json(measurement)));
  if (!options.html.empty()) TRY(write_output(options.html, report::to_html(measurement)));
  if (options.json == "-" || options.html == "-") return {};
  report::TextStyle style = text_style(global);
  style.verbose = options.verbose;
  fmt::print("{}", report::to_text(measurement, style));
  if (!options.html.empty()) fmt::print("\nreport: {}\n", options.html);
  return {};
}

// What was measured once, judged by today's rules.
Result<int> report_again(const Options& options, const Global& global) {
  if (!options.files.empty()) return error("--from measures nothing: leave the files out");
  TRY_ASSIGN(const std::string text, read_file(options.from, kMeasurementLimit));
  auto read = report::measurement_from_json(text);
  if (!read) return error(options.from, read.error());
  for (report::KernelMeasurement& kernel : read->kernels) {
    kernel.finding = measure::judge(kernel);
    kernel.meaning = measure::explain(kernel);
  }
  TRY(write_pages(*read, options, global));
  return failed(*read, options.fail_on) ? 1 : 0;
}

Result<int> run_measure(const Options& options, const Global& global,
                        const std::string& command_line) {
  if (!options.fresh.empty()) return write_first_launch_file(options);
  if (!options.from.empty()) return report_again(options, global);
  catch_interrupts();
  const std::vector<toolchain::Tool> tools = toolchain::find_tools();
  TRY_ASSIGN(PreparedMeasurement prepared, prepare_measurement(options, tools));
  measure::MeasureRequest& request = prepared.request;
  TRY(choose_builds(options, tools, request));
  request.care.equality = !options.time_only;
  request.controls = options.controls;
  request.partial = true;
  Progress progress(!global.quiet);
  request.progress = [&](std::string_view text) { progress.update(text); };

  TRY_ASSIGN(report::Measurement measurement, measure::measure(request));
  progress.clear();
  measurement.command = command_line;
  measurement.next_command = interrupted() ? command_line : next_command(measurement, options);
  TRY(write_pages(measurement, options, global));
  if (interrupted()) return kInterrupted;
  prepared.kept->forget();
  return failed(measurement, options.fail_on) ? 1 : 0;
}

}  // namespace

Command add_measure(CLI::App& root, const Global& global) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "measure", "On a GPU: are both builds' results equal, and which is faster, by how much?");
  add_measure_options(*app, *options);
  app->add_option("--a", options->a,
                  "the first build: words as for diff, or a cubin; default: untreated")
      ->type_name("BUILD");
  app->add_option("--b", options->b, "the second build, or a cubin; default: treated")
      ->type_name("BUILD");
  app->add_flag(
      "--time-only", options->time_only,
      "leave the results unchecked: faster, and says nothing about what the builds compute");
  app->add_option("--controls", options->controls,
                  "instead of comparing builds, time kernels against themselves, so many runs in "
                  "all: how often does the method cry wolf?")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
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
  app->add_option(
         "--new", options->fresh,
         "write a first launch file beside this PTX, from its kernel's parameters, and stop")
      ->type_name("PTX");
  app->add_option("--from", options->from,
                  "report what --json wrote once more, as text or with --html, without measuring")
      ->type_name("FILE");
  app->footer(
      "Examples:\n  namesake measure\n  namesake measure my.ptx --html out.html\n  namesake "
      "measure --new my.ptx\n"
      "  namesake measure kernels/triton --assembler 12.9,13.0,newest,jit\n"
      "  namesake measure sgemm.toml --a 12.9 --b 13.5\n  namesake measure sgemm.toml --a "
      "old.cubin --b new.cubin");
  Command command;
  command.app = app;
  command.run = [options, &global] { return run_measure(*options, global, own_command_line()); };
  return command;
}

}  // namespace namesake::cli
