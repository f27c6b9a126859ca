#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

#include "census/compare.h"
#include "census/tell.h"
#include "cli/census_parts.h"
#include "cli/output.h"
#include "report/csv_census.h"
#include "report/html.h"
#include "report/html_census.h"
#include "report/json.h"
#include "report/json_census.h"
#include "report/text.h"
#include "toolchain/toolchain.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::cli {
namespace {

// Differences on the page: as many as are disassembled in a quarter of a minute, and of each so many
// rows that two screens are full.
constexpr size_t kDifferences = 400, kRows = 160;

struct Options {
  std::string kernel, a, b, csv, json, html, disassembler = "newest";
  std::vector<std::string> architectures, assemblers;
  std::vector<int> opt_levels;
  bool verbose = false, sass = false;
};

std::optional<toolchain::Tool> find_disassembler(const Options& options) {
  auto tool = toolchain::choose(toolchain::find_tools(), toolchain::Kind::nvdisasm, options.disassembler);
  if (!tool) return std::nullopt;
  return *tool;
}

Status add_instructions(const census::Ledger& ledger, const Options& options, int jobs, bool quiet,
                        report::Census& census) {
  std::optional<toolchain::Tool> disassembler = find_disassembler(options);
  if (!disassembler) {
    census.notes.push_back("no nvdisasm is at hand, so the page shows no instructions; type: namesake toolchain add nvdisasm");
    return {};
  }
  std::vector<int64_t> points = report::points_to_show(census, kDifferences);
  std::vector<census::CodePair> pairs;
  for (int64_t number : points) {
    const report::CensusPoint& point = census.points[static_cast<size_t>(number)];
    pairs.push_back({census.kernels[static_cast<size_t>(point.kernel)].symbol,
                     census.architectures[static_cast<size_t>(point.architecture)],
                     point.untreated.codes.front(), point.treated.codes.front()});
  }
  Progress progress(!quiet);
  progress.update(fmt::format("disassembling {} pairs of builds", pairs.size()));
  return census::side_by_side(ledger, *disassembler, pairs, jobs, [&](size_t i, std::vector<report::SassRow> rows) {
    report::CensusSass sass{points[i], {}, rows.size() > kRows};
    rows.resize(std::min(rows.size(), kRows));
    sass.rows = std::move(rows);
    census.sass.push_back(std::move(sass));
  });
}

std::string next_command(const std::string& ledger, const Options& options, const report::Census& census) {
  std::string command = fmt::format("namesake census show --ledger {}", quoted({ledger}));
  if (options.html.empty()) return command + " --html census.html";
  if (census.assemblers.size() < 2) return "namesake census update --ledger " + quoted({ledger});
  return command + fmt::format(" --a {} --b {}", census.assemblers[census.assemblers.size() - 2].version,
                               census.assemblers.back().version);
}

Result<int> show_all(const CensusOptions& common, const Options& options, const census::Selection& selection,
                     const Global& global) {
  TRY_ASSIGN(census::Ledger ledger, census::Ledger::open(common.ledger, true));
  TRY_ASSIGN(report::Census census, census::tell(ledger, selection));
  if (census.points.empty()) {
    return error(fmt::format("the ledger {} has no kernel that fits, built untreated and treated", common.ledger));
  }
  census.command = own_command_line();
  census.next_command = next_command(common.ledger, options, census);
  if (!options.csv.empty()) TRY(write_output(options.csv, report::to_csv(census)));
  if (!options.json.empty()) TRY(write_output(options.json, report::to_json(census)));
  if (!options.html.empty()) {
    TRY(add_instructions(ledger, options, common.jobs, global.quiet, census));
    TRY(write_output(options.html, report::to_html(census)));
  }
  if (options.csv == "-" || options.json == "-" || options.html == "-") return 0;
  report::TextStyle style = text_style(global);
  style.verbose = options.verbose;
  fmt::print("{}", report::to_text(census, style));
  if (!options.html.empty()) fmt::print("\nreport: {}\n", options.html);
  return 0;
}

// Without --a and --b nothing is left to say: with one of them, the other is the newest release.
Result<int> show_pair(const CensusOptions& common, const Options& options, census::Selection selection,
                      const Global& global) {
  TRY_ASSIGN(census::Ledger ledger, census::Ledger::open(common.ledger, true));
  TRY_ASSIGN(std::vector<census::AssemblerName> assemblers, ledger.assemblers());
  if (assemblers.empty()) return error(fmt::format("nothing was assembled yet for the ledger {}", common.ledger));
  census::Comparison comparison;
  census::Side base{assemblers.back()};
  TRY_ASSIGN(comparison.a, census::parse_side(options.a.empty() ? "newest" : options.a, base, assemblers));
  TRY_ASSIGN(comparison.b, census::parse_side(options.b.empty() ? "newest" : options.b, base, assemblers));
  if (comparison.a == comparison.b) return error("both builds are the same; name another with --a or --b");
  comparison.selection = std::move(selection);
  comparison.disassembler = find_disassembler(options);
  comparison.sass = options.sass || !options.html.empty() || !options.json.empty();
  comparison.workers = common.jobs;
  TRY_ASSIGN(report::Difference difference, census::compare(ledger, comparison));
  difference.command = own_command_line();
  if (!options.json.empty()) TRY(write_output(options.json, report::to_json(difference)));
  if (!options.html.empty()) TRY(write_output(options.html, report::to_html(difference)));
  if (options.json == "-" || options.html == "-") return 0;
  report::TextStyle style = text_style(global);
  style.verbose = options.verbose;
  style.sass = options.sass;
  fmt::print("{}", report::to_text(difference, style));
  if (!options.html.empty()) fmt::print("\nreport: {}\n", options.html);
  return 0;
}

}  // namespace

CensusPart add_census_show(CLI::App& census, const SharedOptions& common, const Global& global) {
  auto options = std::make_shared<Options>();
  CLI::App* app = census.add_subcommand("show", "which kernels react where, since when, and what each release changed");
  app->add_option("--kernel", options->kernel, "only kernels whose module, symbol or readable name matches")->type_name("GLOB");
  app->add_option("--arch", options->architectures, "only these architectures")->delimiter(',')->type_name("SM");
  app->add_option("--assembler", options->assemblers, "only these releases, for example 12.9,13.0.88")->delimiter(',')->type_name("VERSION");
  app->add_option("--opt", options->opt_levels, "only these -O levels")->delimiter(',')->check(CLI::Range(0, 3))->type_name("N");
  app->add_option("--a", options->a, "two builds as `namesake diff` shows them: a release, a treatment, O0 to O3, separated by commas; untreated if not said")->type_name("BUILD");
  app->add_option("--b", options->b, "the second build; default: the newest release")->type_name("BUILD");
  app->add_flag("--sass", options->sass, "with --a and --b: the instructions side by side");
  app->add_option("--csv", options->csv, "write one line a pair of builds to this file (- for stdout)")->type_name("FILE");
  app->add_option("--json", options->json, "write everything as JSON to this file (- for stdout)")->type_name("FILE");
  app->add_option("--html", options->html, "write a self-contained page with a heat map to this file (- for stdout)")->type_name("FILE");
  app->add_option("--disassembler", options->disassembler, "the nvdisasm: a version, a path or newest")->type_name("VERSION");
  app->add_flag("--verbose", options->verbose, "every row of every table");
  app->footer("Examples:\n  namesake census show --kernel 'attention*' --arch sm_90\n"
              "  namesake census show --a 12.9 --b 13.5 --html upgrade.html");
  return {app, [common, options, &global]() -> Result<int> {
            census::Selection selection{options->kernel, options->architectures, options->assemblers, options->opt_levels};
            if (options->a.empty() && options->b.empty()) return show_all(*common, *options, selection, global);
            return show_pair(*common, *options, std::move(selection), global);
          }};
}

}  // namespace namesake::cli
