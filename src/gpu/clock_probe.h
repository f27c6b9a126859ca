// The multiprocessor clock while a piece of work ran, read on the multiprocessors themselves.
//
// NVML answers with a clock that is some milliseconds old and knows nothing of one launch. A tiny
// kernel before and one after the work instead store, for each multiprocessor, its cycle counter
// and the GPU's nanosecond timer: the quotient of the two differences is the true mean clock of
// just that work. The price is two launches of a few microseconds outside the timed interval.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/memory.h"
#include "gpu/module.h"

namespace namesake::gpu {

struct ClockReading {
  uint64_t cycles = 0, nanoseconds = 0;
};

class ClockProbe {
 public:
  // Room for so many readings.
  static Result<ClockProbe> create(const Context& context, size_t readings);

  Status read(const Stream& stream, size_t reading) const;  // asynchronous
  // All readings, one vector each with an entry a multiprocessor; waits.
  Result<std::vector<std::vector<ClockReading>>> collect(const Stream& stream) const;
  size_t readings() const { return readings_; }

 private:
  Module module_;
  Kernel kernel_;
  Buffer buffer_;
  size_t readings_ = 0;
  unsigned blocks_ = 0;
};

// From two readings: the median over multiprocessors that both saw; 0 MHz if the interval is too
// short for the timer's steps to matter less than a thousandth.
struct ClockSpan {
  double megahertz = 0;
  uint64_t begin_ns = 0, end_ns = 0;  // on the GPU's timer
};
ClockSpan clock_between(std::span<const ClockReading> before, std::span<const ClockReading> after);

}  // namespace namesake::gpu
