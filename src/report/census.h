// What `namesake census show` found, as data: census fills it, the pages only render it.
//
// A point is one kernel of one module, on one architecture, by one assembler, at one -O level: its
// untreated and its treated build. Kernels, architectures and assemblers are told by their place in
// the lists, since points are many.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/difference.h"

namespace namesake::report {

enum class Reaction : uint8_t {
  same,        // byte for byte
  different,   // the sets of draws are disjoint
  lottery,     // a build varies from run to run, and the sets overlap
  failed,      // one build could not be made, or neither
  impossible,  // the text says what this assembler does not know
};
constexpr const char* kReactionNames[] = {"same", "different", "lottery", "failed", "impossible"};
constexpr size_t kReactionCount = 5;

struct CensusBuild {
  std::string failure;  // "" or why there is no code
  bool crashed = false, timed_out = false;
  int64_t registers = 0, stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;
  int64_t code_bytes = 0;
  std::vector<std::string> codes;  // distinct hashes over all draws, the fixed run's first
  int64_t draws = 0;               // runs, the fixed one included; 0: never made
  bool built() const { return failure.empty() && !codes.empty(); }
  int64_t spills() const { return spill_store_bytes + spill_load_bytes; }
};

struct CensusPoint {
  int64_t kernel = 0, architecture = 0, assembler = 0, opt_level = 3;
  Reaction reaction = Reaction::same;
  CensusBuild untreated, treated;
};

struct CensusKernel {
  std::string input;  // the module's name in the ledger
  std::string symbol;
  std::string name;  // the module's, with the kernel's where it has several
  std::string text;  // hash of the PTX
};

struct CensusAssembler {
  std::string version, build;
};

// The instructions of one point side by side, for the page.
struct CensusSass {
  int64_t point = 0;  // in Census::points
  std::vector<SassRow> rows;
  bool cut = false;  // there are more
};

struct Census {
  std::string command;  // as typed
  std::string date;     // ISO 8601, UTC
  std::string ledger;   // the file
  std::vector<CensusKernel> kernels;
  std::vector<std::string> architectures;
  std::vector<CensusAssembler> assemblers;  // oldest first
  std::vector<int64_t> opt_levels;
  std::vector<CensusPoint> points;  // by kernel, architecture, assembler, level
  std::vector<Control> controls;
  std::vector<std::string> notes;
  int64_t cells = 0;                              // assemblies in the ledger
  double assembler_seconds = 0, own_seconds = 0;  // processor time of making them
  std::vector<CensusSass> sass;                   // for HTML only; not in JSON
  std::string next_command;
};

}  // namespace namesake::report
