// One cell measured: every plan of the peer alone, the best one against ours in pairs; or each at
// the power limit.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cells.h"
#include "cudnn_peer.h"
#include "gpu/clocks.h"
#include "gpu/pairing.h"
#include "gpu/statistics.h"

namespace namesake::bench {

// What the races of one run have found. Plans that were far behind at a shorter length are not
// tried again where one call takes a good part of a second, and a cell that was raced is not raced
// again.
struct RaceMemory {
  std::map<std::string, std::string> best;              // by the cell's name
  std::map<std::string, std::set<std::string>> behind;  // by the name without its length and batch
};

struct Machine {
  const gpu::Context* context = nullptr;
  const gpu::Stream* stream = nullptr;
  std::shared_ptr<const gpu::Card> card;  // null where NVML is not
  const Cudnn* cudnn = nullptr;           // null where cuDNN is not
  RaceMemory* memory = nullptr;
  attention::Kernel kernel = attention::Kernel::automatic;  // which of ours
};

struct Effort {
  double cell_milliseconds = 400;  // of paired launches
  size_t fewest_rounds = 6;        // as many as an interval at 95% needs
  size_t most_rounds = 30;
  double sustained_seconds = 3;
};

// What one side reached.
struct Speed {
  std::string name, kernel;
  gpu::Estimate teraflops;
  double milliseconds = 0;  // of one call, median
  double clock_mhz = 0;
  double flop_per_clock = 0;  // and multiprocessor
  double of_peak =
      0;  // the same as a share of the tensor cores' peak: the roofline at the clock in force
  std::optional<double> error;
};

struct PlanTime {
  std::string name;
  double teraflops = 0;
};

struct Measured {
  Cell cell;
  std::optional<Speed> ours, peer;
  std::string why_not_ours, why_no_peer;        // empty, or a sentence
  std::vector<PlanTime> plans;                  // the peer's, raced against each other
  std::optional<gpu::Comparison> time, cycles;  // ours / peer's
  int64_t calls = 0;                            // in one timing
  size_t rounds = 0, dropped = 0;
  std::optional<gpu::CardSummary> card;
  double seconds = 0;  // the whole cell
};
Result<Measured> measure(const Machine& machine, const Cell& cell, const Effort& effort);

// Back-to-back calls for some seconds, one side after the other.
struct Sustained {
  std::string name, kernel;
  double seconds = 0, teraflops = 0, clock_mhz = 0, flop_per_clock = 0, of_peak = 0;
  double watts = 0, joules_per_call = 0, gigaflop_per_joule = 0;
  unsigned celsius = 0;
  std::string slowdowns;
};
Result<std::vector<Sustained>> sustain(const Machine& machine, const Cell& cell,
                                       const Effort& effort);

// Floating-point operations that one multiprocessor's tensor cores do a clock: 16-bit formats, fp8.
inline constexpr double kPeakFlopPerClock = 4096, kPeakFlopPerClock8 = 8192;
inline double peak_flop_per_clock(const Cell& cell) {
  return cell.fp8() ? kPeakFlopPerClock8 : kPeakFlopPerClock;
}

}  // namespace namesake::bench
