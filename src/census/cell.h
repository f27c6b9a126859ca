// One cell of the matrix: one module, one architecture, one assembler, one way to build.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "assembly/experiment.h"
#include "assembly/inputs.h"
#include "util/error.h"

namespace namesake::census {

enum class CellState : uint8_t {
  built,
  failed,         // the assembler refused it
  crashed,        // or died of it
  timed_out,      // or did not end
  inexpressible,  // the text says what this assembler or architecture does not know
};
std::string_view state_name(CellState);
Result<CellState> state_of(std::string_view name);

// What decides a cell, apart from the module's text. The address of nothing on this machine is in
// it: equal cells of two machines are the same cell.
struct CellKey {
  std::string text;  // hash of the PTX
  std::string architecture;
  std::string version, build;  // of the assembler, as it says itself
  int opt_level = 3;
  assembly::Treatment treatment = assembly::Treatment::untreated;
  int draw = 0;  // 0: with randomisation off; 1, 2, …: repeats with it on
  auto operator<=>(const CellKey&) const = default;
};

struct CellResult {
  CellState state = CellState::built;
  assembly::Outcome outcome;  // functions under the module's own symbols
};

// Whether tables alone say that it cannot be: the target's architecture, the PTX version that it or
// the architecture needs. "" or the reason.
std::string impossible(const ptx::Module& module, std::string_view architecture,
                       std::string_view assembler_version);

// Assembles. An error only where the assembler cannot be started.
Result<CellResult> make_cell(const assembly::Unit& unit, const toolchain::Tool& assembler,
                             const CellKey& key, const assembly::HookVariables& hooks,
                             std::chrono::milliseconds timeout);

// A key and its result as one file, for machines that share no ledger.
std::string cell_file(const CellKey& key, const CellResult& result);
struct ReadCell {
  CellKey key;
  CellResult result;
};
Result<ReadCell> read_cell(std::string_view bytes, std::string_view origin);

}  // namespace namesake::census
