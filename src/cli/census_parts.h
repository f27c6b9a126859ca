// The parts of `namesake census`: each its options and its work. The ledger's name is the whole
// command's option.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "census/matrix.h"
#include "cli/command.h"

namespace namesake::cli {

struct CensusOptions {
  std::string ledger = "census.sqlite";
  std::vector<std::string> kernels, assemblers;
  std::vector<std::string> architectures = {"sm_80",  "sm_86",   "sm_89",   "sm_90",
                                            "sm_90a", "sm_100a", "sm_103a", "sm_120a"};
  std::vector<std::string> treatments = {"untreated", "treated"};
  std::vector<int> opt_levels = {3};
  int draws = 4, timeout = 300, jobs = 1;
};

struct CensusPart {
  CLI::App* app = nullptr;
  std::function<Result<int>()> run;
};
using SharedOptions = std::shared_ptr<CensusOptions>;

CensusPart add_census_show(CLI::App& census, const SharedOptions& options, const Global& global);
CensusPart add_census_plan(CLI::App& census, const SharedOptions& options);
CensusPart add_census_cell(CLI::App& census, const SharedOptions& options);
CensusPart add_census_collect(CLI::App& census, const SharedOptions& options);
CensusPart add_census_export(CLI::App& census, const SharedOptions& options);
CensusPart add_census_check(CLI::App& census, const SharedOptions& options, const Global& global);
CensusPart add_census_update(CLI::App& census, const SharedOptions& options, const Global& global);

// What the options ask for, its kernels entered into the ledger, which is made if need be; nothing is
// made where the options make no sense.
struct Census {
  census::Ledger ledger;
  census::Matrix matrix;
};
Result<Census> open_census(const CensusOptions& options, const std::filesystem::path& ledger);

// Makes the matrix's cells, with progress, until all are made or the user interrupts; says in a line what was done.
Result<std::string> run_census(census::Ledger& ledger, census::Matrix matrix,
                               const CensusOptions& options, const Global& global);

}  // namespace namesake::cli
