// A ledger as text that can be committed, the check of such a text, and the next release.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "census/tell.h"
#include "census/text_form.h"
#include "cli/census_parts.h"
#include "cli/output.h"
#include "report/census_findings.h"
#include "report/words.h"
#include "toolchain/toolchain.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::cli {
namespace {

Result<int> export_ledger(const CensusOptions& common, const std::string& file) {
  TRY_ASSIGN(census::Ledger ledger, census::Ledger::open(common.ledger, true));
  TRY_ASSIGN(std::string lines, census::to_lines(ledger));
  TRY(write_output(file, lines));
  return 0;
}

// Makes a slice anew, in a ledger of its own, and holds it against the text.
Result<int> check_text(const CensusOptions& common, const std::string& file, const Global& global) {
  TRY_ASSIGN(std::string lines, read_file(file, uint64_t{1} << 30));
  TRY_ASSIGN(TemporaryFolder folder, TemporaryFolder::make("namesake-census"));
  TRY_ASSIGN(Census census, open_census(common, folder.path() / "check.sqlite"));
  TRY_ASSIGN(std::string done, run_census(census.ledger, std::move(census.matrix), common, global));
  TRY_ASSIGN(census::Check check, census::check_lines(lines, file, census.ledger));
  fmt::print("{}\n{} compared with {}: {} otherwise", done, report::counted(check.compared, "build"), file,
             report::grouped(static_cast<int64_t>(check.discrepancies.size())));
  if (check.unknown > 0) fmt::print(", {} not in it", report::grouped(check.unknown));
  fmt::print("\n");
  for (const census::Discrepancy& one : check.discrepancies) {
    fmt::print("  {}\n    told  {}\n    found {}\n", one.where, one.told, one.found);
  }
  if (check.compared == 0) return error(fmt::format("nothing of this is in {}", file));
  return check.discrepancies.empty() ? 0 : 1;
}

// " (sgemm, n_body and 4 more)"; "" for none.
std::string some(const report::Census& census, const std::set<int64_t>& kernels) {
  constexpr size_t kMost = 3;
  std::vector<std::string> names;
  for (int64_t kernel : kernels) names.push_back(census.kernels[static_cast<size_t>(kernel)].name);
  if (names.empty()) return "";
  size_t more = names.size() > kMost + 1 ? names.size() - kMost : 0;
  names.resize(names.size() - more);
  return fmt::format(" ({}{})", join(names, ", "), more ? fmt::format(" and {} more", more) : "");
}

// Those that one assembler builds otherwise from run to run.
std::set<int64_t> varying(const report::Census& census, int64_t level, int64_t assembler) {
  std::set<int64_t> kernels;
  for (const report::Lottery& lottery : report::lotteries(census, level)) {
    if (std::count(lottery.assemblers.begin(), lottery.assemblers.end(), assembler)) kernels.insert(lottery.kernel);
  }
  return kernels;
}

// Kernels and architectures whose pair of builds is not whole.
using Places = std::set<std::pair<int64_t, int64_t>>;
Places failing(const report::Census& census, int64_t level, int64_t assembler) {
  Places places;
  for (const report::Casualty& casualty : report::casualties(census, level)) {
    if (std::count(casualty.assemblers.begin(), casualty.assemblers.end(), assembler)) places.emplace(casualty.kernel, casualty.architecture);
  }
  return places;
}

std::string or_none(int64_t count) {
  return count == 0 ? "none" : report::grouped(count);
}

// Five lines: what joined, who reacts now, what changed with no name involved, spills, and what broke.
std::string five_lines(const report::Census& census, const std::string& version, const std::string& done) {
  auto found = std::find_if(census.assemblers.begin(), census.assemblers.end(),
                            [&](const auto& assembler) { return assembler.version == version; });
  auto to = static_cast<int64_t>(found - census.assemblers.begin());
  int64_t level = report::main_opt_level(census);
  std::string out = fmt::format("ptxas {} joined {}: {}\n", version,
                                report::counted(static_cast<int64_t>(census.assemblers.size()) - 1, "other release"), done);
  if (to == 0) return out + "it is the oldest here: nothing to compare it with\n";
  std::string before = census.assemblers[static_cast<size_t>(to) - 1].version;
  report::Upgrade upgrade = report::upgrade(census, level, to - 1, to);
  int64_t reacting = 0, asked = 0;
  auto counts = report::count_reactions(census, level);
  for (const report::ReactionCount& count : counts[static_cast<size_t>(to)]) {
    reacting += count.by_reaction[static_cast<size_t>(report::Reaction::different)];
    asked += count.asked();
  }
  out += fmt::format("the name changes {} of {} pairs of builds; since {}, {} began to react{}, {} ceased{}\n",
                     reacting, asked, before, or_none(upgrade.reaction_began), some(census, upgrade.beginning),
                     or_none(upgrade.reaction_ended), some(census, upgrade.ending));
  out += fmt::format("with no name involved, {} of {} builds have other code than by {}{}{}\n", upgrade.other_code, upgrade.compared, before,
                     some(census, upgrade.with_other_code),
                     upgrade.other_code == 0 ? ""
                                             : fmt::format("; their registers {}, code size {}", report::shown_ratio(upgrade.registers), report::shown_ratio(upgrade.code)));
  out += fmt::format("spills: {} more{}, {} fewer{}\n", or_none(upgrade.spills_gained), some(census, upgrade.spilling_more),
                     or_none(upgrade.spills_lost), some(census, upgrade.spilling_less));
  std::set<int64_t> vary = varying(census, level, to), ended, dead;
  for (int64_t kernel : varying(census, level, to - 1)) {
    if (!vary.count(kernel)) ended.insert(kernel);
  }
  Places failing_before = failing(census, level, to - 1), failing_now = failing(census, level, to);
  int64_t newly = 0;
  for (const auto& place : failing_now) {
    dead.insert(place.first);
    newly += !failing_before.count(place);
  }
  auto kernels = [&](const std::set<int64_t>& some_of_them) {
    return or_none(static_cast<int64_t>(some_of_them.size())) + some(census, some_of_them);
  };
  out += fmt::format("not built: {}{}{}; lotteries: {}{}\n", or_none(static_cast<int64_t>(failing_now.size())), some(census, dead),
                     dead.empty() ? "" : fmt::format(", {} of them new", or_none(newly)), kernels(vary),
                     ended.empty() ? "" : fmt::format("; no more: {}", kernels(ended)));
  return out;
}

// The new release for everything that the newest one before it was asked.
Result<int> update(const CensusOptions& common, const std::string& release, const Global& global) {
  TRY_ASSIGN(census::Ledger ledger, census::Ledger::open(common.ledger, true));
  TRY_ASSIGN(std::vector<census::AssemblerName> known, ledger.assemblers());
  if (known.empty()) return error(fmt::format("nothing was assembled yet for the ledger {}; begin with: namesake census", common.ledger));
  std::vector<toolchain::Tool> tools = toolchain::find_tools();
  auto tool = toolchain::choose(tools, toolchain::Kind::ptxas, release);
  if (release == "newest" || !tool) {
    if (!global.quiet) fmt::print(stderr, "looking for ptxas {} …\n", release);
    auto added = toolchain::add(release, false);
    if (!added && !tool) return tl::unexpected(added.error());
    if (!added) fmt::print(stderr, "namesake: {}; going on with the newest at hand, {}\n", added.error().message, tool->version);
    if (added) tool = toolchain::choose(toolchain::find_tools(), toolchain::Kind::ptxas, added->version);
    if (!tool) return tl::unexpected(tool.error());
  }
  TRY_ASSIGN(std::vector<census::CellRecord> cells, ledger.cells());
  census::Matrix matrix;
  matrix.draws = common.draws;
  matrix.assemblers = {*tool};
  TRY_ASSIGN(matrix.inputs, ledger.inputs());
  std::set<std::string> architectures;
  for (const census::CellRecord& cell : cells) architectures.insert(cell.key.architecture);
  matrix.architectures.assign(architectures.begin(), architectures.end());
  matrix.opt_levels = {3};
  TRY_ASSIGN(std::string done, run_census(ledger, std::move(matrix), common, global));
  TRY_ASSIGN(report::Census census, census::tell(ledger, {}));
  fmt::print("{}\nnext: namesake census show --ledger {}\n", five_lines(census, tool->version, done), quoted({common.ledger}));
  return 0;
}

}  // namespace

CensusPart add_census_export(CLI::App& census, const SharedOptions& common) {
  auto file = std::make_shared<std::string>("-");
  CLI::App* app = census.add_subcommand("export", "the ledger as sorted lines of text, to commit and to compare");
  app->add_option("file", *file, "where to (- for stdout)")->capture_default_str()->type_name("FILE");
  return {app, [common, file] { return export_ledger(*common, *file); }};
}

CensusPart add_census_check(CLI::App& census, const SharedOptions& common, const Global& global) {
  auto file = std::make_shared<std::string>();
  CLI::App* app = census.add_subcommand("check", "assemble a slice anew and hold it against an exported ledger; exit 1 where it differs");
  app->add_option("file", *file, "what `census export` wrote")->required()->type_name("FILE");
  app->footer("Example:\n  namesake census --arch sm_90 --assembler 13.0.88 check results/census.tsv");
  return {app, [common, file, &global] { return check_text(*common, *file, global); }};
}

CensusPart add_census_update(CLI::App& census, const SharedOptions& common, const Global& global) {
  auto release = std::make_shared<std::string>("newest");
  CLI::App* app = census.add_subcommand("update", "get a release, make its cells for all that the ledger has, say in five lines what changed");
  app->add_option("release", *release, "13.5.37, 13.5 or newest")->capture_default_str()->type_name("VERSION");
  return {app, [common, release, &global] { return update(*common, *release, global); }};
}

}  // namespace namesake::cli
