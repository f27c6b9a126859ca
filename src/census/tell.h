// A ledger as a report: cells put together to points, draws to sets.
#pragma once

#include <string>
#include <vector>

#include "census/ledger.h"
#include "report/census.h"

namespace namesake::census {

struct Selection {          // empty: everything
  std::string kernel_glob;  // on the module's name, the symbol or the readable name
  std::vector<std::string> architectures;
  std::vector<std::string> assemblers;  // "12.9", "12.9.86"
  std::vector<int> opt_levels;
};

// One build as a report shows it, over all its draws: the run with randomisation off first.
struct BuildKey {
  std::string text, architecture;
  AssemblerName assembler;
  int opt_level = 3;
  assembly::Treatment treatment = assembly::Treatment::untreated;
  auto operator<=>(const BuildKey&) const = default;
};
struct ToldBuild {
  CellState state = CellState::built;
  std::string failure;
  std::map<std::string, report::CensusBuild> functions;  // by symbol
  // Also for a symbol that the assembler left out, or a build that failed.
  report::CensusBuild of(const std::string& symbol) const;
};
std::map<BuildKey, ToldBuild> told_builds(std::vector<CellRecord> cells);

bool selected(const Selection& selection, const Input& input, const std::string& symbol);
bool selected_assembler(const Selection& selection, const std::string& version);

Result<report::Census> tell(const Ledger& ledger, const Selection& selection);

// "sgemm", or "shapes: two(int)" where the module has several kernels.
std::string shown_kernel(const Input& input, const std::string& symbol);

}  // namespace namesake::census
