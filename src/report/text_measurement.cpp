// A measurement for a terminal: the kernels sorted by effect, what each ratio comes to, and the
// checks that say whether to believe it.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/measurement_pages.h"
#include "report/text_page.h"
#include "report/words.h"
#include "util/text.h"

namespace namesake::report {
namespace {

constexpr size_t kMeanings = 12;  // kernels explained in a sentence, unless verbose

Tone tone_of(Finding finding) {
  switch (finding) {
    case Finding::faster:
      return Tone::good;
    case Finding::slower:
      return Tone::more;
    case Finding::undecided:
      return Tone::odd;
    case Finding::refused:
    case Finding::failed:
      return Tone::bad;
    default:
      return Tone::dim;
  }
}

bool timed(const KernelMeasurement& kernel) {
  return kernel.warm() != nullptr;
}
bool several_assemblers(const Measurement& measurement) {
  return std::any_of(measurement.kernels.begin(), measurement.kernels.end(),
                     [&](const KernelMeasurement& kernel) {
                       return kernel.assembler != measurement.kernels.front().assembler;
                     });
}

// "0.7561 ±0.31%": half the interval's width beside its ratio.
std::string shown_width(const Ratio& ratio) {
  if (!ratio.interval) return "–";
  return fmt::format("±{:.2f}%", 50 * ((*ratio.interval)[1] - (*ratio.interval)[0]) / ratio.ratio);
}

std::string milliseconds(double value) {
  return value < 0.1  ? fmt::format("{:.4f}", value)
         : value < 10 ? fmt::format("{:.3f}", value)
                      : fmt::format("{:.1f}", value);
}

// The ones that something is to be done about first, and among those by the size of the effect.
std::vector<const KernelMeasurement*> in_order(const Measurement& measurement) {
  std::vector<const KernelMeasurement*> order;
  for (const KernelMeasurement& kernel : measurement.kernels) order.push_back(&kernel);
  const auto rank = [](const KernelMeasurement& kernel) {
    if (kernel.finding == Finding::refused || kernel.finding == Finding::failed) return 0;
    return kernel.finding == Finding::same_code ? 2 : 1;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const KernelMeasurement* x, const KernelMeasurement* y) {
                     if (rank(*x) != rank(*y)) return rank(*x) < rank(*y);
                     return timed(*x) && timed(*y) && x->warm()->time.ratio > y->warm()->time.ratio;
                   });
  return order;
}

void kernels_text(TextPage& page, const Measurement& measurement) {
  Table table({{"kernel", false, 0, 30},
               {"ptxas", false, several_assemblers(measurement) ? 0 : 4},
               {"finding"},
               {"b/a", true},
               {"", true},
               {"cold", true, 3},
               {"ms a", true, 2},
               {"ms b", true, 2},
               {"registers", true, 5},
               {"spills", true, 6},
               {"loop", true, 7},
               {"warps", true, 8}});
  for (const KernelMeasurement* kernel : in_order(measurement)) {
    const Timing* warm = kernel->warm();
    const Timing* cold = kernel->cold();
    const auto loop = [](const MeasuredBuild& build) {
      return build.loop_instructions.value_or(0);
    };
    const auto warps = [](const MeasuredBuild& build) {
      return std::llround(100 * build.occupancy);
    };
    table.add({{shown_name(measurement, *kernel)},
               {plain(kernel->assembler)},
               {kFindingNames[static_cast<size_t>(kernel->finding)], tone_of(kernel->finding)},
               {warm ? fmt::format("{:.4f}", warm->time.ratio) : "–"},
               {warm ? shown_width(warm->time) : "", Tone::dim},
               {cold ? fmt::format("{:.3f}", cold->time.ratio) : "–", Tone::dim},
               {warm ? milliseconds(warm->milliseconds_a) : "–"},
               {warm ? milliseconds(warm->milliseconds_b) : "–"},
               {change(kernel->a.registers, kernel->b.registers)},
               {change(kernel->a.spill_bytes, kernel->b.spill_bytes)},
               {change(loop(kernel->a), loop(kernel->b))},
               {change(warps(kernel->a), warps(kernel->b)) + "%"}});
  }
  page.table(table);
}

void meanings_text(TextPage& page, const Measurement& measurement) {
  size_t shown = 0;
  for (const KernelMeasurement* kernel : in_order(measurement)) {
    if (kernel->meaning.empty() ||
        (!page.style.verbose &&
         (kernel->finding == Finding::same_code || kernel->finding == Finding::no_difference)))
      continue;
    if (shown == 0) page.heading("what it means");
    if (!page.style.verbose && shown == kMeanings) {
      page.line("… the rest with --verbose, or in the page (--html)", Tone::dim, 2);
      break;
    }
    ++shown;
    page.marked("•", tone_of(kernel->finding),
                fmt::format("{} ({}): {}", shown_name(measurement, *kernel),
                            plain(kernel->assembler), plain(kernel->meaning)));
  }
}

void checks_text(TextPage& page, const Measurement& measurement) {
  int64_t sets = 0, equal = 0, kernels = 0, repeatable = 0, checked = 0, referenced = 0, right = 0,
          dropped = 0, rounds = 0, capped = 0, timings = 0;
  int64_t controls = 0, quiet = 0;
  double widest = 1;
  for (const KernelMeasurement& kernel : measurement.kernels) {
    for (const InputSet& set : kernel.inputs) {
      sets += !set.outputs.empty();
      equal += !set.outputs.empty() && set.equal && set.damage.empty();
    }
    if (kernel.repeats.runs > 0) {
      ++kernels;
      repeatable += kernel.repeats.differing_a == 0 && kernel.repeats.differing_b == 0;
    }
    if (kernel.reference.checked > 0) {
      ++referenced;
      checked += kernel.reference.checked;
      right += kernel.reference.wrong_a == 0 && kernel.reference.wrong_b == 0;
    }
    for (const Timing& timing : kernel.timings) {
      ++timings;
      rounds += timing.rounds;
      dropped += timing.dropped;
      capped += timing.card.power_capped;
    }
    if (const Timing* warm = kernel.warm(); warm && warm->control.interval) {
      ++controls;
      quiet += !claims_difference(warm->control, warm->control_cycles);
      if (std::abs(std::log(warm->control.ratio)) > std::abs(std::log(widest)))
        widest = warm->control.ratio;
    }
  }
  page.heading("checks");
  const auto mark = [&](bool good, std::string_view text) {
    page.marked(good ? "✓" : "✗", good ? Tone::good : Tone::bad, text);
  };
  if (sets > 0)
    mark(equal == sets,
         fmt::format(
             "results equal bit for bit on {} of {} sets of inputs, outputs poisoned and guarded",
             grouped(equal), grouped(sets)));
  if (kernels > 0)
    mark(repeatable == kernels,
         fmt::format("repeatable: {} of {}", grouped(repeatable), counted(kernels, "kernel")));
  if (referenced > 0)
    mark(right == referenced,
         fmt::format("within the tolerance of their references: {} of {} ({} elements checked)",
                     grouped(right), counted(referenced, "kernel"), grouped(checked)));
  if (controls > 0)
    mark(quiet == controls, fmt::format("the same code against itself: no difference claimed in {} "
                                        "of {} (farthest ratio {:.4f})",
                                        grouped(quiet), grouped(controls), widest));
  if (dropped > 0)
    mark(false, fmt::format("{} of {} rounds dropped for a thermal or hardware slowdown",
                            grouped(dropped), grouped(rounds)));
  if (capped > 0)
    page.marked("•", Tone::dim,
                fmt::format("at the card's power cap during {} of {} timings: verdicts there are "
                            "confirmed in cycles",
                            grouped(capped), grouped(timings)));
}

void summary_text(TextPage& page, const Measurement& measurement) {
  int64_t count[std::size(kFindingNames)] = {};
  for (const KernelMeasurement& kernel : measurement.kernels)
    ++count[static_cast<size_t>(kernel.finding)];
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::size(kFindingNames); ++i)
    if (count[i] > 0) parts.push_back(fmt::format("{} {}", grouped(count[i]), kFindingNames[i]));
  page.line(fmt::format("{} (b) against {} (a) on {}: {}", plain(measurement.b.label),
                        plain(measurement.a.label), plain(measurement.gpu.name), join(parts, ", ")),
            Tone::bold);
  page.line(fmt::format("ratios are time of b / time of a, below 1 b is faster; intervals hold "
                        "with {:g}% confidence, {:g}% either way is no difference",
                        100 * measurement.confidence, 100 * measurement.dead_band),
            Tone::dim);
}

}  // namespace

std::string shown_name(const Measurement& measurement, const KernelMeasurement& kernel) {
  const bool alone = std::none_of(
      measurement.kernels.begin(), measurement.kernels.end(), [&](const KernelMeasurement& other) {
        return other.symbol == kernel.symbol && other.file != kernel.file;
      });
  if (!alone) return plain(kernel.file.substr(0, kernel.file.rfind('.')));
  return plain(kernel.name.empty() ? kernel.symbol : kernel.name);
}

std::string setting_of(const Timing& timing) {
  std::string text = plain(timing.caches) + " caches";
  if (timing.shifted_bytes != 0)
    text += fmt::format(", buffers {} bytes further", timing.shifted_bytes);
  return text;
}

std::string to_text(const Measurement& measurement, const TextStyle& style) {
  TextPage page(style);
  summary_text(page, measurement);
  page.blank();
  kernels_text(page, measurement);
  meanings_text(page, measurement);
  checks_text(page, measurement);
  if (!measurement.notes.empty()) {
    page.heading("notes");
    for (const std::string& note : measurement.notes) page.marked("•", Tone::dim, plain(note));
  }
  page.blank();
  page.line(fmt::format("{:.0f} s on the GPU, {:.0f} s making the codes", measurement.gpu_seconds,
                        measurement.build_seconds),
            Tone::dim);
  page.next(measurement.next_command);
  return std::move(page.out);
}

}  // namespace namesake::report
