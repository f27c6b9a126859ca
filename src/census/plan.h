// The matrix for many machines: a Ninja file with an edge a cell, and the results taken in again.
//
// The folder of the Ninja file gets the PTX beside it (inputs/HASH.ptx); each edge runs `namesake
// census cell` and writes results/HASH.cell. Whatever runs Ninja's edges elsewhere runs these. Only
// what the ledger lacks is planned, so draws come in a second round: plan, ninja, collect, and
// again until nothing is planned.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "census/ledger.h"
#include "census/matrix.h"

namespace namesake::census {

// How many edges were written. `own` is the executable that they run.
Result<size_t> write_plan(Ledger& ledger, const Matrix& matrix, const std::filesystem::path& ninja,
                          const std::filesystem::path& own);

struct Collected {
  size_t taken = 0, known = 0;  // cells; those that the ledger had made already
  std::vector<std::string>
      refused;  // files that are no results, or of PTX that is not in the ledger
};
// Files, and folders with all *.cell in them.
Result<Collected> collect(Ledger& ledger, const std::vector<std::filesystem::path>& places);

}  // namespace namesake::census
