// The ledger: one SQLite file that holds what was assembled, how, and what came out.
//
//   text       PTX modules, compressed, by hash          input     names for texts
//   kernel     the symbols studied in a text             assembler version and build, as they say
//   it cell       one assembly: made, claimed or wanted     code      machine code, compressed, by
//   hash function   a kernel's code in a cell, with its registers and spills worker     the
//   processes that made cells, and what that cost
//
// A cell is decided by its key alone (census/cell.h), so nothing is assembled twice, whatever file
// it came from. Cells are claimed one at a time in transactions; a claim holds as long as its
// worker lives (census/presence.h). Write-ahead logging: readers see the ledger as of their last
// look, a kill at any moment loses the assemblies in flight and nothing else, and when the last
// process closes it there is one file again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assembly/experiment.h"
#include "census/cell.h"
#include "census/presence.h"
#include "census/sqlite.h"
#include "util/error.h"

namespace namesake::census {

struct Input {
  std::string name;                  // "sgemm", "triton/matmul"
  std::string hash;                  // of the text
  std::vector<std::string> kernels;  // the symbols studied
};

struct AssemblerName {
  std::string version, build;
  auto operator<=>(const AssemblerName&) const = default;
};

struct FunctionRecord {
  std::string symbol;
  std::string code;  // hash
  int64_t registers = 0, stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;
  int64_t code_bytes = 0, shared_bytes = 0;
};

struct CellRecord {  // a cell that was made
  CellKey key;
  CellState state = CellState::built;
  std::string failure;
  double wall_seconds = 0, cpu_seconds = 0;
  std::vector<FunctionRecord> functions;
};

struct Cost {  // processor seconds
  int64_t cells = 0;
  double wall_seconds = 0, own_seconds = 0, assembler_seconds = 0;
};

class Ledger {
 public:
  // Made where it is missing, unless `existing`. An error for a file that is no ledger, or a ledger
  // of a newer namesake.
  static Result<Ledger> open(const std::filesystem::path& file, bool existing);

  // ---- what is asked
  // A name stands for its newest text; cells of the old one stay, and are shown no more.
  Result<Input> add_input(std::string_view name, std::string_view text,
                          const std::vector<std::string>& kernels);
  Result<std::vector<Input>> inputs() const;
  Result<std::string> text(const std::string& hash) const;

  struct Wanted {
    int64_t id = 0;
    CellKey key;
  };
  // Enters the cells that are not known yet; gives back those that nobody has made.
  Result<std::vector<Wanted>> want(const std::vector<CellKey>& keys);

  // ---- making them
  Status begin_work();               // as a worker that others can see; once is enough
  Result<bool> claim(int64_t cell);  // false: made already, or being made by another
  Result<bool> unmade(int64_t cell) const;
  Status store(int64_t cell, const CellResult& result);
  Status note_cost(const Cost& cost);  // of this worker so far

  // ---- what came out
  Result<std::vector<AssemblerName>> assemblers() const;  // of cells that were made, by version
  Result<std::vector<CellRecord>> cells() const;          // that were made, of the inputs' texts
  Result<std::optional<assembly::FunctionCode>> code(const std::string& hash) const;
  Result<Cost> cost() const;  // of all workers

  const std::filesystem::path& file() const { return file_; }

 private:
  Ledger(std::filesystem::path file, Presence presence, Database database)
      : file_(std::move(file)), presence_(std::move(presence)), database_(std::move(database)) {}
  Result<int64_t> text_id(const std::string& hash) const;
  Result<int64_t> assembler_id(const AssemblerName& name) const;
  Result<int64_t> code_id(const assembly::FunctionCode& code) const;

  std::filesystem::path file_;
  Presence presence_;  // outlives the database: see there
  Database database_;
  int64_t worker_ = 0;
};

}  // namespace namesake::census
