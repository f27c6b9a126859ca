// What a difference means, in words: the one place that reads the numbers, so that terminal, JSON
// and HTML say the same.
//
// The sentences name what changed and which way it may cut. They never say faster or slower: the
// same change of registers has gone both ways on real GPUs, and only measuring tells.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/difference.h"

namespace namesake::report {

constexpr size_t kVerdictCount = 5;
// How many functions have each verdict, on one architecture or (empty) on all.
std::array<int64_t, kVerdictCount> count_verdicts(const Difference&,
                                                  std::string_view architecture = "");

// The difference's architectures in its own order, then those that only functions name.
std::vector<std::string> architectures_of(const Difference&);

// One key of two mixes whose counts differ.
struct Mover {
  std::string name;
  int64_t a = 0, b = 0;
  int64_t delta() const { return b - a; }
};
// Largest move first.
std::vector<Mover> movers(const std::map<std::string, int64_t>& a,
                          const std::map<std::string, int64_t>& b);

// How much of a function changes: a size to sort by, no measure of harm.
int64_t size_of_change(const FunctionDifference&);
// Failed first, then lottery and different by size of change, then registers, then same; ties by
// name.
std::vector<const FunctionDifference*> by_importance(const Difference&);

// How many warps the register file of one SM holds at so many registers a thread; nothing for an
// unknown architecture. An upper bound on occupancy: shared memory and block size may bind earlier.
std::optional<int64_t> warps_by_registers(std::string_view architecture, int64_t registers);
// The same in whole blocks of `threads`.
std::optional<int64_t> blocks_by_registers(std::string_view architecture, int64_t registers,
                                           int64_t threads);

// One sentence about one function, without its full stop; the labels are the builds'
// (BuildDescription::label).
std::string explain(const FunctionDifference&, std::string_view a = "untreated",
                    std::string_view b = "treated");
// One or two sentences about all of them.
std::string summary_sentence(const Difference&);

}  // namespace namesake::report
