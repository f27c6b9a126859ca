#include "measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sides.h"

namespace namesake::bench {
namespace {

constexpr double kShortestTiming = 2;  // ms: one replay of a graph lasts at least this long
constexpr double kWarmUp = 40;    // ms of the real work before the first timing: the clock settles
constexpr double kLongCall = 40;  // ms: plans slower than this are timed by single calls
constexpr double kLongFlops = 2e13;  // work of which a slow plan takes a good part of a second
constexpr double kFarBehind = 1.3;   // times the best plan's time
constexpr size_t kRaceRounds = 3;
constexpr std::chrono::seconds kCallLimit{20};

double per_second(double flops, double milliseconds) {
  return flops / milliseconds / 1e9;
}  // TFLOP/s

// The time of one call, after one that loads the code. A call that hangs is an error.
Result<double> time_of_one(const Machine& machine, const Side& side) {
  const gpu::Stream& stream = *machine.stream;
  TRY_ASSIGN(const gpu::Event begin, gpu::create_event(*machine.context));
  TRY_ASSIGN(const gpu::Event end, gpu::create_event(*machine.context));
  double milliseconds = 0;
  for (int i = 0; i < 2; ++i) {
    TRY(gpu::record(begin, stream));
    TRY(side.enqueue(stream.get()));
    TRY(gpu::record(end, stream));
    TRY(gpu::wait(end, kCallLimit));
    TRY_ASSIGN(milliseconds, gpu::milliseconds_between(begin, end));
    if (i == 0 && milliseconds > 10 * kLongCall) break;
  }
  return milliseconds;
}

int64_t calls_for(double milliseconds, double of_one) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(milliseconds / of_one)));
}

struct Best {
  Side side;
  double milliseconds = 0;
};

std::string shape_of(const Cell& cell) {
  Cell without = cell;
  without.length = 0;
  return without.name();
}

// The plans worth running: all of them, but for what an earlier race has settled.
std::vector<Side> worth_running(const RaceMemory& memory, const Cell& cell,
                                const std::vector<Side>& sides) {
  const auto best = memory.best.find(cell.name());
  const auto behind = memory.behind.find(shape_of(cell));
  std::vector<Side> chosen;
  for (const Side& side : sides) {
    if (best != memory.best.end() && side.kernel != best->second) continue;
    if (cell.flops() > kLongFlops && behind != memory.behind.end() &&
        behind->second.contains(side.kernel))
      continue;
    chosen.push_back(side);
  }
  return chosen.empty() ? sides : chosen;
}

// Races the peer's plans. One that fails when run is left out.
Result<Best> race(const Machine& machine, const Cell& cell, const std::vector<Side>& all,
                  std::vector<PlanTime>* times) {
  const std::vector<Side> sides = worth_running(*machine.memory, cell, all);
  std::vector<const Side*> runners;
  std::vector<double> alone;
  std::string failure = "no plan";
  for (const Side& side : sides) {
    const auto milliseconds = time_of_one(machine, side);
    if (!milliseconds) {
      failure = milliseconds.error().message;
      continue;
    }
    runners.push_back(&side);
    alone.push_back(*milliseconds);
  }
  if (runners.empty()) return error(failure);
  const double fastest = *std::min_element(alone.begin(), alone.end());
  std::vector<double> raced = alone;
  if (fastest < kLongCall) {
    const int64_t calls = calls_for(kShortestTiming, fastest);
    std::vector<gpu::Graph> graphs;
    for (const Side* side : runners) {
      TRY_ASSIGN(gpu::Graph graph, record_calls(*machine.stream, *side, calls));
      graphs.push_back(std::move(graph));
    }
    std::vector<const gpu::Graph*> pointers;
    for (const gpu::Graph& graph : graphs) pointers.push_back(&graph);
    TRY_ASSIGN(const auto rounds, gpu::time_rounds(*machine.context, *machine.stream, pointers,
                                                   {.rounds = kRaceRounds}));
    for (size_t i = 0; i < runners.size(); ++i) {
      std::vector<double> values;
      for (const gpu::Round& round : rounds) values.push_back(round.timings[i].milliseconds);
      raced[i] = gpu::median(values) / static_cast<double>(calls);
    }
  }
  const auto winner =
      static_cast<size_t>(std::min_element(raced.begin(), raced.end()) - raced.begin());
  machine.memory->best[cell.name()] = runners[winner]->kernel;
  for (size_t i = 0; i < runners.size(); ++i) {
    times->push_back({runners[i]->kernel, per_second(cell.flops(), raced[i])});
    if (raced[i] > kFarBehind * raced[winner])
      machine.memory->behind[shape_of(cell)].insert(runners[i]->kernel);
  }
  return Best{*runners[winner], raced[winner]};
}

Speed speed_of(const Machine& machine, const Side& side, const std::vector<gpu::Round>& rounds,
               size_t place, double flops, int64_t calls) {
  std::vector<double> teraflops, milliseconds, clocks;
  for (const gpu::Round& round : rounds) {
    const gpu::Timing& timing = round.timings[place];
    milliseconds.push_back(timing.milliseconds / static_cast<double>(calls));
    teraflops.push_back(per_second(flops, milliseconds.back()));
    if (timing.megahertz > 0) clocks.push_back(timing.megahertz);
  }
  Speed speed{.name = side.name, .kernel = side.kernel};
  speed.teraflops = gpu::estimate(teraflops);
  speed.milliseconds = gpu::median(milliseconds);
  speed.clock_mhz = gpu::median(clocks);
  if (speed.clock_mhz > 0)
    speed.flop_per_clock = flops / (speed.milliseconds * 1e3 * speed.clock_mhz) /
                           machine.context->device().multiprocessors;
  speed.of_peak = speed.flop_per_clock / kPeakFlopPerClock;
  return speed;
}

}  // namespace

Result<Measured> measure(const Machine& machine, const Cell& cell, const Effort& effort) {
  const gpu::Context& context = *machine.context;
  const gpu::Stream& stream = *machine.stream;
  const auto begin = std::chrono::steady_clock::now();
  Measured result{.cell = cell};
  TRY_ASSIGN(Setting setting, Setting::make(context, stream, cell));

  std::vector<Side> sides;
  double milliseconds = 0;
  const auto ours = setting.ours(context, machine.kernel);
  if (ours) {
    TRY_ASSIGN(const double alone, time_of_one(machine, *ours));
    sides.push_back(*ours);
    milliseconds += alone;
  } else {
    result.why_not_ours = ours.error().message;
  }
  if (machine.cudnn) {
    auto peers = setting.cudnn(context, *machine.cudnn);
    auto best = peers ? race(machine, cell, *peers, &result.plans)
                      : Result<Best>(error(peers.error().message));
    if (best) {
      sides.push_back(best->side);
      milliseconds += best->milliseconds;
    } else {
      result.why_no_peer = best.error().message;
    }
  } else {
    result.why_no_peer = "cuDNN is not here";
  }
  if (sides.empty())
    return error(cell.name() + ": " + result.why_not_ours + "; " + result.why_no_peer);

  std::vector<double> errors;
  for (const Side& side : sides) {
    TRY_ASSIGN(const double relative, setting.error_of(context, stream, side));
    errors.push_back(relative);
  }

  result.calls = calls_for(kShortestTiming, milliseconds / static_cast<double>(sides.size()));
  std::vector<gpu::Graph> graphs;
  for (const Side& side : sides) {
    TRY_ASSIGN(gpu::Graph graph, record_calls(stream, side, result.calls));
    graphs.push_back(std::move(graph));
  }
  std::vector<const gpu::Graph*> pointers;
  for (const gpu::Graph& graph : graphs) pointers.push_back(&graph);
  const double round_milliseconds = milliseconds * static_cast<double>(result.calls);
  const auto affordable = static_cast<size_t>(effort.cell_milliseconds / round_milliseconds);
  const size_t wanted = std::clamp(affordable, effort.fewest_rounds, effort.most_rounds);
  TRY_ASSIGN(const int64_t offset, gpu::host_minus_gpu_ns(context, stream));
  std::optional<gpu::Watch> watch;
  if (machine.card) watch.emplace(machine.card);
  TRY_ASSIGN(auto rounds,
             gpu::time_rounds(context, stream, pointers,
                              {.rounds = wanted + wanted % 2,
                               .warm_up = static_cast<size_t>(kWarmUp / round_milliseconds)}));
  if (watch) {
    const std::vector<gpu::CardSample> samples = watch->stop();
    result.card = gpu::summarize(samples);
    result.dropped = gpu::drop_spoiled(rounds, samples, offset);
  }
  result.rounds = rounds.size();
  for (size_t i = 0; i < sides.size(); ++i) {
    Speed speed = speed_of(machine, sides[i], rounds, i, cell.flops(), result.calls);
    speed.error = errors[i];
    (sides[i].name == "namesake" ? result.ours : result.peer) = speed;
  }
  if (sides.size() == 2) {
    result.time = gpu::compare(gpu::pair_times(rounds, 0, 1));
    result.cycles = gpu::compare(gpu::pair_cycles(rounds, 0, 1));
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

Result<std::vector<Sustained>> sustain(const Machine& machine, const Cell& cell,
                                       const Effort& effort) {
  constexpr double kSettle = 300, kReplay = 20;  // ms
  const gpu::Context& context = *machine.context;
  const gpu::Stream& stream = *machine.stream;
  TRY_ASSIGN(Setting setting, Setting::make(context, stream, cell));
  std::vector<Side> sides;
  if (auto ours = setting.ours(context, machine.kernel)) sides.push_back(*ours);
  if (machine.cudnn) {
    std::vector<PlanTime> times;
    TRY_ASSIGN(const auto peers, setting.cudnn(context, *machine.cudnn));
    TRY_ASSIGN(const Best best, race(machine, cell, peers, &times));
    sides.push_back(best.side);
  }
  std::vector<Sustained> results;
  for (const Side& side : sides) {
    TRY_ASSIGN(const double alone, time_of_one(machine, side));
    const int64_t calls = calls_for(kReplay, alone);
    const double replay = alone * static_cast<double>(calls);
    TRY_ASSIGN(const gpu::Graph graph, record_calls(stream, side, calls));
    TRY_ASSIGN(const gpu::ClockProbe probe, gpu::ClockProbe::create(context, 2));
    TRY_ASSIGN(const gpu::Event begin, gpu::create_event(context));
    TRY_ASSIGN(const gpu::Event end, gpu::create_event(context));
    for (int64_t i = 0; i < calls_for(kSettle, replay); ++i) TRY(gpu::replay(graph, stream));
    TRY(probe.read(stream, 0));
    TRY(gpu::record(begin, stream));
    const int64_t replays = calls_for(effort.sustained_seconds * 1e3, replay);
    for (int64_t i = 0; i < replays; ++i) TRY(gpu::replay(graph, stream));
    TRY(gpu::record(end, stream));
    TRY(probe.read(stream, 1));
    const std::chrono::seconds limit(static_cast<int64_t>(4 * effort.sustained_seconds) + 20);
    TRY(gpu::wait(begin, limit));
    std::optional<gpu::Watch> watch;
    if (machine.card) watch.emplace(machine.card);
    TRY(gpu::wait(end, limit));
    gpu::CardSummary card;
    if (watch) card = gpu::summarize(watch->stop());
    TRY_ASSIGN(const auto readings, probe.collect(stream));
    TRY_ASSIGN(const double milliseconds, gpu::milliseconds_between(begin, end));

    const double made = static_cast<double>(calls * replays);
    Sustained result{.name = side.name, .kernel = side.kernel, .seconds = milliseconds / 1e3};
    result.teraflops = per_second(cell.flops() * made, milliseconds);
    result.clock_mhz = gpu::clock_between(readings[0], readings[1]).megahertz;
    if (result.clock_mhz > 0)
      result.flop_per_clock =
          result.teraflops * 1e6 / result.clock_mhz / context.device().multiprocessors;
    result.of_peak = result.flop_per_clock / kPeakFlopPerClock;
    result.watts = card.watts;
    result.joules_per_call = card.watts * result.seconds / made;
    if (card.watts > 0) result.gigaflop_per_joule = result.teraflops * 1e3 / card.watts;
    result.celsius = card.celsius;
    result.slowdowns = gpu::describe_slowdowns(card.slowdowns);
    results.push_back(result);
  }
  return results;
}

}  // namespace namesake::bench
