// A census over many machines: the matrix as a Ninja file, one cell, and the results taken in.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "assembly/build.h"
#include "census/plan.h"
#include "cli/answering_hooks.h"
#include "cli/census_inputs.h"
#include "cli/census_parts.h"
#include "cli/output.h"
#include "ptx/ptx.h"
#include "report/words.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/subprocess.h"

namespace namesake::cli {
namespace {

Result<int> plan(const CensusOptions& common, const std::string& ninja) {
  TRY_ASSIGN(Census census, open_census(common, common.ledger));
  TRY_ASSIGN(size_t cells, census::write_plan(census.ledger, census.matrix, ninja, own_executable()));
  std::filesystem::path results = std::filesystem::path(ninja).parent_path() / "results";
  if (cells == 0) {
    fmt::print("nothing is missing in {}\n\nnext: namesake census show --ledger {}\n", common.ledger, quoted({common.ledger}));
    return 0;
  }
  fmt::print("{} in {}\n\nnext: ninja -C {} -f {}, then: namesake census collect --ledger {} {}\n",
             report::counted(static_cast<int64_t>(cells), "cell"), ninja,
             quoted({results.parent_path().empty() ? "." : results.parent_path().string()}),
             quoted({std::filesystem::path(ninja).filename().string()}), quoted({common.ledger}), quoted({results.string()}));
  return 0;
}

struct CellOptions {
  std::string file, out, assembler, architecture, treatment = "untreated";
  int opt_level = 3, draw = 0;
};

Result<int> make_cell(const CensusOptions& common, const CellOptions& options) {
  auto treatment = assembly::treatment_of(options.treatment);
  if (!treatment) return error(fmt::format("\"{}\" is no treatment", options.treatment));
  TRY_ASSIGN(std::vector<toolchain::Tool> assemblers, choose_assemblers({options.assembler}));
  const toolchain::Tool& assembler = assemblers.front();
  TRY_ASSIGN(std::string text, read_file(options.file, uint64_t{256} << 20));
  assembly::Unit unit;
  unit.file = std::filesystem::path(options.file).filename().string();
  std::string hash = hash_bytes(text).hex();
  TRY_ASSIGN(unit.module, ptx::parse(std::move(text), unit.file));
  for (const ptx::Function& function : unit.module.functions) {
    if (function.entry && function.defined) unit.kernels.push_back(function.symbol);
  }
  census::CellKey key{hash, options.architecture, assembler.version, assembler.build, options.opt_level, *treatment, options.draw};
  TRY_ASSIGN(AnsweringHooks hooks, AnsweringHooks::make());
  TRY_ASSIGN(census::CellResult result,
             census::make_cell(unit, assembler, key, hooks.variables(), std::chrono::seconds(common.timeout)));
  TRY(write_output(options.out, census::cell_file(key, result)));
  return 0;
}

Result<int> collect(const CensusOptions& common, const std::vector<std::string>& places) {
  TRY_ASSIGN(census::Ledger ledger, census::Ledger::open(common.ledger, true));
  TRY_ASSIGN(census::Collected collected, census::collect(ledger, {places.begin(), places.end()}));
  if (collected.taken + collected.known == 0 && collected.refused.empty()) {
    return error(fmt::format("no results in {}: they are the files called *.cell that a plan's ninja makes", quoted(places)));
  }
  for (const std::string& why : collected.refused) fmt::print(stderr, "namesake: left out: {}\n", why);
  fmt::print("{} taken into {}, {} known already, {} left out\n\nnext: namesake census plan again, for draws of what varies\n",
             report::counted(static_cast<int64_t>(collected.taken), "cell"), common.ledger, collected.known, collected.refused.size());
  return collected.refused.empty() ? 0 : 2;
}

}  // namespace

CensusPart add_census_plan(CLI::App& census, const SharedOptions& common) {
  auto ninja = std::make_shared<std::string>();
  CLI::App* app = census.add_subcommand("plan", "the cells that are missing, as a Ninja file: an edge a cell, for many machines");
  app->add_option("--ninja", *ninja, "the file to write; PTX goes beside it, results too")->required()->type_name("FILE");
  app->footer("Example:\n  namesake census plan --ninja plan/build.ninja && ninja -C plan && namesake census collect plan/results");
  return {app, [common, ninja] { return plan(*common, *ninja); }};
}

CensusPart add_census_cell(CLI::App& census, const SharedOptions& common) {
  auto options = std::make_shared<CellOptions>();
  CLI::App* app = census.add_subcommand("cell", "one cell, into a file; what a plan's edges run");
  app->add_option("file", options->file, "the PTX")->required()->type_name("FILE");
  app->add_option("--out", options->out, "the result (- for stdout)")->required()->type_name("FILE");
  app->add_option("--assembler", options->assembler, "version or path of the ptxas")->required()->type_name("VERSION");
  app->add_option("--arch", options->architecture, "the architecture")->required()->type_name("SM");
  app->add_option("--opt", options->opt_level, "the -O level")->check(CLI::Range(0, 3))->capture_default_str()->type_name("N");
  app->add_option("--treatment", options->treatment, "natural, treated, untreated, renamed or pragma")->capture_default_str()->type_name("WORD");
  app->add_option("--draw", options->draw, "0: address randomisation off; a number: one draw with it on")->check(CLI::Range(0, 1000))->capture_default_str()->type_name("N");
  return {app, [common, options] { return make_cell(*common, *options); }};
}

CensusPart add_census_collect(CLI::App& census, const SharedOptions& common) {
  auto places = std::make_shared<std::vector<std::string>>();
  CLI::App* app = census.add_subcommand("collect", "take results of a plan into the ledger");
  app->add_option("places", *places, "result files, or folders of them")->required()->type_name("FILE");
  return {app, [common, places] { return collect(*common, *places); }};
}

}  // namespace namesake::cli
