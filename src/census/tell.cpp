#include "census/tell.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "assembly/inputs.h"
#include "util/text.h"

namespace namesake::census {
namespace {

using assembly::Treatment;
using report::CensusBuild;
using report::Reaction;
using Builds = std::map<BuildKey, ToldBuild>;

bool share_a_code(const CensusBuild& a, const CensusBuild& b) {
  return std::any_of(a.codes.begin(), a.codes.end(), [&](const std::string& code) {
    return std::find(b.codes.begin(), b.codes.end(), code) != b.codes.end();
  });
}

Reaction reaction_of(const CensusBuild& untreated, const CensusBuild& treated) {
  if (!untreated.built() || !treated.built()) return Reaction::failed;
  if (!share_a_code(untreated, treated)) return Reaction::different;
  return untreated.codes.size() == 1 && treated.codes.size() == 1 ? Reaction::same
                                                                  : Reaction::lottery;
}

const ToldBuild* find(const Builds& builds, BuildKey key, Treatment treatment) {
  key.treatment = treatment;
  auto found = builds.find(key);
  return found == builds.end() ? nullptr : &found->second;
}

// Builds that must have a code in common, whatever else they differ in.
class Equality {
 public:
  Equality(std::string name, std::string absent) {
    control_.name = std::move(name);
    control_.note = std::move(absent);
  }

  void compare(const CensusBuild& a, const CensusBuild& b, const std::string& where) {
    ++control_.checked;
    bool holds = a.built() == b.built() && (!a.built() || share_a_code(a, b));
    if (holds) return;
    ++control_.failed;
    control_.failing.push_back(where);
  }

  report::Control control() && {
    if (control_.checked == 0) {
      control_.outcome = report::ControlOutcome::not_applicable;
    } else {
      control_.note.clear();
      if (control_.failed > 0) control_.outcome = report::ControlOutcome::failed;
    }
    return std::move(control_);
  }

 private:
  report::Control control_;
};

bool has(const std::vector<std::string>& list, const std::string& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

class Telling {
 public:
  Telling(const std::vector<Input>& inputs, const Builds& builds,
          const std::vector<AssemblerName>& assemblers, const Selection& selection)
      : inputs_(inputs), builds_(builds), names_(assemblers), selection_(selection) {}

  report::Census tell() {
    axes();
    for (const Input& input : inputs_) {
      for (const std::string& symbol : input.kernels) {
        if (selected(selection_, input, symbol)) add_kernel(input, symbol);
      }
    }
    census_.controls.push_back(std::move(renamed_).control());
    census_.controls.push_back(std::move(pragma_).control());
    census_.controls.push_back(std::move(levels_).control());
    return std::move(census_);
  }

 private:
  // Architectures, assemblers and levels that occur.
  void axes() {
    std::set<std::pair<int, std::string>> architectures;
    std::set<AssemblerName> assemblers;
    std::set<int> levels;
    for (const auto& [key, build] : builds_) {
      bool level = selection_.opt_levels.empty() ||
                   std::find(selection_.opt_levels.begin(), selection_.opt_levels.end(),
                             key.opt_level) != selection_.opt_levels.end();
      if (!level || !has(selection_.architectures, key.architecture) ||
          !selected_assembler(selection_, key.assembler.version)) {
        continue;
      }
      architectures.emplace(assembly::architecture_number(key.architecture), key.architecture);
      assemblers.insert(key.assembler);
      levels.insert(key.opt_level);
    }
    for (const auto& [number, name] : architectures) census_.architectures.push_back(name);
    for (const AssemblerName& name : names_) {
      if (!assemblers.count(name)) continue;
      shown_.push_back(name);
      census_.assemblers.push_back({name.version, name.build});
    }
    census_.opt_levels.assign(levels.begin(), levels.end());
  }

  void add_kernel(const Input& input, const std::string& symbol) {
    auto kernel = static_cast<int64_t>(census_.kernels.size());
    size_t points = census_.points.size();
    for (size_t a = 0; a < census_.architectures.size(); ++a) {
      for (size_t v = 0; v < shown_.size(); ++v) {
        for (int64_t level : census_.opt_levels) {
          BuildKey key{input.hash, census_.architectures[a], shown_[v], static_cast<int>(level)};
          const ToldBuild* untreated = find(builds_, key, Treatment::untreated);
          const ToldBuild* treated = find(builds_, key, Treatment::treated);
          if (!untreated || !treated) continue;
          report::CensusPoint point{kernel, static_cast<int64_t>(a), static_cast<int64_t>(v),
                                    level};
          point.untreated = untreated->of(symbol);
          point.treated = treated->of(symbol);
          bool impossible = untreated->state == CellState::inexpressible ||
                            treated->state == CellState::inexpressible;
          point.reaction =
              impossible ? Reaction::impossible : reaction_of(point.untreated, point.treated);
          if (!impossible) check(key, symbol, point, shown_kernel(input, symbol));
          census_.points.push_back(std::move(point));
        }
      }
    }
    if (census_.points.size() == points) return;  // nothing is known about it
    census_.kernels.push_back({input.name, symbol, shown_kernel(input, symbol), input.hash});
  }

  void check(const BuildKey& key, const std::string& symbol, const report::CensusPoint& point,
             const std::string& name) {
    std::string where =
        fmt::format("{} on {} by ptxas {}", name, key.architecture, key.assembler.version);
    if (const ToldBuild* renamed = find(builds_, key, Treatment::renamed)) {
      renamed_.compare(point.treated, renamed->of(symbol), where);
    }
    const ToldBuild* pragma = find(builds_, key, Treatment::pragma);
    if (pragma && pragma->state != CellState::inexpressible) {
      pragma_.compare(point.treated, pragma->of(symbol), where);
    }
    if (key.opt_level != 2) return;
    BuildKey higher = key;
    higher.opt_level = 3;
    const ToldBuild* untreated = find(builds_, higher, Treatment::untreated);
    if (!untreated) return;
    levels_.compare(untreated->of(symbol), point.untreated, where);
    levels_.compare(untreated->of(symbol), point.treated, where + ", treated");
  }

  const std::vector<Input>& inputs_;
  const Builds& builds_;
  const std::vector<AssemblerName>& names_;
  const Selection& selection_;
  std::vector<AssemblerName> shown_;
  report::Census census_;
  Equality renamed_{"treated equals renamed", "no renamed build is in this ledger"};
  Equality pragma_{"treated equals the official pragma",
                   "no build with the pragma is in this ledger"};
  Equality levels_{"-O2, treated or not, gives the untreated code of -O3",
                   "-O2 and -O3 are not both in this ledger"};
};

}  // namespace

CensusBuild ToldBuild::of(const std::string& symbol) const {
  auto found = functions.find(symbol);
  CensusBuild build;
  if (found != functions.end()) build = found->second;
  build.crashed = state == CellState::crashed;
  build.timed_out = state == CellState::timed_out;
  build.failure = state != CellState::built  ? (failure.empty() ? "failed" : failure)
                  : found == functions.end() ? "the assembler left the kernel out"
                                             : "";
  return build;
}

std::map<BuildKey, ToldBuild> told_builds(std::vector<CellRecord> cells) {
  std::stable_sort(cells.begin(), cells.end(), [](const CellRecord& a, const CellRecord& b) {
    return a.key.draw < b.key.draw;
  });
  std::map<BuildKey, ToldBuild> builds;
  for (CellRecord& cell : cells) {
    BuildKey key{cell.key.text,
                 cell.key.architecture,
                 {cell.key.version, cell.key.build},
                 cell.key.opt_level,
                 cell.key.treatment};
    auto [place, is_new] = builds.try_emplace(std::move(key));
    ToldBuild& build = place->second;
    if (is_new) {
      build.state = cell.state;
      build.failure = cell.failure;
    }
    for (const FunctionRecord& record : cell.functions) {
      CensusBuild& function = build.functions[record.symbol];
      if (function.draws == 0) {
        function.registers = record.registers;
        function.stack_bytes = record.stack_bytes;
        function.spill_store_bytes = record.spill_store_bytes;
        function.spill_load_bytes = record.spill_load_bytes;
        function.code_bytes = record.code_bytes;
      }
      ++function.draws;
      if (std::find(function.codes.begin(), function.codes.end(), record.code) ==
          function.codes.end()) {
        function.codes.push_back(record.code);
      }
    }
  }
  return builds;
}

std::string shown_kernel(const Input& input, const std::string& symbol) {
  if (input.kernels.size() == 1) return input.name;
  return input.name + ": " + demangled_name(symbol);
}

bool selected(const Selection& selection, const Input& input, const std::string& symbol) {
  const std::string& glob = selection.kernel_glob;
  return glob.empty() || glob_match(glob, input.name) || glob_match(glob, symbol) ||
         glob_match(glob, demangled_name(symbol));
}

bool selected_assembler(const Selection& selection, const std::string& version) {
  return selection.assemblers.empty() ||
         std::any_of(
             selection.assemblers.begin(), selection.assemblers.end(),
             [&](const std::string& wish) { return (version + ".").starts_with(wish + "."); });
}

Result<report::Census> tell(const Ledger& ledger, const Selection& selection) {
  TRY_ASSIGN(std::vector<Input> inputs, ledger.inputs());
  TRY_ASSIGN(std::vector<AssemblerName> assemblers, ledger.assemblers());
  TRY_ASSIGN(std::vector<CellRecord> cells, ledger.cells());
  TRY_ASSIGN(Cost cost, ledger.cost());
  auto count = static_cast<int64_t>(cells.size());
  Builds builds = told_builds(std::move(cells));
  report::Census census = Telling(inputs, builds, assemblers, selection).tell();
  census.date = utc_now();
  census.ledger = ledger.file().string();
  census.cells = count;
  census.assembler_seconds = cost.assembler_seconds;
  census.own_seconds = cost.own_seconds;
  return census;
}

}  // namespace namesake::census
