#include "gpu/pairing.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "gpu/memory.h"

namespace namesake::gpu {
namespace {

struct Mark {
  Event begin, end;
};

// What stands on the stream for one timing. The probes lie outside the events.
Status enqueue(const Stream& stream, const Graph& graph, const Mark& mark, const ClockProbe& probe,
               size_t timing) {
  TRY(probe.read(stream, 2 * timing));
  TRY(record(mark.begin, stream));
  TRY(replay(graph, stream));
  TRY(record(mark.end, stream));
  return probe.read(stream, 2 * timing + 1);
}

// Twice the cache's size, written: nothing of what was in it stays.
class CacheFlush {
 public:
  static Result<CacheFlush> create(const Context& context, bool wanted) {
    CacheFlush flush;
    if (wanted) {
      const size_t bytes = 2 * static_cast<size_t>(context.device().l2_bytes);
      TRY_ASSIGN(flush.buffer_, Buffer::allocate(context, bytes));
    }
    return flush;
  }
  Status operator()(const Stream& stream) const {
    return buffer_.bytes() ? fill(stream, buffer_.address(), 0, buffer_.bytes()) : Status{};
  }

 private:
  Buffer buffer_;
};

}  // namespace

std::vector<std::vector<size_t>> balanced_orders(size_t alternatives, size_t rounds,
                                                 uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<size_t> order(alternatives);
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<std::vector<size_t>> orders;
  while (orders.size() < rounds) {
    std::shuffle(order.begin(), order.end(), random);
    orders.push_back(order);
    orders.emplace_back(order.rbegin(), order.rend());
  }
  orders.resize(rounds);
  return orders;
}

Result<std::vector<Round>> time_rounds(const Context& context, const Stream& stream,
                                       std::span<const Graph* const> alternatives,
                                       const PairingOptions& options) {
  const size_t timings = options.rounds * alternatives.size();
  TRY_ASSIGN(const ClockProbe probe, ClockProbe::create(context, 2 * timings));
  TRY_ASSIGN(const CacheFlush flush, CacheFlush::create(context, options.cold_cache));
  std::vector<Mark> marks(timings);
  for (Mark& mark : marks) {
    TRY_ASSIGN(mark.begin, create_event(context));
    TRY_ASSIGN(mark.end, create_event(context));
  }

  for (size_t i = 0; i < options.warm_up; ++i)
    for (const Graph* graph : alternatives) TRY(replay(*graph, stream));
  const auto orders = balanced_orders(alternatives.size(), options.rounds, options.seed);
  for (size_t round = 0; round < orders.size(); ++round) {
    for (const size_t alternative : orders[round]) {
      const size_t timing = round * alternatives.size() + alternative;
      TRY(flush(stream));
      TRY(enqueue(stream, *alternatives[alternative], marks[timing], probe, timing));
    }
  }
  TRY_ASSIGN(const Event done, create_event(context));
  TRY(record(done, stream));
  TRY(wait(done, options.limit));

  TRY_ASSIGN(const auto readings, probe.collect(stream));
  std::vector<Round> rounds(options.rounds);
  for (size_t round = 0; round < rounds.size(); ++round) {
    rounds[round].order = orders[round];
    for (size_t alternative = 0; alternative < alternatives.size(); ++alternative) {
      const size_t timing = round * alternatives.size() + alternative;
      const ClockSpan span = clock_between(readings[2 * timing], readings[2 * timing + 1]);
      Timing taken{.megahertz = span.megahertz, .begin_ns = span.begin_ns, .end_ns = span.end_ns};
      TRY_ASSIGN(taken.milliseconds, milliseconds_between(marks[timing].begin, marks[timing].end));
      rounds[round].timings.push_back(taken);
    }
  }
  return rounds;
}

std::vector<PairedTime> pair_times(std::span<const Round> rounds, size_t a, size_t b) {
  std::vector<PairedTime> pairs;
  for (const Round& round : rounds)
    pairs.push_back({round.timings[a].milliseconds, round.timings[b].milliseconds});
  return pairs;
}

std::vector<PairedTime> pair_cycles(std::span<const Round> rounds, size_t a, size_t b) {
  std::vector<PairedTime> pairs;
  for (const Round& round : rounds)
    pairs.push_back({round.timings[a].cycles(), round.timings[b].cycles()});
  return pairs;
}

}  // namespace namesake::gpu
