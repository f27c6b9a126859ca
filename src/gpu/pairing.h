// Timing several builds against each other so that what drifts strikes them alike.
//
// Timed one after the other, two equal kernels differ by percents: the card warms, the clock falls,
// the power limit bites. So all alternatives are timed in every round, rounds come in twos with the
// second in reverse order (ABBA, BAAB; with three, BCA ACB …), the order of each two being drawn at
// random: a drift that is linear over two rounds cancels, and no alternative sits always behind the
// same neighbour. All launches are queued ahead, so the GPU never waits for the host and its clock
// does not recover in gaps.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/clock_probe.h"
#include "gpu/statistics.h"
#include "gpu/stream.h"

namespace namesake::gpu {

// The order of each round: a permutation of 0 … alternatives-1.
std::vector<std::vector<size_t>> balanced_orders(size_t alternatives, size_t rounds, uint64_t seed);

struct Timing {
  double milliseconds = 0;
  double megahertz = 0;               // 0 if too short to tell
  uint64_t begin_ns = 0, end_ns = 0;  // on the GPU's timer
  double cycles() const { return milliseconds * 1e3 * megahertz; }
};

// One round: a timing for each alternative, by its number (not by its place in the order).
struct Round {
  std::vector<size_t> order;
  std::vector<Timing> timings;
};

struct PairingOptions {
  size_t rounds = 20;
  size_t warm_up = 1;       // unrecorded rounds first
  bool cold_cache = false;  // overwrite the L2 cache before each timing
  uint64_t seed = 1;
  std::chrono::milliseconds limit{60'000};  // for all rounds; after it a kernel is said to hang
};

// Each alternative is a graph, replayed once a timing; make it last a millisecond or more (many
// launches in it) unless the caches are to be cold.
Result<std::vector<Round>> time_rounds(const Context& context, const Stream& stream,
                                       std::span<const Graph* const> alternatives,
                                       const PairingOptions& options);

std::vector<PairedTime> pair_times(std::span<const Round> rounds, size_t a, size_t b);
std::vector<PairedTime> pair_cycles(std::span<const Round> rounds, size_t a, size_t b);

}  // namespace namesake::gpu
