#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "census/run.h"
#include "cli/answering_hooks.h"
#include "cli/census_inputs.h"
#include "cli/census_parts.h"
#include "report/words.h"
#include "util/interrupt.h"
#include "util/pool.h"
#include "util/subprocess.h"

namespace namesake::cli {

Result<Census> open_census(const CensusOptions& options, const std::filesystem::path& file) {
  census::Matrix matrix;
  for (const std::string& architecture : options.architectures) {
    if (assembly::architecture_number(architecture) == 0) {
      return error(fmt::format("\"{}\" is no architecture: write sm_ and a number, for example sm_90a", architecture));
    }
    matrix.architectures.push_back(architecture);
  }
  matrix.treatments.clear();
  for (const std::string& word : options.treatments) {
    auto treatment = assembly::treatment_of(word);
    if (!treatment) {
      return error(fmt::format("\"{}\" is no treatment: write natural, treated, untreated, renamed or pragma", word));
    }
    matrix.treatments.push_back(*treatment);
  }
  matrix.opt_levels = options.opt_levels;
  matrix.draws = options.draws;
  TRY_ASSIGN(matrix.assemblers, choose_assemblers(options.assemblers));
  TRY_ASSIGN(std::vector<KernelFile> kernels, read_kernels(options.kernels));
  TRY_ASSIGN(census::Ledger ledger, census::Ledger::open(file, false));
  for (const KernelFile& kernel : kernels) {
    TRY_ASSIGN(census::Input input, ledger.add_input(kernel.name, kernel.text, kernel.kernels));
    matrix.inputs.push_back(std::move(input));
  }
  return Census{std::move(ledger), std::move(matrix)};
}

Result<std::string> run_census(census::Ledger& ledger, census::Matrix matrix, const CensusOptions& options,
                               const Global& global) {
  catch_interrupts();
  census::RunRequest request;
  request.matrix = std::move(matrix);
  TRY_ASSIGN(AnsweringHooks hooks, AnsweringHooks::make());
  request.hooks = hooks.variables();
  request.timeout = std::chrono::seconds(options.timeout);
  request.workers = options.jobs;
  Progress progress(!global.quiet);
  request.progress = [&](std::string_view text) { progress.update(text); };
  request.stop = [] { return interrupted(); };
  TRY_ASSIGN(census::RunReport report, census::run(ledger, request));
  progress.clear();
  std::string done = fmt::format("{}, {} of them made now", report::counted(report.wanted, "cell"),
                                 report::grouped(report.cost.cells));
  if (report.cost.cells == 0) return done;
  return done + fmt::format(" in {}; {:.1f}% of the processor time was the assemblers' own",
                            report::seconds(report.cost.wall_seconds),
                            100 * report.cost.assembler_seconds /
                                (report.cost.assembler_seconds + report.cost.own_seconds));
}

namespace {

Result<int> make_ledger(const CensusOptions& options, const Global& global) {
  TRY_ASSIGN(Census census, open_census(options, options.ledger));
  TRY_ASSIGN(std::string done, run_census(census.ledger, std::move(census.matrix), options, global));
  fmt::print("{}\n\nnext: namesake census show --ledger {}\n", done, quoted({options.ledger}));
  return 0;
}

}  // namespace

Command add_census(CLI::App& root, const Global& global) {
  auto options = std::make_shared<CensusOptions>();
  options->jobs = available_processors();
  CLI::App* app = root.add_subcommand("census", "What every assembler makes of every kernel, kept in one file");
  app->require_subcommand(0, 1);
  app->add_option("--ledger", options->ledger, "the file that keeps everything; made where it is missing")->capture_default_str()->type_name("FILE");
  app->add_option("--kernels", options->kernels, "PTX files, or folders with PTX; default: the bundled kernels, Triton's among them")->type_name("FILE");
  app->add_option("--arch", options->architectures, "architectures")->delimiter(',')->type_name("SM")->capture_default_str();
  app->add_option("--assembler", options->assemblers, "versions or paths of ptxas; default: all at hand")->delimiter(',')->type_name("VERSION");
  app->add_option("--opt", options->opt_levels, "-O levels")->delimiter(',')->check(CLI::Range(0, 3))->type_name("N")->capture_default_str();
  app->add_option("--treatment", options->treatments, "natural, treated, untreated, renamed, pragma")->delimiter(',')->type_name("WORD")->capture_default_str();
  app->add_option("--draws", options->draws, "runs with address randomisation on, of builds that vary; 0 looks for none")->check(CLI::Range(0, 1000))->capture_default_str()->type_name("N");
  app->add_option("--timeout", options->timeout, "seconds after which an assembly counts as hung")->check(CLI::PositiveNumber)->capture_default_str()->type_name("N");
  app->add_option("-j,--jobs", options->jobs, "assemblies at a time")->check(CLI::Range(1, 1024))->capture_default_str()->type_name("N");
  app->footer("Killed at any moment it goes on where it was; several processes may work on one ledger.\n"
              "Examples:\n  namesake census --kernels my/kernels --arch sm_90a,sm_100a\n"
              "  namesake census show --html census.html\n  namesake census show --a 12.9 --b 13.5\n"
              "  namesake census update");

  std::vector<CensusPart> parts = {
      add_census_show(*app, options, global), add_census_update(*app, options, global),
      add_census_export(*app, options),       add_census_check(*app, options, global),
      add_census_plan(*app, options),         add_census_cell(*app, options),
      add_census_collect(*app, options)};
  Command command;
  command.app = app;
  command.run = [options, parts = std::move(parts), &global]() -> Result<int> {
    for (const CensusPart& part : parts) {
      if (part.app->parsed()) return part.run();
    }
    return make_ledger(*options, global);
  };
  return command;
}

}  // namespace namesake::cli
