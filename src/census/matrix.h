// Which cells a census wants: every input on every architecture that its text can be assembled for,
// by every assembler that knows both, at each -O level, in each treatment.
//
// Draws. Each build is made once with randomisation off; that run is compared. One more run of the
// first treatment, with randomisation on, is a probe: where its code differs from the fixed run's,
// the module is a lottery on that architecture, and there every assembler's builds, in every
// treatment, are drawn `draws` times. One probe can miss a rare lottery; over all assemblers that
// is less likely, and drawing everything would cost several times as much.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "assembly/inputs.h"
#include "census/ledger.h"
#include "toolchain/toolchain.h"

namespace namesake::census {

struct Matrix {
  std::vector<Input> inputs;
  std::vector<std::string> architectures;
  std::vector<toolchain::Tool> assemblers;
  std::vector<int> opt_levels = {3};
  std::vector<assembly::Treatment> treatments = {assembly::Treatment::untreated,
                                                 assembly::Treatment::treated};
  int draws = 4;  // 0: not even the probe
};

using Units = std::map<std::string, assembly::Unit>;  // by the text's hash
Result<Units> units_of(const Ledger& ledger, const std::vector<Input>& inputs);

// The cells with randomisation off, and the probes; the assemblers in their order, each whole
// before the next.
std::vector<CellKey> cells_of(const Matrix& matrix, const Units& units);

// The draws that what was made so far asks for.
std::vector<CellKey> further_draws(const Matrix& matrix, const Units& units,
                                   const std::vector<CellRecord>& made);

}  // namespace namesake::census
