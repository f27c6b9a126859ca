#include "census/cell.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

#include "assembly/outcome.h"
#include "assembly/variant.h"
#include "util/cursor.h"
#include "util/text.h"

namespace namesake::census {
namespace {

using namespace assembly;

constexpr std::array<std::string_view, 5> kStateNames = {"built", "failed", "crashed", "timed out",
                                                         "not expressible here"};
constexpr std::string_view kCellFormat = "namesake.cell/1";

// Said by assemblers about text that is right, but not for them.
bool says_too_new(std::string_view failure) {
  for (std::string_view words : {"PTX ISA", "requires .target", "not supported on .target",
                                 "is not defined for option 'gpu-name'", "Unsupported .version"}) {
    if (failure.find(words) != failure.npos) return true;
  }
  return false;
}

CellState state_of_outcome(const Outcome& outcome, bool lowered) {
  if (outcome.ok()) return CellState::built;
  if (outcome.timed_out) return CellState::timed_out;
  if (outcome.crashed) return CellState::crashed;
  // A refusal of a text whose .version we lowered is about what only the newer version has.
  return lowered || says_too_new(outcome.failure) ? CellState::inexpressible : CellState::failed;
}

}  // namespace

std::string_view state_name(CellState state) {
  return kStateNames[static_cast<size_t>(state)];
}

Result<CellState> state_of(std::string_view name) {
  for (size_t i = 0; i < kStateNames.size(); ++i) {
    if (kStateNames[i] == name) return static_cast<CellState>(i);
  }
  return error(fmt::format("\"{}\" is no state of a cell", name));
}

std::string impossible(const ptx::Module& module, std::string_view architecture,
                       std::string_view assembler_version) {
  if (!assembles_for(module.target, architecture)) {
    return fmt::format("written for {}", module.target);
  }
  ptx::Version reads = ptx::newest_version_of(assembler_version);
  for (std::string_view target : {std::string_view(module.target), architecture}) {
    auto since = ptx::oldest_version_of(target);
    if (since && *since > reads) {
      return fmt::format("{} needs PTX {}.{}, ptxas {} reads {}.{}", target, since->major,
                         since->minor, assembler_version, reads.major, reads.minor);
    }
  }
  return "";
}

Result<CellResult> make_cell(const Unit& unit, const toolchain::Tool& assembler, const CellKey& key,
                             const HookVariables& hooks, std::chrono::milliseconds timeout) {
  Build build;
  build.assembler = assembler;
  build.treatment = key.treatment;
  build.opt_level = key.opt_level;
  CellResult result;
  Variant variant = variant_for(unit, build);
  if (!variant.ok()) {
    result.state = CellState::inexpressible;
    result.outcome.failure = variant.failure;
    return result;
  }
  bool lowered = !variant.edits.empty();
  Arm arm = assembly::arm(std::move(variant), build, key.architecture, true);
  Trial trial = arm.trial;
  trial.keep_code = true;
  trial.fixed_addresses = key.draw == 0;
  trial.draw = key.draw;
  TRY_ASSIGN(Outcome outcome, assembly::assemble(trial, hooks, timeout));
  std::map<std::string, FunctionCode> functions;
  for (const auto& [symbol, name] : arm.variant.names) {
    auto found = outcome.functions.find(name);
    if (found != outcome.functions.end()) functions.emplace(symbol, std::move(found->second));
  }
  outcome.functions = std::move(functions);
  result.state = state_of_outcome(outcome, lowered);
  result.outcome = std::move(outcome);
  return result;
}

std::string cell_file(const CellKey& key, const CellResult& result) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", kCellFormat, key.text,
                     key.architecture, key.version, key.build, key.opt_level,
                     treatment_name(key.treatment), key.draw, state_name(result.state),
                     encoded(result.outcome));
}

Result<ReadCell> read_cell(std::string_view bytes, std::string_view origin) {
  Cursor cursor(bytes);
  auto broken = [&](std::string_view what) {
    return error(
        fmt::format("{} is no result of `namesake census cell`: {}; make it again", origin, what));
  };
  if (cursor.take_line() != kCellFormat) {
    return broken(fmt::format("it does not begin with {}", kCellFormat));
  }
  ReadCell cell;
  cell.key.text = cursor.take_line();
  cell.key.architecture = cursor.take_line();
  cell.key.version = cursor.take_line();
  cell.key.build = cursor.take_line();
  auto opt_level = parse_integer(cursor.take_line());
  auto treatment = treatment_of(cursor.take_line());
  auto draw = parse_integer(cursor.take_line());
  auto state = state_of(cursor.take_line());
  if (!cursor.ok()) return broken("it ends too early");
  if (!opt_level || *opt_level < 0 || *opt_level > 3 || !treatment || !draw || *draw < 0 ||
      *draw > 1000 || !state) {
    return broken("its head makes no sense");
  }
  cell.key.opt_level = static_cast<int>(*opt_level);
  cell.key.treatment = *treatment;
  cell.key.draw = static_cast<int>(*draw);
  cell.result.state = *state;
  auto outcome = decoded_outcome(cursor.take(cursor.left()));
  if (!outcome) return broken("what the assembler made is torn");
  cell.result.outcome = std::move(*outcome);
  return cell;
}

}  // namespace namesake::census
