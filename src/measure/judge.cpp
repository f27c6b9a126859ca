// What the parts of a measurement come to.
//
// Results before times: a build that computes something else is refused however fast it is. A
// time's verdict counts if the control beside it is quiet and, where the clock could be read,
// cycles say the same; what only times say is said, and called undecided. The control is held to
// the same rule: it claims a difference as a pair of builds would, and then theirs must be larger.

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

// Ratios so far from each other that a reader wants to know.
bool apart(const report::Ratio& one, const report::Ratio& other) {
  constexpr double kWorthSaying = 0.01;
  if (!one.interval || !other.interval) return false;
  const auto [low, high] = *one.interval;
  return ((*other.interval)[1] < low || high < (*other.interval)[0]) &&
         std::abs(std::log(one.ratio / other.ratio)) > kWorthSaying;
}

// A control that claims a difference where there is none. What it shows at most is then the grain
// of this measurement: a difference between the builds counts if all of its interval lies beyond.
bool within_the_control(const Timing& timing) {
  if (!report::claims_difference(timing.control, timing.control_cycles)) return false;
  const auto nearest = [](const report::Ratio& ratio) {  // to 1, in logarithms; 0 holds 1
    if (!ratio.interval) return 0.0;
    return std::max({0.0, std::log((*ratio.interval)[0]), -std::log((*ratio.interval)[1])});
  };
  const auto farthest = [](const std::array<double, 2>& interval) {
    return std::max(std::abs(std::log(interval[0])), std::abs(std::log(interval[1])));
  };
  return !timing.control.interval || nearest(timing.time) <= farthest(*timing.control.interval);
}

// Why a verdict in time does not stand; "" where it does.
std::string doubt(const Timing& timing) {
  if (within_the_control(timing))
    return fmt::format("the control failed: the same code, loaded twice, seems {} (ratio {:.4f})",
                       timing.control.verdict, timing.control.ratio);
  if (!is_verdict(timing.time) || report::claims_difference(timing.time, timing.cycles)) return {};
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

// What the other settings say that the first does not: that cold caches turn the verdict, or that
// the ratio depends on where the buffers lie.
std::string elsewhere(const KernelMeasurement& kernel) {
  const Timing &warm = *kernel.warm(), *cold = kernel.cold(), *shifted = kernel.shifted();
  std::string text;
  if (is_verdict(warm.time) && cold && is_verdict(cold->time) &&
      cold->time.verdict != warm.time.verdict)
    text += fmt::format("; with cold caches it is {} (ratio {:.4f})", cold->time.verdict,
                        cold->time.ratio);
  if (shifted && apart(shifted->time, warm.time))
    text += fmt::format("; with its buffers {} bytes further the ratio is {:.4f}",
                        shifted->shifted_bytes, shifted->time.ratio);
  return text;
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
      return fmt::format("results equal, and no difference that matters: the ratio lies {}{}",
                         interval_of(warm->time), elsewhere(kernel));
    case Finding::faster:
    case Finding::slower:
      break;
  }
  return fmt::format("results equal; b takes {} time, the ratio lies {}{}{}",
                     percent(warm->time.ratio), interval_of(warm->time), beside(kernel),
                     elsewhere(kernel));
}

FalseAlarms false_alarms(const report::Measurement& measurement) {
  FalseAlarms result;
  const double upper = 1 + measurement.dead_band, lower = 1 / upper;
  for (const KernelMeasurement& kernel : measurement.kernels) {
    const Timing* warm = kernel.warm();
    if (!warm || !warm->control.interval) continue;
    ++result.runs;
    result.beside_one += (*warm->control.interval)[0] > 1 || (*warm->control.interval)[1] < 1;
    if (!report::claims_difference(warm->control, warm->control_cycles)) continue;
    ++result.alarms;
    result.in_dead_band +=
        (*warm->control.interval)[0] >= lower && (*warm->control.interval)[1] <= upper;
  }
  return result;
}

}  // namespace namesake::measure
