#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

#include "census/ledger.h"
#include "census/run.h"
#include "census/tell.h"
#include "cli/answering_hooks.h"
#include "cli/census_inputs.h"
#include "cli/command.h"
#include "cli/output.h"
#include "report/csv_census.h"
#include "report/json_census.h"
#include "report/text.h"
#include "report/words.h"
#include "util/interrupt.h"
#include "util/pool.h"

namespace namesake::cli {
namespace {

const std::vector<std::string> kArchitectures = {"sm_80",  "sm_86",   "sm_89",   "sm_90",
                                                 "sm_90a", "sm_100a", "sm_103a", "sm_120a"};

struct Options {
  std::string ledger = "census.sqlite";
  std::vector<std::string> kernels, architectures = kArchitectures, assemblers, treatments = {"untreated", "treated"};
  std::vector<int> opt_levels = {3};
  int draws = 4, timeout = 300, jobs = available_processors();
};

struct ShowOptions {
  std::string kernel, csv, json, html;
  std::vector<std::string> architectures, assemblers;
  std::vector<int> opt_levels;
  bool verbose = false;
};

Result<census::Matrix> matrix_of(const Options& options, census::Ledger& ledger) {
  census::Matrix matrix;
  TRY_ASSIGN(matrix.inputs, enter_kernels(ledger, options.kernels));
  for (const std::string& architecture : options.architectures) {
    if (assembly::architecture_number(architecture) == 0) {
      return error(fmt::format("\"{}\" is no architecture: write sm_ and a number, for example sm_90a", architecture));
    }
    matrix.architectures.push_back(architecture);
  }
  TRY_ASSIGN(matrix.assemblers, choose_assemblers(options.assemblers));
  matrix.opt_levels = options.opt_levels;
  matrix.treatments.clear();
  for (const std::string& word : options.treatments) {
    auto treatment = assembly::treatment_of(word);
    if (!treatment) return error(fmt::format("\"{}\" is no treatment: write natural, treated, untreated, renamed or pragma", word));
    matrix.treatments.push_back(*treatment);
  }
  matrix.draws = options.draws;
  return matrix;
}

Result<int> run_census(const Options& options, const Global& global) {
  catch_interrupts();
  TRY_ASSIGN(census::Ledger ledger, census::Ledger::open(options.ledger, false));
  census::RunRequest request;
  TRY_ASSIGN(request.matrix, matrix_of(options, ledger));
  TRY_ASSIGN(AnsweringHooks hooks, AnsweringHooks::make());
  request.hooks = hooks.variables();
  request.timeout = std::chrono::seconds(options.timeout);
  request.workers = options.jobs;
  Progress progress(!global.quiet);
  request.progress = [&](std::string_view text) { progress.update(text); };
  request.stop = [] { return interrupted(); };
  TRY_ASSIGN(census::RunReport report, census::run(ledger, request));
  progress.clear();
  double all = report.cost.assembler_seconds + report.cost.own_seconds;
  fmt::print("{}, {} made now in {}; {:.1f}% of the processor time was the assemblers' own\n",
             report::counted(report.wanted, "cell"), report::grouped(report.cost.cells),
             report::seconds(report.cost.wall_seconds),
             all > 0 ? 100 * report.cost.assembler_seconds / all : 0);
  fmt::print("\nnext: namesake census show --ledger {}\n", options.ledger);
  return 0;
}

Result<int> show_census(const std::string& file, const ShowOptions& options, const Global& global) {
  TRY_ASSIGN(census::Ledger ledger, census::Ledger::open(file, true));
  census::Selection selection{options.kernel, options.architectures, options.assemblers, options.opt_levels};
  TRY_ASSIGN(report::Census census, census::tell(ledger, selection));
  census.command = own_command_line();
  if (!options.csv.empty()) TRY(write_output(options.csv, report::to_csv(census)));
  if (!options.json.empty()) TRY(write_output(options.json, report::to_json(census)));
  if (options.csv == "-" || options.json == "-" || options.html == "-") return 0;
  report::TextStyle style = text_style(global);
  style.verbose = options.verbose;
  fmt::print("{}", report::to_text(census, style));
  return 0;
}

}  // namespace

Command add_census(CLI::App& root, const Global& global) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("census", "What every assembler makes of every kernel, kept in one file");
  app->require_subcommand(0, 1);
  app->add_option("--ledger", options->ledger, "the file that keeps everything; made where it is missing")->capture_default_str()->type_name("FILE");
  app->add_option("--kernels", options->kernels, "PTX files, or folders with PTX; default: the bundled kernels")->type_name("FILE");
  app->add_option("--arch", options->architectures, "architectures")->delimiter(',')->type_name("SM")->capture_default_str();
  app->add_option("--assembler", options->assemblers, "versions or paths of ptxas; default: all at hand")->delimiter(',')->type_name("VERSION");
  app->add_option("--opt", options->opt_levels, "-O levels")->delimiter(',')->check(CLI::Range(0, 3))->type_name("N")->capture_default_str();
  app->add_option("--treatment", options->treatments, "natural, treated, untreated, renamed, pragma")->delimiter(',')->type_name("WORD")->capture_default_str();
  app->add_option("--draws", options->draws, "runs with address randomisation on, of builds that vary; 0 looks for none")->check(CLI::Range(0, 1000))->capture_default_str()->type_name("N");
  app->add_option("--timeout", options->timeout, "seconds after which an assembly counts as hung")->check(CLI::PositiveNumber)->capture_default_str()->type_name("N");
  app->add_option("-j,--jobs", options->jobs, "assemblies at a time")->check(CLI::Range(1, 1024))->capture_default_str()->type_name("N");

  auto shown = std::make_shared<ShowOptions>();
  CLI::App* show = app->add_subcommand("show", "which kernels react where, since when, and what each release changed");
  show->add_option("--kernel", shown->kernel, "only kernels whose module, symbol or readable name matches")->type_name("GLOB");
  show->add_option("--arch", shown->architectures, "only these architectures")->delimiter(',')->type_name("SM");
  show->add_option("--assembler", shown->assemblers, "only these releases, for example 12.9,13.0.88")->delimiter(',')->type_name("VERSION");
  show->add_option("--opt", shown->opt_levels, "only these -O levels")->delimiter(',')->check(CLI::Range(0, 3))->type_name("N");
  show->add_option("--csv", shown->csv, "write one line a point to this file (- for stdout)")->type_name("FILE");
  show->add_option("--json", shown->json, "write everything as JSON to this file (- for stdout)")->type_name("FILE");
  show->add_flag("--verbose", shown->verbose, "every row of every table");

  Command command;
  command.app = app;
  command.run = [options, shown, show, &global]() -> Result<int> {
    if (show->parsed()) return show_census(options->ledger, *shown, global);
    return run_census(*options, global);
  };
  return command;
}

}  // namespace namesake::cli
