#include "measure/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "report/measurement_pages.h"
#include "util/text.h"

namespace namesake::measure {
namespace {

using report::Decision;
using report::Finding;
using report::KernelMeasurement;
using report::TuningSample;
using Interval = std::array<double, 2>;

// Ratios as the decision sees them: time of the other answer / time of the natural one.
Interval of_the_other(const Interval& interval, bool natural_is_treated) {
  return natural_is_treated ? Interval{1 / interval[1], 1 / interval[0]} : interval;
}

bool is_ratio(double value) {
  return value > 1e-6 && value < 1e6;
}

bool is_interval(const std::optional<Interval>& interval) {
  return interval && is_ratio((*interval)[0]) && is_ratio((*interval)[1]) &&
         (*interval)[0] <= (*interval)[1];
}

bool holds(const Interval& interval, double ratio) {
  return interval[0] <= ratio && ratio <= interval[1];
}

// One code against itself, beyond the dead band in time and in cycles too.
bool control_failed(const report::Timing& timing, double dead_band) {
  const auto beyond = [&](const report::Ratio& ratio) {
    return ratio.interval &&
           ((*ratio.interval)[0] > 1 + dead_band || (*ratio.interval)[1] < 1 - dead_band);
  };
  return beyond(timing.control) &&
         (timing.control_cycles.pairs == 0 || beyond(timing.control_cycles));
}

std::string setting_of(const KernelMeasurement& kernel, const report::Timing& timing) {
  std::string sizes;
  for (const auto& [name, value] : kernel.sizes) sizes += fmt::format("{}={} ", name, value);
  if (!sizes.empty()) sizes.back() = ',';
  return fmt::format("{}{}{}", sizes, sizes.empty() ? "" : " ", report::setting_of(timing));
}

TuningSample sample_of(const KernelMeasurement& kernel, const report::Timing& timing,
                       bool natural_is_treated, double threshold, double dead_band) {
  TuningSample sample;
  sample.setting = setting_of(kernel, timing);
  sample.ratio = timing.time.ratio;
  // A recorded measurement may say anything.
  if (is_interval(timing.time.interval) && holds(*timing.time.interval, sample.ratio)) {
    sample.interval = timing.time.interval;
  }
  sample.says = "open";
  if (control_failed(timing, dead_band)) {
    sample.note = fmt::format("its control, one code against itself, came out at {:.4f}",
                              timing.control.ratio);
    return sample;
  }
  if (!sample.interval) {
    sample.note = fmt::format("{} pairs are too few", timing.time.pairs);
    return sample;
  }
  auto [low, high] = of_the_other(*sample.interval, natural_is_treated);
  if (high < 1 - threshold) {
    const std::optional<Interval>& cycles = timing.cycles.interval;
    if (is_interval(cycles) && of_the_other(*cycles, natural_is_treated)[1] >= 1) {
      sample.note = "its time gains, its cycles do not";
      return sample;
    }
    sample.says = "gains";
  } else if (high <= 1 + threshold && (low >= 1 - threshold || high - low < threshold)) {
    // A narrow interval across the threshold is known well enough: the gain is about that.
    sample.says = "level";
  } else if (low > 1) {
    sample.says = "costs";
  }
  return sample;
}

std::string shown(const TuningSample& sample) {
  if (!sample.interval) return fmt::format("{:.3g} at {}", sample.ratio, sample.setting);
  return fmt::format("{:.3f} [{:.3f}, {:.3f}] at {}", sample.ratio, (*sample.interval)[0],
                     (*sample.interval)[1], sample.setting);
}

// What all samples of one function come to.
class Jury {
 public:
  Jury(Decision& decision, double threshold) : decision_(decision), threshold_(threshold) {}

  void decide() {
    const TuningSample* gain = least_gain();
    const TuningSample* cost = first("costs");
    const TuningSample* blocking = find([&](const TuningSample& sample) {
      return sample.says == "open" && other(sample)[1] > 1 + threshold_;
    });
    const TuningSample* hopeful = find([&](const TuningSample& sample) {
      return sample.says == "open" && other(sample)[0] < 1 - threshold_;
    });
    std::string other_word = decision_.natural_is_treated ? "untreated" : "treated";
    if (gain && cost) {
      natural(*cost, fmt::format("gains at one setting, costs at another: {}, but {}", shown(*gain),
                                 shown(*cost)));
    } else if (gain && blocking) {
      natural(*blocking,
              fmt::format("gains ({}), but this is open: {}", shown(*gain), open(*blocking)));
      decision_.settled = false;
    } else if (gain) {
      decision_.treatment = other_word;
      quote(*gain);
      decision_.why = fmt::format("the treatment {}: {}",
                                  decision_.natural_is_treated ? "costs" : "gains", shown(*gain));
    } else if (hopeful) {
      natural(*hopeful, fmt::format("open: {}", open(*hopeful)));
      decision_.settled = false;
    } else if (cost) {
      natural(*cost, fmt::format("{} would cost: {}", other_word, shown(*cost)));
    } else if (decision_.samples.empty()) {
      decision_.why = "nothing was timed";
      decision_.settled = false;
    } else {
      natural(decision_.samples.front(), fmt::format("no gain beyond {:g}%: {}", 100 * threshold_,
                                                     shown(decision_.samples.front())));
    }
  }

 private:
  // An interval that is missing may hold anything.
  Interval other(const TuningSample& sample) const {
    bool known = sample.interval && sample.note.empty();
    return of_the_other(known ? *sample.interval : Interval{0.5, 2.0},
                        decision_.natural_is_treated);
  }
  template <class Predicate>
  const TuningSample* find(Predicate predicate) const {
    auto found = std::find_if(decision_.samples.begin(), decision_.samples.end(), predicate);
    return found == decision_.samples.end() ? nullptr : &*found;
  }
  const TuningSample* first(std::string_view says) const {
    return find([&](const TuningSample& sample) { return sample.says == says; });
  }
  const TuningSample* least_gain() const {
    const TuningSample* least = nullptr;
    for (const TuningSample& sample : decision_.samples) {
      if (sample.says != "gains") continue;
      if (!least || std::fabs(std::log(sample.ratio)) < std::fabs(std::log(least->ratio))) {
        least = &sample;
      }
    }
    return least;
  }
  static std::string open(const TuningSample& sample) {
    return shown(sample) + (sample.note.empty() ? "" : ", for " + sample.note);
  }
  void quote(const TuningSample& sample) {
    decision_.ratio = sample.ratio;
    decision_.interval = sample.interval;
  }
  void natural(const TuningSample& sample, std::string why) {
    quote(sample);
    decision_.why = std::move(why);
  }

  Decision& decision_;
  double threshold_;
};

// The measurements of one function on one architecture with one assembler.
using Group = std::vector<const KernelMeasurement*>;

Decision decision_of(const Group& group, double threshold, double dead_band) {
  const KernelMeasurement& front = *group.front();
  Decision decision;
  decision.symbol = front.symbol;
  decision.name = front.name;
  decision.file = front.file;
  decision.launch_file = front.launch_file;
  decision.architecture = front.architecture;
  decision.assembler = front.assembler;
  decision.assembler_build = front.assembler_build;
  decision.natural_is_treated = front.symbol.find(kTrigger) != std::string::npos;
  decision.treatment = "natural";
  auto with = [&](Finding finding) {
    auto found = std::find_if(group.begin(), group.end(), [&](const KernelMeasurement* kernel) {
      return kernel->finding == finding;
    });
    return found == group.end() ? nullptr : *found;
  };
  for (const KernelMeasurement* kernel : group) {
    decision.spill_bytes = std::max(decision.spill_bytes, kernel->b.spill_bytes);
  }
  if (const KernelMeasurement* refused = with(Finding::refused)) {
    decision.why = refused->meaning;
    return decision;
  }
  if (const KernelMeasurement* failure = with(Finding::failed)) {
    decision.why = failure->meaning;
    decision.settled = false;
    return decision;
  }
  for (const KernelMeasurement* kernel : group) {
    if (kernel->finding == Finding::same_code) continue;
    for (const report::Timing& timing : kernel->timings) {
      decision.samples.push_back(
          sample_of(*kernel, timing, decision.natural_is_treated, threshold, dead_band));
    }
  }
  if (decision.samples.empty() && with(Finding::same_code)) {
    decision.why = "treated and untreated are the same code";
    return decision;
  }
  Jury(decision, threshold).decide();
  return decision;
}

}  // namespace

Result<std::vector<Decision>> decide(const report::Measurement& measurement, double threshold) {
  if (measurement.a.treatment != "untreated" || measurement.b.treatment != "treated") {
    return error(fmt::format(
        "a policy weighs treated against untreated, and this measurement compares {} with {}: "
        "measure again without --a and --b",
        measurement.b.treatment, measurement.a.treatment));
  }
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  std::vector<Group> groups;
  std::map<Key, size_t> places;
  for (const KernelMeasurement& kernel : measurement.kernels) {
    auto [place, fresh] = places.emplace(
        Key{kernel.symbol, kernel.architecture, kernel.assembler, kernel.assembler_build},
        groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].push_back(&kernel);
  }
  std::vector<Decision> decisions;
  for (const Group& group : groups) {
    decisions.push_back(decision_of(group, threshold, measurement.dead_band));
  }
  return decisions;
}

Result<report::Measurement> merged(std::span<const report::Measurement> measurements) {
  if (measurements.empty()) return error("no measurement to decide by");
  report::Measurement all = measurements.front();
  for (const report::Measurement& more : measurements.subspan(1)) {
    if (more.gpu.name != all.gpu.name) {
      return error(fmt::format("one measurement is of a {}, another of a {}: tune each by itself",
                               all.gpu.name, more.gpu.name));
    }
    if (more.a.treatment != all.a.treatment || more.b.treatment != all.b.treatment) {
      return error("the measurements compare different builds");
    }
    all.kernels.insert(all.kernels.end(), more.kernels.begin(), more.kernels.end());
    for (const std::string& note : more.notes) {
      if (std::find(all.notes.begin(), all.notes.end(), note) == all.notes.end()) {
        all.notes.push_back(note);
      }
    }
    all.confidence = std::min(all.confidence, more.confidence);
    all.dead_band = std::max(all.dead_band, more.dead_band);
    all.gpu_seconds += more.gpu_seconds;
    all.build_seconds += more.build_seconds;
  }
  return all;
}

}  // namespace namesake::measure
