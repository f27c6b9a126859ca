#include "measure.h"

#include "sides.h"
#include "timing.h"

namespace namesake::bench {

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
  if (const auto peer = best_of_cudnn(machine, setting, cell, &result.plans)) {
    sides.push_back(peer->side);
    milliseconds += peer->milliseconds;
  } else {
    result.why_no_peer = peer.error().message;
  }
  if (sides.empty())
    return error(cell.name() + ": " + result.why_not_ours + "; " + result.why_no_peer);

  std::vector<double> errors;
  for (const Side& side : sides) {
    TRY_ASSIGN(const double relative, setting.error_of(context, stream, side));
    errors.push_back(relative);
  }

  TRY_ASSIGN(const Paired paired, time_paired(machine, cell, sides, milliseconds, effort));
  for (size_t i = 0; i < sides.size(); ++i) {
    Speed speed = paired.speeds[i];
    speed.error = errors[i];
    (sides[i].name == "namesake" ? result.ours : result.peer) = speed;
  }
  if (sides.size() == 2) {
    result.time = gpu::compare(gpu::pair_times(paired.rounds, 0, 1));
    result.cycles = gpu::compare(gpu::pair_cycles(paired.rounds, 0, 1));
  }
  result.calls = paired.calls;
  result.rounds = paired.rounds.size();
  result.dropped = paired.dropped;
  result.card = paired.card;
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
    if (const auto peers = setting.cudnn(context, stream, *machine.cudnn)) {
      if (const auto best = race(machine, cell, *peers, &times)) sides.push_back(best->side);
    }
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
    result.of_peak = result.flop_per_clock / peak_flop_per_clock(cell);
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
