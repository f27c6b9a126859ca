#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

#include "cli/bundled.h"
#include "cli/command.h"
#include "cli/output.h"
#include "report/json.h"
#include "report/text.h"
#include "session/run.h"
#include "study/trace.h"
#include "util/file.h"
#include "util/interrupt.h"
#include "util/subprocess.h"

namespace namesake::cli {
namespace {

struct Options {
  std::string json, output, architecture = "sm_90";
  bool all_tests = false, audit = false, verbose = false;
};

Status show(const report::Trace& trace, const Options& options, const Global& global, bool to_stderr) {
  if (!options.json.empty()) TRY(write_output(options.json, report::to_json(trace)));
  if (options.json == "-") return {};
  report::TextStyle style = text_style(global);
  style.verbose = options.verbose;
  std::string text = report::to_text(trace, style);
  if (!options.output.empty()) return write_output(options.output, text);
  fmt::print(to_stderr ? stderr : stdout, "{}", text);
  return {};
}

// Of the tools at hand: what each does with one bundled kernel, as PTX and as source.
Result<int> trace_tools(const Options& options, const Global& global) {
  catch_interrupts();
  TRY_ASSIGN(std::filesystem::path kernels, kernels_folder());
  study::Sample sample;
  sample.architecture = options.architecture;
  TRY_ASSIGN(sample.ptx, read_file(kernels / "ptx" / "sgemm.ptx"));
  TRY_ASSIGN(sample.source, read_file(kernels / "sgemm.cu"));
  Progress progress(!global.quiet);
  TRY_ASSIGN(report::Trace trace, study::trace_assemblers(toolchain::find_tools(), sample, options.all_tests, own_executable(),
                                                          [&](std::string_view text) { progress.update(text); }));
  progress.clear();
  trace.command = own_command_line();
  trace.next_command = "namesake trace -- COMMAND   (the same for a build or an application of yours)";
  TRY(show(trace, options, global, false));
  return 0;
}

Result<int> trace_command(const Options& options, const Global& global) {
  session::RunOptions run;
  run.settings = study::trace_settings(options.all_tests);
  run.via = options.audit ? session::Via::audit : session::Via::preload;
  run.own_caches = false;      // nothing is answered, so nothing leaks
  run.remember_crashes = false;
  TRY_ASSIGN(session::Outcome outcome, session::run(global.command, run));
  if (!outcome.not_started.empty()) {
    fmt::print(stderr, "namesake: error: {}\n", outcome.not_started);
    return outcome.exit_status;
  }
  report::Trace trace = study::trace(outcome.recording, toolchain::find_tools());
  trace.command = own_command_line();
  trace.exit_status = outcome.signal ? 128 + outcome.signal : outcome.exit_status;
  for (const session::Unseen& unseen : outcome.unseen) {
    trace.silent.push_back(unseen.program + (unseen.library.empty() ? "" : " (" + unseen.library + ")") +
                           " ran without the hook: static, started with an empty environment, or privileged");
  }
  for (const session::Finding& finding : outcome.findings) trace.notes.push_back(finding.sentence);
  if (!outcome.watched) trace.notes.push_back("this system does not tell which programs were started; assemblers without the hook would go unnoticed");
  trace.next_command = "namesake run --treat GLOB -- " + quoted(global.command);
  TRY(show(trace, options, global, true));   // stdout belongs to the command
  session::end_like(outcome);
}

}  // namespace

Command add_trace(CLI::App& root, const Global& global) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("trace", "Which names were tested, by whom, from where, with what answer: by every assembler at hand, or in namesake trace -- COMMAND");
  app->add_flag("--all-tests", options->all_tests, "also strcmp, strncmp, strcasecmp, memcmp, memmem and strcasestr on functions' names (slower)");
  app->add_flag("--audit", options->audit, "by LD_AUDIT instead of LD_PRELOAD: sees calls under RTLD_DEEPBIND and dlmopen too");
  app->add_option("--arch", options->architecture, "without a command: the architecture assembled for")->capture_default_str()->type_name("SM");
  app->add_flag("-v,--verbose", options->verbose, "every test on a line of its own, look-ups in tables too");
  app->add_option("-o,--output", options->output, "write the report to this file")->type_name("FILE");
  app->add_option("--json", options->json, "write everything as JSON to this file (- for stdout)")->type_name("FILE");
  app->footer("Examples:\n  namesake trace\n  namesake trace -- nvcc -c my.cu\n  namesake trace --json trace.json -- python train.py\n"
              "With a command the report goes to stderr and the exit status is the command's.");
  Command command;
  command.app = app;
  command.own_failure = 125;
  command.run = [options, &global]() -> Result<int> {
    return global.command.empty() ? trace_tools(*options, global) : trace_command(*options, global);
  };
  return command;
}

}  // namespace namesake::cli
