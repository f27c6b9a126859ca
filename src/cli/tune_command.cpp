#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/measure_request.h"
#include "cli/output.h"
#include "measure/advice.h"
#include "measure/tune.h"
#include "measure/tuning_run.h"
#include "report/measurement_pages.h"
#include "report/tuning_pages.h"
#include "util/file.h"
#include "util/interrupt.h"
#include "util/subprocess.h"
#include "util/terminal.h"

namespace namesake::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  MeasureOptions measure;
  std::vector<std::string> from;
  std::string output, json, check;
  double threshold = 2;  // percent; what is less, the surroundings in an application outweigh
  bool as_source = false, sweep = false;
};

constexpr int kInterrupted = 130;
constexpr uint64_t kMeasurementLimit = uint64_t{1} << 30;
Result<report::Measurement> read_measurements(const std::vector<std::string>& files) {
  std::vector<report::Measurement> all;
  for (const std::string& file : files) {
    TRY_ASSIGN(std::string text, read_file(file, kMeasurementLimit));
    auto measurement = report::measurement_from_json(text);
    if (!measurement) return error(file, measurement.error());
    all.push_back(std::move(*measurement));
  }
  return measure::merged(all);
}

std::string next_command(const report::Tuning& tuning, const Options& options) {
  bool open = std::any_of(
      tuning.decisions.begin(), tuning.decisions.end(),
      [](const report::Decision& each) { return !each.settled && !each.samples.empty(); });
  std::string files = options.measure.files.empty() ? "" : quoted(options.measure.files) + " ";
  for (const std::string& file : options.from) files += "--from " + quoted({file}) + " ";
  if (!options.check.empty()) return "";
  if (tuning.policy.empty()) return fmt::format("namesake tune {}-o tuned.toml", files);
  bool decided =
      std::any_of(tuning.decisions.begin(), tuning.decisions.end(),
                  [](const report::Decision& each) { return each.treatment != "natural"; });
  if (open && options.from.empty())
    return fmt::format("namesake tune {}--seconds {:g} -o {}", files, 4 * options.measure.seconds,
                       quoted({tuning.policy}));
  if (!decided) return "";
  return fmt::format("namesake run --policy {} -- ./your-program", quoted({tuning.policy}));
}

// The policy as text; an error where a recorded measurement names what no policy can.
Result<std::string> policy_text(const report::Tuning& tuning, const std::string& evidence,
                                const std::string& output) {
  std::string text = policy::write(measure::policy_of(tuning, evidence));
  if (auto read = policy::parse(text, output); !read) {
    return error("what was measured makes no policy", read.error());
  }
  return text;
}

Status write_policy(report::Tuning& tuning, const report::Measurement& measurement,
                    const std::string& output) {
  if (output == "-") {
    TRY_ASSIGN(std::string text, policy_text(tuning, "", output));
    return write_output(output, text);
  }
  fs::path evidence = fs::path(output).replace_extension(".json");
  if (evidence == fs::path(output)) evidence += ".json";
  TRY_ASSIGN(std::string text, policy_text(tuning, evidence.filename().string(), output));
  TRY(write_output(evidence.string(), report::to_json(measurement)));
  TRY(write_output(output, text));
  tuning.policy = output;
  tuning.measurement = evidence.string();
  return {};
}

Result<int> run_tune(const Options& options, const Global& global,
                     const std::string& command_line) {
  catch_interrupts();
  if (!options.check.empty() &&
      (!options.output.empty() || options.as_source || !options.from.empty())) {
    return error(
        "--check writes nothing and measures itself: leave -o, --as-source and --from out");
  }
  if (options.sweep && !options.measure.sizes.empty())
    return error("--sweep takes the launch files' sizes: leave --size out");
  std::string output = options.output.empty() && !options.as_source && options.check.empty()
                           ? "tuned.toml"
                           : options.output;
  if (output == "-" && options.json == "-")
    return error("the policy and the JSON cannot both go to stdout: give one of them a file");
  // Said before minutes of measuring, not after.
  if (fs::path folder = fs::path(output).parent_path();
      !folder.empty() && !fs::is_directory(folder)) {
    return error(fmt::format("there is no folder {} to write the policy into", folder.string()));
  }
  std::optional<policy::Policy> checked;
  if (!options.check.empty()) {
    TRY_ASSIGN(std::string text, read_file(options.check));
    TRY_ASSIGN(checked, policy::parse(text, options.check));
  }
  report::Tuning tuning;
  report::Measurement measurement;
  std::unique_ptr<measure::KeptResults> kept;
  if (!options.from.empty()) {
    TRY_ASSIGN(measurement, read_measurements(options.from));
  } else {
    std::vector<toolchain::Tool> tools = toolchain::find_tools();
    MeasureOptions wishes = options.measure;
    if (checked) wishes.assemblers.clear();  // the policy names them
    TRY_ASSIGN(PreparedMeasurement prepared, prepare_measurement(wishes, tools));
    if (prepared.request.jit && !options.as_source)
      return error(
          "a policy names a ptxas, and the driver's own assembler is none: leave jit out, or ask "
          "for --as-source");
    Progress progress(!global.quiet);
    prepared.request.progress = [&](std::string_view text) { progress.update(text); };
    const double threshold = options.threshold / 100;
    if (checked && options.measure.files.empty()) prepared.request.files.clear();
    auto measured =
        checked ? measure::measure_again(*checked, prepared.request, tools, threshold, tuning.notes)
                : measure::measure_for_tuning(prepared.request, threshold, options.sweep);
    progress.clear();
    if (interrupted()) {
      fmt::print(
          stderr,
          "namesake: interrupted: nothing is decided by half a measurement; the same command "
          "goes on from there\n");
      return kInterrupted;
    }
    TRY_ASSIGN(measurement, std::move(measured));
    if (!checked) measurement.command = command_line;
    kept = std::move(prepared.kept);
  }
  tuning.command = command_line;
  tuning.date = measurement.date;
  tuning.gpu = measurement.gpu.name;
  tuning.driver = measurement.gpu.driver;
  tuning.confidence = measurement.confidence;
  tuning.threshold = options.threshold / 100;
  tuning.as_source = options.as_source;
  tuning.checked = options.check;
  tuning.notes.insert(tuning.notes.end(), measurement.notes.begin(), measurement.notes.end());
  if (!measurement.kernels.empty()) {
    TRY_ASSIGN(tuning.decisions, measure::decide(measurement, tuning.threshold));
  }
  measure::add_advice(tuning);
  bool holds = !checked || measure::check(*checked, tuning);
  if (!output.empty()) TRY(write_policy(tuning, measurement, output));
  tuning.next_command = next_command(tuning, options);
  if (!options.json.empty()) TRY(write_output(options.json, report::to_json(tuning)));
  if (options.json != "-" && output != "-")
    fmt::print("{}", report::to_text(tuning, text_style(global)));
  if (kept) kept->forget();
  return holds ? 0 : 1;
}

}  // namespace

Command add_tune(CLI::App& root, const Global& global) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "tune", "Measure kernels on this GPU, and write the policy that gives each the better code");
  add_measure_options(*app, options->measure);
  app->add_option("--threshold", options->threshold,
                  "treat or untreat only where that gains more than so many percent")
      ->check(CLI::Range(0.0, 50.0))
      ->capture_default_str()
      ->type_name("N");
  app->add_flag(
      "--sweep", options->sweep,
      "measure at every size that the launch files list under sweep, and decide for all of them");
  app->add_option(
         "-o,--output", options->output,
         "the policy (- for stdout); what was measured goes beside it as JSON; default: tuned.toml")
      ->type_name("FILE");
  app->add_flag("--as-source", options->as_source,
                "print what to write into the source instead of writing a policy");
  app->add_option("--from", options->from,
                  "decide by what namesake measure --json wrote, without measuring")
      ->type_name("FILE");
  app->add_option("--check", options->check,
                  "measure again what this policy rests on, and exit 1 if a rule no longer holds")
      ->type_name("POLICY");
  app->add_option("--json", options->json, "write everything as JSON to this file (- for stdout)")
      ->type_name("FILE");
  app->footer(
      "Examples:\n  namesake tune my.ptx -o tuned.toml\n  namesake tune kernels/triton --assembler "
      "triton\n  namesake tune my.cu --as-source\n"
      "  namesake tune --check tuned.toml\n  namesake run --policy tuned.toml -- python train.py\n"
      "Exit status: 0 done, 1 a rule of --check does not hold, 2 usage, input or environment "
      "error, such as no GPU.");
  Command command;
  command.app = app;
  command.run = [options, &global] { return run_tune(*options, global, own_command_line()); };
  return command;
}

}  // namespace namesake::cli
