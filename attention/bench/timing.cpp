#include "timing.h"

#include <algorithm>
#include <cmath>

namespace namesake::bench {
namespace {

constexpr double kWarmUp = 40;    // ms of the real work before the first timing: the clock settles
constexpr double kLongCall = 40;  // ms: plans slower than this are timed by single calls
constexpr double kLongFlops = 2e13;  // work of which a slow plan takes a good part of a second
constexpr double kFarBehind = 1.3;   // times the best plan's time
constexpr size_t kRaceRounds = 3;
constexpr std::chrono::seconds kCallLimit{20};

std::string shape_of(const Cell& cell) {
  Cell without = cell;
  without.length = 0;
  without.batch = 4;
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

Speed speed_of(const Machine& machine, const Side& side, const std::vector<gpu::Round>& rounds,
               size_t place, const Cell& cell, int64_t calls) {
  const double flops = cell.flops();
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
  speed.of_peak = speed.flop_per_clock / peak_flop_per_clock(cell);
  return speed;
}

}  // namespace

double per_second(double flops, double milliseconds) {
  return flops / milliseconds / 1e9;
}

int64_t calls_for(double milliseconds, double of_one) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(milliseconds / of_one)));
}

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

Result<Best> best_of_cudnn(const Machine& machine, Setting& setting, const Cell& cell,
                           std::vector<PlanTime>* times) {
  if (!machine.cudnn) return error("cuDNN is not here");
  TRY_ASSIGN(const std::vector<Side> plans,
             setting.cudnn(*machine.context, *machine.stream, *machine.cudnn));
  return race(machine, cell, plans, times);
}

Result<Paired> time_paired(const Machine& machine, const Cell& cell, const std::vector<Side>& sides,
                           double milliseconds, const Effort& effort) {
  const gpu::Context& context = *machine.context;
  const gpu::Stream& stream = *machine.stream;
  Paired result;
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
  TRY_ASSIGN(result.rounds,
             gpu::time_rounds(context, stream, pointers,
                              {.rounds = wanted + wanted % 2,
                               .warm_up = static_cast<size_t>(kWarmUp / round_milliseconds)}));
  if (watch) {
    const std::vector<gpu::CardSample> samples = watch->stop();
    result.card = gpu::summarize(samples);
    result.dropped = gpu::drop_spoiled(result.rounds, samples, offset);
  }
  for (size_t i = 0; i < sides.size(); ++i)
    result.speeds.push_back(speed_of(machine, sides[i], result.rounds, i, cell, result.calls));
  return result;
}

}  // namespace namesake::bench
