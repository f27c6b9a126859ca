// What a census shows, computed from its points: the one place that reads the numbers, so that
// terminal, JSON, HTML and the tables in docs/ say the same.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "report/census.h"

namespace namesake::report {

// How the points of one assembler on one architecture react.
struct ReactionCount {
  std::array<int64_t, kReactionCount> by_reaction{};
  int64_t asked() const;  // points that could be built: all but the impossible
};
// [assembler][architecture], at one level.
std::vector<std::vector<ReactionCount>> count_reactions(const Census&, int64_t opt_level);

// One kernel on one architecture over the assemblers, oldest first: stretches of equal reaction. A
// point that is missing or impossible ends no stretch.
struct Stretch {
  Reaction reaction = Reaction::same;
  int64_t first = 0, last = 0;  // assemblers
};
struct History {
  int64_t kernel = 0, architecture = 0;
  std::vector<Stretch> stretches;  // none: not expressible anywhere
};
std::vector<History> histories(const Census&, int64_t opt_level);

// "≠"; "≠ 12.4+" where it is the same before 12.4; "? 12.8–13.4, = 13.5+"
std::string shown_history(const Census&, const History&);

// Consecutive assemblers among which a kernel's builds spill alike.
struct SpillChange {
  int64_t kernel = 0, architecture = 0, first = 0, last = 0;
  int64_t untreated = 0, treated = 0;  // bytes of stores and loads, at the last of them
};
std::vector<SpillChange> spill_changes(const Census&,
                                       int64_t opt_level);  // gained first, largest first

struct CensusRatio {
  double mean = 1, least = 1, most = 1;  // geometric
  int64_t count = 0;
};
std::string shown_ratio(const CensusRatio&);  // "−1.2% (−20.0% … +33.3%)"; "" of none
// Treated over untreated, of the points that differ, on one architecture (or on all) by one
// assembler (or by all).
struct CensusRatios {
  CensusRatio registers, code;
};
CensusRatios ratios(const Census&, int64_t opt_level, std::optional<int64_t> architecture,
                    std::optional<int64_t> assembler);

struct Lottery {
  int64_t kernel = 0, architecture = 0;
  std::vector<int64_t> assemblers;
  int64_t most_codes = 0, draws = 0;  // of one build
};
std::vector<Lottery> lotteries(const Census&, int64_t opt_level);

// Builds that died or did not end, in one treatment alone or in both.
struct Casualty {
  int64_t kernel = 0, architecture = 0;
  std::vector<int64_t> assemblers;
  std::string untreated, treated;  // failures; "" where it was built
};
std::vector<Casualty> casualties(const Census&, int64_t opt_level);

// What one release changed, with no name involved: the untreated builds of two assemblers.
struct Upgrade {
  int64_t from = 0, to = 0;
  int64_t compared = 0, other_code = 0;  // points built by both
  CensusRatio registers, code;           // to over from, of those with other code
  int64_t spills_gained = 0, spills_lost = 0;
  int64_t newly_failed = 0, newly_built = 0;       // possible in both
  int64_t reaction_began = 0, reaction_ended = 0;  // points whose reaction to the name changed
  // The kernels of those points.
  std::set<int64_t> with_other_code, beginning, ending, spilling_more, spilling_less;
};
Upgrade upgrade(const Census&, int64_t opt_level, int64_t from, int64_t to);
std::vector<Upgrade> upgrades(const Census&, int64_t opt_level);  // each release to the next

const CensusPoint* find_point(const Census&, int64_t kernel, int64_t architecture,
                              int64_t assembler, int64_t opt_level);

// One or two sentences about all of it.
std::string summary_sentence(const Census&);

// Of the level that the census is about: -O3 where it has it, else the highest.
int64_t main_opt_level(const Census&);

// "12.9" where no other release of the census begins so, else the whole version.
std::string short_version(const Census&, int64_t assembler);
// "11.7–12.4, 13.0": runs of neighbours joined.
std::string shown_assemblers(const Census&, const std::vector<int64_t>& assemblers);

}  // namespace namesake::report
