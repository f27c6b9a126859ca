#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <memory>
#include <optional>
#include <set>

#include "ab/ab.h"
#include "ab/judge.h"
#include "assembly/build.h"
#include "cli/answering_hooks.h"
#include "cli/command.h"
#include "cli/output.h"
#include "policy/policy.h"
#include "report/html.h"
#include "report/live_pages.h"
#include "study/diff.h"
#include "util/file.h"
#include "util/pool.h"
#include "util/text.h"

namespace namesake::cli {
namespace {

struct Options {
  std::string a = "untreated", b = "treated", kernels, json, html, policy, from;
  double seconds = 0;
  int timed = 400, check = 0, timeout = 300;
  int64_t check_megabytes = 2048;
  bool verbose = false;
};

// What the words mean is known only beside each assembler; that they mean something is asked now.
Status check_words(const std::string& words, const std::vector<toolchain::Tool>& tools) {
  TRY_ASSIGN(assembly::Build build, assembly::parse_build(words, {}, tools));
  if (build.treatment == assembly::Treatment::renamed)
    return error("a renamed kernel is not found by the application that asks for it: use treated");
  return {};
}

// The assembler as policies name it: "ptxas 12.8.93" is version 12.8.93.
policy::Assembler assembler_of(const report::LiveKernel& kernel) {
  size_t space = kernel.assembler.rfind(' ');
  std::string version = kernel.assembler.substr(space == std::string::npos ? 0 : space + 1);
  return {version, kernel.assembler_build};
}

policy::Policy policy_of(const report::Live& live, const std::string& evidence) {
  policy::Policy policy;
  policy.gpu = live.gpu;
  for (const report::LiveKernel& kernel : live.kernels) {
    policy::Assembler assembler = assembler_of(kernel);
    bool numbered =
        !assembler.version.empty() && assembler.version[0] >= '0' && assembler.version[0] <= '9';
    if (kernel.saved_milliseconds <= 0 || kernel.differing > 0 || !numbered) continue;
    policy::Rule rule;
    rule.treatment =
        kernel.loaded == "b" ? policy::Treatment::untreated : policy::Treatment::treated;
    rule.symbol = kernel.symbol;
    rule.architecture = kernel.architecture;
    rule.assembler = assembler;
    rule.evidence.emplace();
    rule.evidence->file = evidence;
    const report::Ratio& time = kernel.main_shape()->time;
    rule.evidence->ratio = std::round(time.ratio * 1e4) / 1e4;
    if (time.interval)
      rule.evidence->interval = {std::floor((*time.interval)[0] * 1e4) / 1e4,
                                 std::ceil((*time.interval)[1] * 1e4) / 1e4};
    if (policy.measured.version.empty()) policy.measured = assembler;
    policy.rules.push_back(std::move(rule));
  }
  if (policy.measured.version.empty()) policy.measured.version = "any";
  return policy;
}

Result<ab::RunRequest> request_of(const Options& options, const Global& global,
                                  const AnsweringHooks& hooks) {
  ab::RunRequest request;
  request.command = global.command;
  request.settings.a = options.a;
  request.settings.b = options.b;
  request.settings.tools = toolchain::find_tools();
  TRY(check_words(options.a, request.settings.tools));
  TRY(check_words(options.b, request.settings.tools));
  request.settings.hooks = hooks.variables();
  request.settings.own_executable = own_executable();
  request.settings.timeout = std::chrono::seconds(options.timeout);
  request.settings.workers = std::min(3, available_processors());
  request.kernels = options.kernels;
  request.seconds = options.seconds;
  request.timed_per_second = options.timed;
  request.check_launches = options.check;
  request.check_bytes = static_cast<uint64_t>(options.check_megabytes) << 20;
  return request;
}

// The codes of the kernels that alternated, by the assembler of the one that matters most; for the
// others it is near enough to see what the treatment does.
Result<std::string> code_page(const report::Live& live, const Options& options,
                              const AnsweringHooks& hooks,
                              const std::vector<toolchain::Tool>& tools) {
  study::DiffRequest request;
  std::string wish = "newest";
  std::set<std::string> files;
  for (const report::LiveKernel& kernel : live.kernels) {
    if (kernel.launches_of_b == 0 || kernel.ptx.empty()) continue;
    for (const toolchain::Tool& tool : tools)
      if (files.empty() && tool.kind == toolchain::Kind::ptxas &&
          tool.build == kernel.assembler_build)
        wish = tool.path.string();
    if (files.size() < 64) files.insert(kernel.ptx);
  }
  if (files.empty()) return std::string();
  request.inputs.files.assign(files.begin(), files.end());
  assembly::Build base;
  TRY_ASSIGN(base.assembler, toolchain::choose(tools, toolchain::Kind::ptxas, wish));
  TRY_ASSIGN(request.a, assembly::parse_build(options.a, base, tools));
  TRY_ASSIGN(request.b, assembly::parse_build(options.b, base, tools));
  if (auto nvdisasm = toolchain::choose(tools, toolchain::Kind::nvdisasm, "newest"))
    request.disassembler = *nvdisasm;
  request.hooks = hooks.variables();
  request.controls = false;
  request.sass = true;
  request.workers = available_processors();
  TRY_ASSIGN(report::Difference difference, study::diff(request));
  return report::to_html(difference);
}

// REPORT.html, and beside it REPORT-code.html, one click away.
Status write_pages(const Options& options, report::Live& live, const AnsweringHooks& hooks,
                   const std::vector<toolchain::Tool>& tools) {
  if (options.html != "-" && options.a != options.b) {
    auto page = code_page(live, options, hooks, tools);
    std::filesystem::path beside = options.html;
    beside.replace_filename(beside.stem().string() + "-code.html");
    if (page && !page->empty()) {
      TRY(write_file(beside, *page));
      live.code_page = beside.filename().string();
    } else if (!page) {
      live.notes.push_back("the codes are not shown: " + page.error().message);
    }
  }
  return write_output(options.html, report::to_html(live));
}

// `ended` is how the command ended, once that is what counts.
Result<int> compare(const Options& options, const Global& global, const std::string& command_line,
                    std::optional<session::Outcome>& ended) {
  if (global.command.empty())
    return error(
        "no command to run: write it behind --, for example namesake ab -- python serve.py");
  TRY_ASSIGN(AnsweringHooks hooks, AnsweringHooks::make());
  TRY_ASSIGN(ab::RunRequest request, request_of(options, global, hooks));
  TRY_ASSIGN(ab::Outcome outcome, ab::run(request));
  if (!outcome.session.not_started.empty()) {
    fmt::print(stderr, "namesake: error: {}\n", outcome.session.not_started);
    return outcome.session.exit_status;
  }
  report::Live& live = outcome.live;
  live.command = command_line;
  live.policy = options.policy;
  if (!options.policy.empty() && !options.check)
    live.notes.push_back("the results of the two builds were not compared: --check does it");
  ab::advise(live, global.command);
  // What was found is told first: it cannot be had again if a file cannot be written.
  report::TextStyle style;
  style.color = wants_color(stderr, global.color);
  style.width = terminal_width(stderr);
  style.verbose = options.verbose;
  fmt::print(stderr, "\n{}", report::to_text(live, style));
  if (!options.json.empty()) TRY(write_output(options.json, report::to_json(live)));
  if (!options.policy.empty())
    TRY(write_file(options.policy, policy::write(policy_of(live, options.json))));
  if (!options.html.empty()) TRY(write_pages(options, live, hooks, request.settings.tools));
  bool differ = std::any_of(live.kernels.begin(), live.kernels.end(),
                            [](const report::LiveKernel& kernel) { return kernel.differing > 0; });
  if (options.check && differ && outcome.session.exit_status == 0 && outcome.session.signal == 0)
    return 1;
  ended = std::move(outcome.session);
  return 0;
}

// What an earlier run wrote, as a table on stdout and as a page.
Result<int> show(const Options& options, const Global& global) {
  TRY_ASSIGN(std::string text, read_file(options.from));
  auto live = report::live_from_json(text);
  if (!live) return error(options.from, live.error());
  if (!options.html.empty()) TRY(write_output(options.html, report::to_html(*live)));
  report::TextStyle style = text_style(global);
  style.verbose = options.verbose;
  if (options.html != "-") fmt::print("{}", report::to_text(*live, style));
  return 0;
}

// Ends as the command did, after everything that lies in temporary folders is gone.
Result<int> run_ab(const Options& options, const Global& global, const std::string& command_line) {
  if (!options.from.empty()) return show(options, global);
  std::optional<session::Outcome> ended;
  TRY_ASSIGN(int status, compare(options, global, command_line, ended));
  if (ended) session::end_like(*ended);
  return status;
}

}  // namespace

Command add_ab(CLI::App& root, const Global& global) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("ab",
                                      "Live: two builds of each kernel in your own application, "
                                      "its launches alternating between them");
  app->add_option(
         "--a", options->a,
         "the first build: words as for diff, over the assembler that the application uses")
      ->capture_default_str()
      ->type_name("BUILD");
  app->add_option("--b", options->b, "the second build: treated, untreated, O2, 13.5 …")
      ->capture_default_str()
      ->type_name("BUILD");
  app->add_option("--kernels", options->kernels,
                  "only kernels that match, by symbol or readable name")
      ->type_name("GLOB");
  app->add_option("--seconds", options->seconds,
                  "alternate for so long from the first load on; then everything runs as loaded")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app->add_option("--timed", options->timed,
                  "launches timed a second, over all kernels; the others only alternate")
      ->capture_default_str()
      ->check(CLI::Range(4, 100000))
      ->type_name("N");
  app->add_option("--check", options->check,
                  "compare the results of so many launches of each kernel bit for bit (the first, "
                  "the tenth, the "
                  "hundredth …); exit 1 if any differ")
      ->check(CLI::Range(1, 9))
      ->type_name("N");
  app->add_option("--check-memory", options->check_megabytes,
                  "MB of device memory that are saved for that at most; an application that holds "
                  "more is not checked")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->type_name("MB");
  app->add_option("--policy", options->policy, "write what gains as a policy for namesake run")
      ->type_name("FILE");
  app->add_option("--html", options->html,
                  "write a self-contained page to this file, and beside it one with the codes")
      ->type_name("FILE");
  app->add_option("--json", options->json, "write everything as JSON to this file (- for stdout)")
      ->type_name("FILE");
  app->add_option("--from", options->from,
                  "run nothing: show what an earlier run wrote with --json")
      ->type_name("FILE");
  app->add_option("--timeout", options->timeout, "seconds that one assembly may take")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app->add_flag("-v,--verbose", options->verbose,
                "every kernel with its sentence and its launch shapes");
  app->footer(
      "Examples:\n  namesake ab -- python serve.py\n  namesake ab --kernels 'gemm*' --seconds 60 "
      "-- ./app\n"
      "  namesake ab --a 12.8 --b 13.5 -- ./train\n  namesake ab --a natural --b O2 -- ./app\n"
      "  namesake ab --a natural --b natural -- ./app    each kernel against its own double: must "
      "show nothing\n"
      "The table is on stderr, at the end: after the command, or after ^C.\n"
      "Exit status: the command's own; 125 if namesake itself failed.");
  Command command;
  command.app = app;
  command.own_failure = 125;
  command.run = [options, &global] { return run_ab(*options, global, own_command_line()); };
  return command;
}

}  // namespace namesake::cli
