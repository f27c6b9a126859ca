// How sides are timed: one alone, the peer's plans against each other, and some in pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/pairing.h"
#include "measure.h"
#include "sides.h"

namespace namesake::bench {

inline constexpr double kShortestTiming = 2;  // ms: one replay of a graph lasts at least this long

double per_second(double flops, double milliseconds);   // TFLOP/s
int64_t calls_for(double milliseconds, double of_one);  // at least 1

// The time of one call, after one that loads the code. A call that hangs is an error.
Result<double> time_of_one(const Machine& machine, const Side& side);

struct Best {
  Side side;
  double milliseconds = 0;
};
// Races the peer's plans. One that fails when run is left out.
Result<Best> race(const Machine& machine, const Cell& cell, const std::vector<Side>& all,
                  std::vector<PlanTime>* times);
// The fastest of cuDNN's plans; or why there is none.
Result<Best> best_of_cudnn(const Machine& machine, Setting& setting, const Cell& cell,
                           std::vector<PlanTime>* times);

// Every side in every round. All must have been called once; `milliseconds` is what one call of
// each takes in all.
struct Paired {
  std::vector<Speed> speeds;  // of each side
  std::vector<gpu::Round> rounds;
  size_t dropped = 0;
  int64_t calls = 0;  // in one timing
  std::optional<gpu::CardSummary> card;
};
Result<Paired> time_paired(const Machine& machine, const Cell& cell, const std::vector<Side>& sides,
                           double milliseconds, const Effort& effort);

}  // namespace namesake::bench
