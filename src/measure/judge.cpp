// What the parts of a measurement come to.
//
// Results before times: a build that computes something else is refused however fast it is. A
// time's verdict counts if the control beside it is quiet and, where the clock could be read,
// cycles say the same: under a power cap one build may run at another clock than the other, and
// whether that is the build's merit or the moment's cannot be told from times alone. It is said,
// and called undecided.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/measure.h"
#include "report/words.h"

namespace namesake::measure {
namespace {

using report::Finding;
using report::KernelMeasurement;
using report::Timing;

bool repeatable(const KernelMeasurement& kernel) {
  return kernel.repeats.differing_a == 0 && kernel.repeats.differing_b == 0;
}

bool is_verdict(const report::Ratio& ratio) {
  return ratio.verdict == "faster" || ratio.verdict == "slower";
}

const report::InputSet* damaged(const KernelMeasurement& kernel) {
  for (const report::InputSet& set : kernel.inputs)
    if (!set.damage.empty()) return &set;
  return nullptr;
}

const report::InputSet* unequal(const KernelMeasurement& kernel) {
  for (const report::InputSet& set : kernel.inputs)
    if (!set.equal) return &set;
  return nullptr;
}

// Why the results forbid the use of b, or ""; for a kernel whose results vary by themselves, bits
// prove nothing, and the reference's tolerance decides.
std::string refusal(const KernelMeasurement& kernel) {
  if (const report::InputSet* set = damaged(kernel))
    return fmt::format("on the inputs \"{}\" {}", set->name, set->damage);
  const report::ReferenceCheck& reference = kernel.reference;
  if (!repeatable(kernel)) {
    std::string who = kernel.repeats.differing_a > 0 && kernel.repeats.differing_b > 0
                          ? "both builds'"
                      : kernel.repeats.differing_a > 0 ? "a's"
                                                       : "b's";
    if (reference.checked == 0)
      return fmt::format(
          "{} results vary from run to run, and there is no reference that says which are right",
          who);
    if (kernel.repeats.differing_a == 0) return "b's results vary from run to run, and a's do not";
  } else if (const report::InputSet* set = unequal(kernel)) {
    for (const report::OutputEquality& output : set->outputs) {
      if (output.differing == 0) continue;
      return fmt::format(
          "on the inputs \"{}\" {} of {} elements of {} differ; the first is [{}]: {} in a, {} in "
          "b",
          set->name, report::grouped(output.differing), report::grouped(output.elements),
          output.buffer, output.first, output.value_a, output.value_b);
    }
  }
  if (reference.wrong_a > 0 && reference.wrong_b > 0)
    return fmt::format(
        "both builds miss the reference {} on {} of {} elements: is it this kernel's?",
        reference.reference, report::grouped(std::max(reference.wrong_a, reference.wrong_b)),
        report::grouped(reference.checked));
  if (reference.wrong_a > 0 || reference.wrong_b > 0)
    return fmt::format("{} misses the reference {} on {} of {} elements",
                       reference.wrong_a > 0 ? "a" : "b", reference.reference,
                       report::grouped(std::max(reference.wrong_a, reference.wrong_b)),
                       report::grouped(reference.checked));
  return {};
}

std::string failure(const KernelMeasurement& kernel) {
  if (!kernel.a.failure.empty()) return "a: " + kernel.a.failure;
  if (!kernel.b.failure.empty()) return "b: " + kernel.b.failure;
  return kernel.failure;
}

bool same_code(const KernelMeasurement& kernel) {
  return !kernel.a.identity.empty() && kernel.a.identity == kernel.b.identity;
}

std::string percent(double ratio) {
  const double change = 100 * (ratio - 1);
  return fmt::format("{:.1f}% {}", std::abs(change), change < 0 ? "less" : "more");
}

std::string interval_of(const report::Ratio& ratio) {
  if (!ratio.interval) return "too few pairs for an interval";
  return fmt::format("between {:.4f} and {:.4f} with {:.1f}% confidence", (*ratio.interval)[0],
                     (*ratio.interval)[1], 100 * ratio.confidence);
}

// Why a verdict in time does not stand; "" where it does.
std::string doubt(const Timing& timing) {
  if (is_verdict(timing.control))
    return fmt::format("the control failed: the same code, loaded twice, seems {}",
                       timing.control.verdict);
  if (!is_verdict(timing.time) || timing.cycles.pairs == 0 ||
      timing.cycles.verdict == timing.time.verdict)
    return {};
  return fmt::format(
      "b is {} in time but not in cycles (ratio {:.4f}): the clock made the difference ({:.0f} MHz "
      "for a, {:.0f} MHz for b)",
      timing.time.verdict, timing.cycles.ratio, timing.megahertz_a, timing.megahertz_b);
}

// What may be why: the first of these that differs.
std::string beside(const KernelMeasurement& kernel) {
  const report::MeasuredBuild &a = kernel.a, &b = kernel.b;
  std::vector<std::string> parts;
  if (a.spill_bytes != b.spill_bytes)
    parts.push_back(fmt::format("spills {} bytes", report::change(a.spill_bytes, b.spill_bytes)));
  if (a.blocks_per_multiprocessor != b.blocks_per_multiprocessor)
    parts.push_back(
        fmt::format("blocks on a multiprocessor {}",
                    report::change(a.blocks_per_multiprocessor, b.blocks_per_multiprocessor)));
  if (a.loop_instructions && b.loop_instructions && *a.loop_instructions != *b.loop_instructions)
    parts.push_back(fmt::format("instructions in the loop {}",
                                report::change(*a.loop_instructions, *b.loop_instructions)));
  if (a.registers != b.registers)
    parts.push_back(fmt::format("registers {}", report::change(a.registers, b.registers)));
  if (parts.empty()) return {};
  return "; " + parts.front() + (parts.size() > 1 ? ", " + parts[1] : "");
}

}  // namespace

report::Finding judge(const KernelMeasurement& kernel) {
  if (!failure(kernel).empty()) return Finding::failed;
  if (!refusal(kernel).empty()) return Finding::refused;
  if (same_code(kernel)) return Finding::same_code;
  const Timing* warm = kernel.warm();
  if (!warm) return Finding::failed;
  if (!doubt(*warm).empty()) return Finding::undecided;
  if (warm->time.verdict == "faster") return Finding::faster;
  if (warm->time.verdict == "slower") return Finding::slower;
  return warm->time.verdict == "no difference" ? Finding::no_difference : Finding::undecided;
}

std::string explain(const KernelMeasurement& kernel) {
  const Timing* warm = kernel.warm();
  switch (judge(kernel)) {
    case Finding::failed:
      return failure(kernel).empty() ? "it was not timed" : failure(kernel);
    case Finding::refused:
      return refusal(kernel);
    case Finding::same_code:
      return "both builds are one code, byte for byte: there is nothing to decide";
    case Finding::undecided: {
      if (!warm) return {};
      const std::string why = doubt(*warm);
      return why.empty() ? fmt::format("the ratio lies {}: measure longer (--seconds)",
                                       interval_of(warm->time))
                         : why;
    }
    case Finding::no_difference:
      return fmt::format("results equal, and no difference that matters: the ratio lies {}",
                         interval_of(warm->time));
    case Finding::faster:
    case Finding::slower:
      break;
  }
  std::string text =
      fmt::format("results equal; b takes {} time, the ratio lies {}{}", percent(warm->time.ratio),
                  interval_of(warm->time), beside(kernel));
  if (kernel.timings.size() > 1 && is_verdict(kernel.timings[1].time) &&
      kernel.timings[1].time.verdict != warm->time.verdict)
    text += fmt::format("; with cold caches it is {} (ratio {:.4f})",
                        kernel.timings[1].time.verdict, kernel.timings[1].time.ratio);
  return text;
}

FalseAlarms false_alarms(const report::Measurement& measurement) {
  FalseAlarms result;
  const double upper = 1 + measurement.dead_band, lower = 1 / upper;
  for (const KernelMeasurement& kernel : measurement.kernels) {
    const Timing* warm = kernel.warm();
    if (!warm || !warm->control.interval) continue;
    ++result.runs;
    result.beside_one += (*warm->control.interval)[0] > 1 || (*warm->control.interval)[1] < 1;
    if (!is_verdict(warm->control)) continue;
    ++result.alarms;
    result.in_dead_band +=
        (*warm->control.interval)[0] >= lower && (*warm->control.interval)[1] <= upper;
  }
  return result;
}

}  // namespace namesake::measure
