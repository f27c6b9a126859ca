#include "measure/gpu_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gpu/pairing.h"
#include "gpu/statistics.h"
#include "gpu/stream.h"
#include "measure/memory.h"
#include "measure/references.h"

namespace namesake::measure {
namespace {

constexpr size_t kCheckedElements = 4096;    // of an output, against a host reference
constexpr double kTimingMilliseconds = 1.2;  // of one timing: long enough for the clock to be read
constexpr double kFlushMilliseconds = 0.1;   // at most, to overwrite the caches
constexpr double kWarmUpMilliseconds = 30;   // at least: the clock falls that long under load
constexpr double kColdShare = 0.25, kShiftedShare = 0.25;  // of the time for timing
constexpr size_t kShift = 4096;  // of the buffers, to see whether it matters
constexpr size_t kFewestRounds = 12, kMostRounds = 400;

struct Loaded {
  gpu::Module module;
  gpu::Kernel kernel;
};

class Run {
 public:
  Run(const Gpu& gpu, const GpuJob& job, report::KernelMeasurement& into, const Stage& stage)
      : gpu_(gpu), job_(job), into_(into), stage_(stage) {}

  Status all() {
    stage_("loading");
    TRY_ASSIGN(stream_, gpu::create_stream(gpu_.context));
    TRY_ASSIGN(a_, load(job_.a, "a", into_.a));
    // The double of a: the same code at another place.
    TRY_ASSIGN(twin_, load(job_.a, "a", into_.a));
    if (!job_.same_code) {
      TRY_ASSIGN(b_, load(job_.b, "b", into_.b));
    } else {
      into_.b.blocks_per_multiprocessor = into_.a.blocks_per_multiprocessor;
      into_.b.occupancy = into_.a.occupancy;
    }
    TRY_ASSIGN(memory_,
               KernelMemory::create(gpu_.context, gpu_.checker, stream_, job_.plan, job_.workers));
    arguments_ = memory_.arguments();
    if (!job_.time_only) {
      for (const InputKind kind : input_kinds(job_.plan)) {
        TRY(equality(kind));
        if (job_.same_code) break;
        if (into_.inputs.back().poison_seen)
          return {};  // nothing more can be told from the outputs
      }
      TRY(repeats());
    }
    return timing();
  }

 private:
  Result<Loaded> load(const Code& code, const char* which, report::MeasuredBuild& build) {
    Loaded loaded;
    const auto bytes = std::as_bytes(std::span(code.image));
    auto module = gpu::load_module(gpu_.context, bytes);
    if (!module) return error(fmt::format("loading build {}", which), module.error());
    loaded.module = std::move(*module);
    TRY_ASSIGN(loaded.kernel, gpu::find_kernel(loaded.module, code.symbol));
    TRY(gpu::prepare(gpu_.context, loaded.kernel, job_.plan.launch));
    TRY_ASSIGN(const int blocks,
               gpu::blocks_per_multiprocessor(gpu_.context, loaded.kernel, job_.plan.launch));
    const gpu::Size3& block = job_.plan.launch.block;
    const double warps = blocks * std::ceil(block.x * block.y * block.z / 32.0);
    const int most = gpu_.context.device().threads_per_multiprocessor;
    build.blocks_per_multiprocessor = blocks;
    build.occupancy = most > 0 ? warps * 32 / most : 0;
    return loaded;
  }

  const gpu::Kernel& kernel(bool b) const { return b && !job_.same_code ? b_.kernel : a_.kernel; }

  Status wait_for_launch(std::string_view what) {
    TRY_ASSIGN(const gpu::Event done, gpu::create_event(gpu_.context));
    TRY(gpu::record(done, stream_));
    if (Status waited = gpu::wait(done, job_.care.launch_limit); !waited)
      return error(std::string(what), waited.error());
    return {};
  }

  // One launch on prepared outputs.
  Status once(bool b, std::string_view on, uint64_t run) {
    const std::string what = fmt::format("running {} on the inputs \"{}\"", b ? "b" : "a", on);
    stage_(what);
    TRY(memory_.prepare_outputs(run));
    TRY(gpu::launch(stream_, kernel(b), job_.plan.launch, arguments_));
    return wait_for_launch(what);
  }

  Status equality(InputKind kind) {
    stage_(fmt::format("making the inputs \"{}\"", name_of(kind)));
    TRY(memory_.load(kind));
    report::InputSet& set = into_.inputs.emplace_back();
    set.name = name_of(kind);
    const uint64_t run = run_;  // and the one after it: their poisons differ in every bit
    run_ += 2;
    TRY(once(false, set.name, run));
    TRY(memory_.keep(0));
    TRY(damaged("a", set));
    if (kind == InputKind::as_given) {
      TRY(once(false, set.name, run + 1));
      TRY(unwritten(set, run));
      if (set.poison_seen) return {};
    }
    if (!job_.same_code) {
      TRY(once(true, set.name, run + 1));
      TRY(memory_.keep(1));
      TRY(damaged("b", set));
      TRY(compare_outputs(set));
    }
    return kind == InputKind::as_given ? reference() : Status{};
  }

  Status damaged(const char* which, report::InputSet& set) {
    TRY_ASSIGN(const std::string where, memory_.damage());
    if (!where.empty() && set.damage.empty()) set.damage = fmt::format("{} wrote {}", which, where);
    return {};
  }

  // After a run of a that is kept and another on the opposite poison: an element that holds the
  // poison both times was written by neither.
  Status unwritten(report::InputSet& set, uint64_t run) {
    for (size_t i = 0; i < memory_.outputs(); ++i) {
      if (memory_.output(i).filled()) continue;
      TRY_ASSIGN(const bool same, memory_.same_as_kept(0, i));
      if (same) continue;
      TRY_ASSIGN(const auto first, memory_.read_kept(0, i));
      TRY_ASSIGN(const auto second, memory_.read_output(i));
      const auto poison = gpu::poison(first.size(), run),
                 opposite = gpu::poison(first.size(), run + 1);
      const size_t size = gpu::bytes_of(memory_.output(i).type);
      for (size_t at = 0; at + size <= first.size(); at += size) {
        const auto holds = [&](const std::vector<std::byte>& bytes,
                               const std::vector<std::byte>& pattern) {
          return std::equal(&bytes[at], &bytes[at] + size, &pattern[at]);
        };
        if (holds(first, poison) && holds(second, opposite)) {
          set.poison_seen = true;
          set.damage = fmt::format(
              "a leaves element {} of {} unwritten; give the buffer a fill in the launch file",
              at / size, memory_.output(i).name);
          return {};
        }
      }
    }
    return {};
  }

  // b's outputs, as they lie, against a's, which are kept.
  Status compare_outputs(report::InputSet& set) {
    for (size_t i = 0; i < memory_.outputs(); ++i) {
      const BufferPlan& buffer = memory_.output(i);
      report::OutputEquality& output = set.outputs.emplace_back();
      output.buffer = buffer.name;
      output.type = type_name(buffer.type);
      output.elements = static_cast<int64_t>(buffer.count);
      TRY_ASSIGN(const bool same, memory_.same_as_kept(0, i));
      if (same) continue;
      TRY_ASSIGN(const auto a, memory_.read_kept(0, i));
      TRY_ASSIGN(const auto b, memory_.read_output(i));
      const gpu::Difference difference = gpu::compare_bits(a, b, buffer.type);
      if (difference.equal()) continue;  // only what lies behind the end differed: that is damage
      set.equal = false;
      output.differing = static_cast<int64_t>(difference.differing);
      output.first = static_cast<int64_t>(difference.first);
      output.largest = difference.largest;
      output.value_a = fmt::format("{:.9g}", gpu::value_of(a, buffer.type, difference.first));
      output.value_b = fmt::format("{:.9g}", gpu::value_of(b, buffer.type, difference.first));
    }
    return {};
  }

  // The outputs kept of a, and of b, against what they should be.
  Status reference() {
    report::ReferenceCheck& check = into_.reference;
    check.reference = job_.reference_name;
    if (job_.reference_code) return kernel_reference(check);
    if (job_.reference.empty()) return {};
    stage_("computing the reference");
    std::vector<ReferenceArgument> arguments;
    for (const PlannedArgument& argument : job_.plan.arguments) {
      if (const auto* scalar = std::get_if<Scalar>(&argument)) {
        arguments.push_back({.number = scalar->value});
        continue;
      }
      const auto* pointer = std::get_if<BufferPointer>(&argument);
      const size_t buffer = pointer ? pointer->buffer : std::get<BufferMap>(argument).buffer;
      const Content& content = memory_.content(buffer);
      arguments.push_back({&job_.plan.buffers[buffer], content.bytes, &content});
    }
    const std::vector<size_t> sample = sample_of(memory_.output(0).count, kCheckedElements);
    auto expected = reference_values(job_.reference, arguments, sample, job_.workers);
    if (!expected) {
      check.note = expected.error().message;
      return {};
    }
    return hold_against(*expected, sample, 0, check);
  }

  Status kernel_reference(report::ReferenceCheck& check) {
    stage_("running the reference kernel");
    TRY_ASSIGN(
        gpu::Module module,
        gpu::load_module(gpu_.context, std::as_bytes(std::span(job_.reference_code->image))));
    TRY_ASSIGN(const gpu::Kernel kernel, gpu::find_kernel(module, job_.reference_code->symbol));
    TRY(gpu::prepare(gpu_.context, kernel, job_.reference_plan.launch));
    TRY_ASSIGN(KernelMemory memory, KernelMemory::create(gpu_.context, gpu_.checker, stream_,
                                                         job_.reference_plan, job_.workers));
    TRY(memory.load(InputKind::as_given));
    TRY(memory.prepare_outputs(0));
    const std::vector<void*> arguments = memory.arguments();
    TRY(gpu::launch(stream_, kernel, job_.reference_plan.launch, arguments));
    TRY(wait_for_launch("running the reference kernel"));
    for (size_t i = 0; i < memory_.outputs(); ++i) {
      for (size_t j = 0; j < memory.outputs(); ++j) {
        if (memory.output(j).name != memory_.output(i).name ||
            memory.output(j).count != memory_.output(i).count)
          continue;
        TRY_ASSIGN(const auto bytes, memory.read_output(j));
        std::vector<size_t> all(memory.output(j).count);
        for (size_t k = 0; k < all.size(); ++k) all[k] = k;
        TRY(hold_against(gpu::values_of(bytes, memory.output(j).type), all, i, check));
      }
    }
    if (check.checked == 0)
      check.note = "the reference kernel has no output of the same name and count";
    return {};
  }

  Status hold_against(const std::vector<double>& expected, const std::vector<size_t>& sample,
                      size_t output, report::ReferenceCheck& check) {
    const BufferPlan& buffer = memory_.output(output);
    check.elements += static_cast<int64_t>(buffer.count);
    check.checked += static_cast<int64_t>(sample.size());
    for (const bool b : {false, true}) {
      if (b && job_.same_code) {
        check.wrong_b = check.wrong_a;
        check.error_b = check.error_a;
        break;
      }
      TRY_ASSIGN(const auto bytes, memory_.read_kept(b, output, sample));
      std::vector<double> values;
      int64_t wrong = 0;
      for (size_t i = 0; i < sample.size(); ++i) {
        const double value = gpu::value_of(bytes, buffer.type, i);
        values.push_back(value);
        const double allowed =
            buffer.tolerance.absolute + buffer.tolerance.relative * std::abs(expected[i]);
        const bool alike = value == expected[i] || (std::isnan(value) && std::isnan(expected[i]));
        wrong += !alike && !(std::abs(value - expected[i]) <= allowed);
      }
      (b ? check.wrong_b : check.wrong_a) += wrong;
      double& error = b ? check.error_b : check.error_a;
      error = std::max(error, std::min(gpu::deviation(values, expected).relative, 1e9));
    }
    return {};
  }

  Status repeats() {
    stage_("making the inputs again");
    TRY(memory_.load(InputKind::as_given));
    report::Repeats& repeats = into_.repeats;
    for (const bool b : {false, true}) {
      if (b && job_.same_code) break;
      for (int i = 0; i < job_.care.repeats; ++i) {
        TRY(once(b, "as given", run_++));
        if (i == 0) {
          TRY(memory_.keep(b));
          continue;
        }
        bool all_same = true;
        for (size_t output = 0; output < memory_.outputs(); ++output) {
          TRY_ASSIGN(const bool same, memory_.same_as_kept(b, output));
          all_same = all_same && same;
        }
        (b ? repeats.differing_b : repeats.differing_a) += !all_same;
      }
    }
    repeats.runs = job_.care.repeats;
    return {};
  }

  // ---- time

  Result<gpu::Graph> graph_of(const gpu::Kernel& kernel, size_t launches) {
    return gpu::record_graph(stream_, [&]() -> Status {
      for (size_t i = 0; i < launches; ++i)
        TRY(gpu::launch(stream_, kernel, job_.plan.launch, arguments_));
      return {};
    });
  }

  // Milliseconds of one launch, from a few in a row.
  Result<double> rough_time(size_t launches) {
    TRY_ASSIGN(const gpu::Graph graph, graph_of(a_.kernel, launches));
    TRY_ASSIGN(const gpu::Event begin, gpu::create_event(gpu_.context));
    TRY_ASSIGN(const gpu::Event end, gpu::create_event(gpu_.context));
    TRY(gpu::replay(graph, stream_));
    TRY(gpu::record(begin, stream_));
    TRY(gpu::replay(graph, stream_));
    TRY(gpu::record(end, stream_));
    TRY(gpu::wait(end, job_.care.launch_limit * launches));
    TRY_ASSIGN(const double milliseconds, gpu::milliseconds_between(begin, end));
    return std::max(milliseconds, 1e-4) / static_cast<double>(launches);
  }

  Status timing() {
    stage_("timing");
    TRY(make_ready());
    TRY_ASSIGN(double each, rough_time(1));
    size_t launches = launches_for(each);
    if (launches > 1) {
      TRY_ASSIGN(each, rough_time(launches));
      launches = launches_for(each);
    }
    const double all = job_.care.seconds * 1e3 * (job_.same_code ? 0.5 : 1);
    const double warm = each * static_cast<double>(launches);
    TRY(time_with({.milliseconds = warm,
                   .launches = launches,
                   .budget = all * (1 - kColdShare - kShiftedShare)}));
    TRY(time_with(
        {.cold = true, .milliseconds = each + kFlushMilliseconds, .budget = all * kColdShare}));
    if (job_.same_code) return {};
    TRY(memory_.shift(kShift));
    TRY(make_ready());
    return time_with({.shift = kShift,
                      .milliseconds = warm,
                      .launches = launches,
                      .budget = all * kShiftedShare});
  }

  Status make_ready() {
    TRY(memory_.load(InputKind::as_given));
    return memory_.prepare_outputs(run_++);
  }

  static size_t launches_for(double each) {
    return static_cast<size_t>(std::clamp(std::ceil(kTimingMilliseconds / each), 1.0, 2000.0));
  }

  struct Setting {
    bool cold = false;
    size_t shift = 0;         // where the buffers lie
    double milliseconds = 0;  // of one timing, roughly
    size_t launches = 1;      // in one timing
    double budget = 0;        // milliseconds for all rounds
  };

  Status time_with(const Setting& setting) {
    stage_(fmt::format("timing with {} caches{}", setting.cold ? "cold" : "warm",
                       setting.shift > 0 ? ", buffers shifted" : ""));
    std::vector<gpu::Graph> graphs;
    std::vector<const gpu::Kernel*> kernels = {&a_.kernel, &twin_.kernel};
    if (!job_.same_code) kernels.push_back(&b_.kernel);
    for (const gpu::Kernel* kernel : kernels) {
      TRY_ASSIGN(gpu::Graph graph, graph_of(*kernel, setting.launches));
      graphs.push_back(std::move(graph));
    }
    std::vector<const gpu::Graph*> alternatives;
    for (const gpu::Graph& graph : graphs) alternatives.push_back(&graph);

    const double round = setting.milliseconds * static_cast<double>(alternatives.size());
    gpu::PairingOptions options;
    // Rounds come in twos, the second in reverse order.
    options.rounds =
        std::clamp(static_cast<size_t>(setting.budget / round), kFewestRounds, kMostRounds) / 2 * 2;
    options.warm_up = std::max({size_t{2}, options.rounds / 8,
                                static_cast<size_t>(std::min(kWarmUpMilliseconds / round, 50.0))});
    options.cold_cache = setting.cold;
    options.seed = job_.seed;
    const double expected = round * static_cast<double>(options.rounds + options.warm_up);
    options.limit =
        job_.care.launch_limit + std::chrono::milliseconds(static_cast<int64_t>(20 * expected));

    std::optional<gpu::Watch> watch;
    if (gpu_.card) watch.emplace(gpu_.card);
    TRY_ASSIGN(std::vector<gpu::Round> rounds,
               gpu::time_rounds(gpu_.context, stream_, alternatives, options));
    report::Timing timing;
    timing.caches = setting.cold ? "cold" : "warm";
    timing.shifted_bytes = static_cast<int64_t>(setting.shift);
    timing.launches = static_cast<int64_t>(setting.launches);
    timing.rounds = static_cast<int64_t>(rounds.size());
    if (watch) {
      const std::vector<gpu::CardSample> samples = watch->stop();
      TRY_ASSIGN(const int64_t offset, gpu::host_minus_gpu_ns(gpu_.context, stream_));
      timing.dropped = static_cast<int64_t>(gpu::drop_spoiled(rounds, samples, offset));
      timing.card = describe(gpu::summarize(samples));
    }
    evaluate(rounds, timing);
    into_.timings.push_back(std::move(timing));
    return {};
  }

  static report::CardUse describe(const gpu::CardSummary& summary) {
    return {.clock_mhz = summary.clock_mhz,
            .memory_mhz = summary.memory_mhz,
            .watts = summary.watts,
            .celsius = summary.celsius,
            .slowdowns = gpu::describe_slowdowns(summary.slowdowns),
            .power_capped = (summary.slowdowns & gpu::kPowerCap) != 0};
  }

  report::Ratio ratio_of(const std::vector<gpu::PairedTime>& pairs) const {
    const gpu::Comparison comparison =
        gpu::compare(pairs, {.confidence = job_.care.confidence, .dead_band = job_.care.dead_band});
    report::Ratio ratio;
    ratio.ratio = comparison.ratio;
    if (comparison.interval) ratio.interval = {comparison.interval->low, comparison.interval->high};
    ratio.confidence = comparison.confidence;
    ratio.verdict = gpu::words(comparison.verdict);
    ratio.pairs = static_cast<int64_t>(comparison.pairs);
    ratio.ties = static_cast<int64_t>(comparison.ties);
    return ratio;
  }

  // Ratios are kept to a millionth: what lies below is the timer's grain.
  void evaluate(const std::vector<gpu::Round>& rounds, report::Timing& timing) const {
    const size_t a = 0, twin = 1, b = job_.same_code ? 1 : 2;
    const auto quotients = [](const std::vector<gpu::PairedTime>& pairs) {
      std::vector<double> ratios;
      for (const gpu::PairedTime& pair : pairs)
        if (pair.b > 0) ratios.push_back(std::round(1e6 * pair.a / pair.b) / 1e6);
      return ratios;
    };
    timing.time = ratio_of(gpu::pair_times(rounds, b, a));
    timing.cycles = ratio_of(gpu::pair_cycles(rounds, b, a));
    timing.control = ratio_of(gpu::pair_times(rounds, twin, a));
    timing.control_cycles = ratio_of(gpu::pair_cycles(rounds, twin, a));
    timing.ratios = quotients(gpu::pair_times(rounds, b, a));
    timing.control_ratios = quotients(gpu::pair_times(rounds, twin, a));
    std::vector<double> times[2], clocks[2];
    for (const gpu::Round& round : rounds) {
      for (const size_t side : {0, 1}) {
        const gpu::Timing& taken = round.timings[side == 0 ? a : b];
        times[side].push_back(taken.milliseconds / static_cast<double>(timing.launches));
        clocks[side].push_back(taken.megahertz);
      }
    }
    timing.milliseconds_a = gpu::median(times[0]);
    timing.milliseconds_b = gpu::median(times[1]);
    timing.megahertz_a = gpu::median(clocks[0]);
    timing.megahertz_b = gpu::median(clocks[1]);
  }

  const Gpu& gpu_;
  const GpuJob& job_;
  report::KernelMeasurement& into_;
  const Stage& stage_;
  gpu::Stream stream_;
  Loaded a_, twin_, b_;
  KernelMemory memory_;
  std::vector<void*> arguments_;
  uint64_t run_ = 0;
};

}  // namespace

Status run_on_gpu(const Gpu& gpu, const GpuJob& job, report::KernelMeasurement& into,
                  const Stage& stage) {
  return Run(gpu, job, into, stage).all();
}

}  // namespace namesake::measure
