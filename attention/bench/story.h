// One cell of the story: each of our kernels as the assembler makes it untreated and treated, and
// cuDNN, all timed in the same rounds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codes.h"
#include "measure.h"

namespace namesake::bench {

struct Told {
  attention::Kernel kernel = attention::Kernel::hopper;
  CodePair codes;
  Speed untreated;
  // Where the codes differ:
  std::optional<Speed> treated;
  std::optional<gpu::Comparison> time;  // treated / untreated
  int64_t differing_bytes = 0;          // of the results
};

struct StoryCell {
  Cell cell;
  std::vector<Told> told;
  std::optional<Speed> peer;
  std::string why_no_peer;
  std::vector<PlanTime> plans;
  int64_t calls = 0;
  size_t rounds = 0, dropped = 0;
  double seconds = 0;
};

Result<StoryCell> tell(const Machine& machine, const Cell& cell, const std::vector<CodePair>& pairs,
                       const Effort& effort);

}  // namespace namesake::bench
