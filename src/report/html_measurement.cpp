// A measurement as a page: all kernels' ratios with their intervals on one axis, sorted by effect;
// then each kernel with the distribution its verdict rests on, the control drawn beside it on the
// same axis.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/measurement_pages.h"
#include "report/words.h"
#include "util/terminal.h"

namespace namesake::report {
namespace {

// The page's colours; the words are the findings'.
std::string_view colour_of(Finding finding) {
  switch (finding) {
    case Finding::faster:
      return "var(--good)";
    case Finding::slower:
      return "var(--b)";
    case Finding::undecided:
      return "rgb(var(--lottery))";
    case Finding::refused:
    case Finding::failed:
      return "var(--bad)";
    default:
      return "var(--dim)";
  }
}
std::string_view name_of(Finding finding) {
  return kFindingNames[static_cast<size_t>(finding)];
}

std::string text(double x, double y, std::string_view anchor, std::string_view content,
                 std::string_view style = "fill:var(--ink)") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" style=\"{}\">{}</text>", x,
                     y, anchor, style, escaped(content));
}
std::string line(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" style=\"{}\"/>",
                     x1, y1, x2, y2, style);
}
std::string box(double x, double y, double width, double height, std::string_view style) {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" style=\"{}\"/>", x, y,
      width, height, style);
}

// Ratios on a logarithmic axis, so that twice as fast and half as fast lie equally far from 1.
class Axis {
 public:
  Axis(double low, double high, double left, double right)
      : low_(std::log(low)), high_(std::log(high)), left_(left), right_(right) {}
  double operator()(double ratio) const {
    const double share = (std::log(std::max(ratio, 1e-6)) - low_) / (high_ - low_);
    return left_ + std::clamp(share, 0.0, 1.0) * (right_ - left_);
  }
  // Round percentages, about eight of them.
  std::string ticks(double top, double bottom) const {
    const double span = 100 * (std::exp(high_) - std::exp(low_));
    double step = 0.1;
    for (const double next : {0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0})
      if (span / step > 9) step = next;
    std::string out;
    for (double percent = std::ceil(100 * (std::exp(low_) - 1) / step) * step;
         percent <= 100 * (std::exp(high_) - 1) + 1e-9; percent += step) {
      const double x = (*this)(1 + percent / 100);
      const bool middle = std::abs(percent) < step / 2;
      out += line(x, top, x, bottom, middle ? "stroke:var(--dim)" : "stroke:var(--line)");
      out += text(x, top - 6, "middle",
                  middle ? "equal" : fmt::format("{:+.{}f}%", percent, step < 1 ? 1 : 0),
                  "fill:var(--dim)");
    }
    return out;
  }

 private:
  double low_, high_, left_, right_;
};

// Room on both sides, 1 always inside.
Axis axis_over(double low, double high, double left, double right) {
  const double room = std::pow(std::max(high, 1.0) / std::min(low, 1.0), 0.08);
  return {std::min(low, 1.0) / std::max(room, 1.001), std::max(high, 1.0) * std::max(room, 1.001),
          left, right};
}

std::string svg(double width, double height, const std::string& inside) {
  return fmt::format(
      "<svg class=\"bars\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "role=\"img\">{2}</svg>",
      width, height, inside);
}

std::vector<const KernelMeasurement*> sorted(const Measurement& measurement) {
  std::vector<const KernelMeasurement*> kernels;
  for (const KernelMeasurement& kernel : measurement.kernels) kernels.push_back(&kernel);
  std::stable_sort(
      kernels.begin(), kernels.end(), [](const KernelMeasurement* x, const KernelMeasurement* y) {
        const auto place = [](const KernelMeasurement& kernel) {
          return kernel.warm() && kernel.finding != Finding::same_code ? kernel.warm()->time.ratio
                                                                       : 1e9;
        };
        return place(*x) < place(*y);
      });
  return kernels;
}

class MeasurementPage {
 public:
  explicit MeasurementPage(const Measurement& measurement)
      : m_(measurement), kernels_(sorted(measurement)) {}

  std::string body() {
    head();
    effects();
    for (size_t i = 0; i < kernels_.size(); ++i) kernel(*kernels_[i], i);
    foot();
    return std::move(out_);
  }

 private:
  void head() {
    out_ += fmt::format(
        "<header><p class=\"eyebrow\">namesake measure</p><h1>{} against {} on {}</h1><p "
        "class=\"lead\">Time of b / time of a: to the left of the middle b is faster. "
        "Bars are {:g}% intervals on the median of paired timings; the shaded band, {:g}% either "
        "way, counts as no difference.</p>",
        escaped(m_.b.label), escaped(m_.a.label), escaped(m_.gpu.name), 100 * m_.confidence,
        100 * m_.dead_band);
    out_ += fmt::format(
        "<p class=\"builds\"><span class=\"build a\"><b>A</b> {}</span><span class=\"build "
        "b\"><b>B</b> {}</span></p></header>",
        escaped(m_.a.label), escaped(m_.b.label));
  }

  // One line a kernel whose codes differ.
  void effects() {
    std::vector<const KernelMeasurement*> timed;
    double low = 1, high = 1;
    size_t same = 0;
    for (const KernelMeasurement* kernel : kernels_) {
      same += kernel->finding == Finding::same_code;
      if (!kernel->warm() || !kernel->warm()->time.interval ||
          kernel->finding == Finding::same_code)
        continue;
      timed.push_back(kernel);
      low = std::min(low, (*kernel->warm()->time.interval)[0]);
      high = std::max(high, (*kernel->warm()->time.interval)[1]);
    }
    if (!timed.empty()) {
      constexpr double kLabel = 330, kRight = 1010, kWidth = 1220, kRow = 22, kTop = 30;
      const Axis axis = axis_over(low, high, kLabel + 20, kRight);
      const double bottom = kTop + kRow * static_cast<double>(timed.size());
      std::string inside = box(axis(1 / (1 + m_.dead_band)), kTop,
                               axis(1 + m_.dead_band) - axis(1 / (1 + m_.dead_band)), bottom - kTop,
                               "fill:var(--line)") +
                           axis.ticks(kTop, bottom);
      for (size_t i = 0; i < timed.size(); ++i) {
        const KernelMeasurement& kernel = *timed[i];
        const Ratio& time = kernel.warm()->time;
        const double y = kTop + kRow * (static_cast<double>(i) + 0.5);
        const std::string fill = fmt::format("fill:{}", colour_of(kernel.finding));
        inside += fmt::format("<a href=\"#k{}\">", place_of(kernel));
        inside += text(kLabel, y + 4, "end",
                       elide_middle(shown_name(m_, kernel), 34) + "  " + plain(kernel.assembler),
                       "fill:var(--ink);font-family:var(--mono)");
        const double from = axis((*time.interval)[0]), to = axis((*time.interval)[1]);
        inside +=
            line(axis(1), y, axis(time.ratio), y,
                 fmt::format("stroke:{};opacity:.35;stroke-width:8", colour_of(kernel.finding)));
        inside += box(std::min(from, to - 2), y - 4, std::max(to - from, 2.0), 8, fill);
        inside += text(kRight + 12, y + 4, "start",
                       fmt::format("{:.4f}  {}", time.ratio, name_of(kernel.finding)), fill) +
                  "</a>";
      }
      out_ += "<h2>Effect by kernel</h2><div class=\"scroll\">" + svg(kWidth, bottom + 6, inside) +
              "</div>";
    }
    if (same > 0)
      out_ += fmt::format(
          "<p class=\"dim\">{} one code in both builds; they are below, with their controls.</p>",
          same == 1 ? "1 kernel is" : fmt::format("{} kernels are", same));
  }

  size_t place_of(const KernelMeasurement& kernel) const {
    return static_cast<size_t>(std::find(kernels_.begin(), kernels_.end(), &kernel) -
                               kernels_.begin());
  }

  void kernel(const KernelMeasurement& kernel, size_t place) {
    if (place == 0) out_ += "<h2>Each kernel</h2>";
    const bool open =
        kernel.finding == Finding::refused || kernel.finding == Finding::failed || place < 3;
    out_ += fmt::format(
        "<details class=\"fn\" id=\"k{}\" style=\"border-left-color:{}\"{}><summary><span "
        "class=\"name\">{}</span><span class=\"arch\">{} · {}</span>"
        "<span class=\"fact\"><b style=\"color:{}\">{}</b></span>",
        place, colour_of(kernel.finding), open ? " open" : "", escaped(shown_name(m_, kernel)),
        escaped(kernel.architecture), escaped(kernel.assembler), colour_of(kernel.finding),
        name_of(kernel.finding));
    if (const Timing* warm = kernel.warm())
      out_ += fmt::format("<span class=\"fact\">{:.4f}</span>", warm->time.ratio);
    out_ += fmt::format("</summary><div class=\"body\"><p class=\"meaning\">{}.</p>",
                        escaped(kernel.meaning));
    for (const Timing& timing : kernel.timings) distribution(timing);
    out_ += "<div class=\"numbers\">";
    builds(kernel);
    times(kernel);
    out_ += "</div>";
    checks(kernel);
    std::string sizes;
    for (const auto& [name, value] : kernel.sizes) sizes += fmt::format("{} = {}, ", name, value);
    out_ += fmt::format("<p class=\"dim\">{}{}; {}</p></div></details>", escaped(sizes),
                        escaped(kernel.launch), escaped(kernel.launch_file));
  }

  // Each pair is a dot; dots of one bin stand on each other.
  void distribution(const Timing& timing) {
    std::vector<double> all = timing.ratios;
    all.insert(all.end(), timing.control_ratios.begin(), timing.control_ratios.end());
    if (all.empty()) return;
    constexpr double kLabel = 130, kRight = 1100, kTop = 26, kLane = 54, kBin = 5;
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    const Axis axis = axis_over(*least, *most, kLabel + 10, kRight);
    const double bottom = kTop + 2 * kLane;
    std::string inside = box(axis(1 / (1 + m_.dead_band)), kTop,
                             axis(1 + m_.dead_band) - axis(1 / (1 + m_.dead_band)), bottom - kTop,
                             "fill:var(--line)") +
                         axis.ticks(kTop, bottom);
    const auto lane = [&](const std::vector<double>& ratios, const Ratio& ratio, double floor,
                          std::string_view label, std::string_view colour) {
      std::map<int, int> bins;
      for (const double value : ratios) ++bins[static_cast<int>(axis(value) / kBin)];
      int highest = 1;
      for (const auto& [bin, count] : bins) highest = std::max(highest, count);
      const double step = std::min(kBin, (kLane - 16) / highest);
      for (const auto& [bin, count] : bins)
        for (int i = 0; i < count; ++i)
          inside += fmt::format(
              "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.1\" style=\"fill:{};opacity:.6\"/>",
              (bin + 0.5) * kBin, floor - 8 - step * i, colour);
      if (ratio.interval)
        inside += box(axis((*ratio.interval)[0]), floor - 4,
                      std::max(axis((*ratio.interval)[1]) - axis((*ratio.interval)[0]), 2.0), 4,
                      fmt::format("fill:{}", colour));
      inside += text(kLabel, floor - 8, "end", label, fmt::format("fill:{}", colour));
    };
    lane(timing.ratios, timing.time, kTop + kLane, "b / a", "var(--b)");
    lane(timing.control_ratios, timing.control, bottom, "control a / a", "var(--a)");
    out_ += fmt::format(
                "<h4>Pairs with {} <small>{} of {} timed, {} in each "
                "timing</small></h4><div class=\"scroll\">",
                setting_of(timing), counted(timing.time.pairs, "pair"), timing.rounds,
                timing.launches == 1 ? "one launch" : fmt::format("{} launches", timing.launches)) +
            svg(kRight + 20, bottom + 4, inside) + "</div>";
  }

  void builds(const KernelMeasurement& kernel) {
    out_ +=
        "<table class=\"facts\"><thead><tr><th>code</th><th class=\"a\">A</th><th "
        "class=\"b\">B</th></tr></thead><tbody>";
    const auto row = [&](std::string_view name, const std::string& a, const std::string& b) {
      out_ +=
          fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td></tr>", name, escaped(a), escaped(b));
    };
    const MeasuredBuild &a = kernel.a, &b = kernel.b;
    row("registers", grouped(a.registers), grouped(b.registers));
    row("spilled bytes", grouped(a.spill_bytes), grouped(b.spill_bytes));
    const auto loop = [](const MeasuredBuild& build) {
      return build.loop_instructions ? grouped(*build.loop_instructions) : std::string("–");
    };
    row("instructions in the hottest loop", loop(a), loop(b));
    row("blocks on a multiprocessor", grouped(a.blocks_per_multiprocessor),
        grouped(b.blocks_per_multiprocessor));
    row("warps of those it holds", fmt::format("{:.0f}%", 100 * a.occupancy),
        fmt::format("{:.0f}%", 100 * b.occupancy));
    row("code", byte_count(a.code_bytes), byte_count(b.code_bytes));
    out_ += "</tbody></table>";
  }

  void times(const KernelMeasurement& kernel) {
    for (const Timing& timing : kernel.timings) {
      out_ += fmt::format(
          "<table class=\"facts\"><thead><tr><th>{}</th><th class=\"a\">A</th><th "
          "class=\"b\">B</th></tr></thead><tbody>",
          setting_of(timing));
      out_ += fmt::format("<tr><th>milliseconds</th><td>{:.4f}</td><td>{:.4f}</td></tr>",
                          timing.milliseconds_a, timing.milliseconds_b);
      if (timing.megahertz_a > 0)
        out_ += fmt::format("<tr><th>MHz, true mean</th><td>{:.0f}</td><td>{:.0f}</td></tr>",
                            timing.megahertz_a, timing.megahertz_b);
      const auto ratio = [&](std::string_view name, const Ratio& one) {
        if (one.pairs == 0) return;
        const std::string interval =
            one.interval ? fmt::format("{:.4f} … {:.4f}", (*one.interval)[0], (*one.interval)[1])
                         : "–";
        out_ += fmt::format("<tr><th>{}</th><td>{:.4f}</td><td>{}</td></tr>", name, one.ratio,
                            interval);
      };
      ratio("ratio in time", timing.time);
      ratio("ratio in cycles", timing.cycles);
      ratio("control", timing.control);
      ratio("control, in cycles", timing.control_cycles);
      out_ += fmt::format(
          "<tr><th>card</th><td>{:.0f} W</td><td>{} °C</td></tr><tr><th>slowdowns</th><td "
          "colspan=\"2\">{}{}</td></tr></tbody></table>",
          timing.card.watts, timing.card.celsius, escaped(timing.card.slowdowns),
          timing.dropped > 0 ? fmt::format(", {} rounds dropped", timing.dropped) : "");
    }
  }

  void checks(const KernelMeasurement& kernel) {
    out_ += "<ul class=\"controls\">";
    const auto item = [&](bool good, const std::string& what) {
      out_ += fmt::format("<li class=\"{}\"><i>{}</i> {}</li>", good ? "good" : "bad",
                          good ? "✓" : "✗", escaped(what));
    };
    for (const InputSet& set : kernel.inputs) {
      if (!set.damage.empty()) item(false, fmt::format("{}: {}", set.name, set.damage));
      for (const OutputEquality& output : set.outputs)
        item(output.differing == 0,
             output.differing == 0
                 ? fmt::format("{}: {} elements of {} equal bit for bit", set.name,
                               grouped(output.elements), output.buffer)
                 : fmt::format(
                       "{}: {} of {} elements of {} differ, the first is [{}], {} against {}",
                       set.name, grouped(output.differing), grouped(output.elements), output.buffer,
                       output.first, output.value_a, output.value_b));
    }
    const Repeats& repeats = kernel.repeats;
    if (repeats.runs > 0)
      item(repeats.differing_a + repeats.differing_b == 0,
           repeats.differing_a + repeats.differing_b == 0
               ? fmt::format("the same results in {} runs", grouped(repeats.runs))
               : fmt::format("other results in {} runs of a and {} of b, out of {}",
                             repeats.differing_a, repeats.differing_b, repeats.runs));
    const ReferenceCheck& reference = kernel.reference;
    if (reference.checked > 0)
      item(reference.wrong_a + reference.wrong_b == 0,
           fmt::format("against {}: {} of {} elements checked, {} wrong in a and {} in b, error "
                       "{:.2g} and {:.2g}",
                       reference.reference, grouped(reference.checked), grouped(reference.elements),
                       reference.wrong_a, reference.wrong_b, reference.error_a, reference.error_b));
    out_ += "</ul>";
  }

  void foot() {
    out_ += "<footer><section class=\"card\"><h3>GPU</h3><dl>";
    const auto entry = [&](std::string_view name, const std::string& value) {
      if (!value.empty()) out_ += fmt::format("<dt>{}</dt><dd>{}</dd>", name, escaped(value));
    };
    const Gpu& gpu = m_.gpu;
    entry("name", gpu.name);
    entry("architecture", gpu.architecture);
    entry("driver", gpu.driver + (gpu.cuda.empty() ? "" : ", CUDA " + gpu.cuda));
    if (gpu.power_limit_watts)
      entry("power limit", fmt::format("{:.0f} W", *gpu.power_limit_watts));
    if (gpu.max_clock_mhz) entry("highest clock", fmt::format("{} MHz", *gpu.max_clock_mhz));
    if (gpu.ecc) entry("ECC", *gpu.ecc ? "on" : "off");
    if (gpu.mig) entry("MIG", *gpu.mig ? "on" : "off");
    entry("other processes", gpu.other_processes.empty()
                                 ? "none"
                                 : grouped(static_cast<int64_t>(gpu.other_processes.size())));
    out_ += "</dl></section><section class=\"card\"><h3>Origin</h3><dl>";
    entry("command", m_.command);
    entry("date", m_.date);
    entry("namesake", NAMESAKE_VERSION);
    entry("time", fmt::format("{:.0f} s on the GPU, {:.0f} s making the codes", m_.gpu_seconds,
                              m_.build_seconds));
    out_ += "</dl>";
    if (!m_.next_command.empty())
      out_ += fmt::format("<p class=\"next\">Next: <code>{}</code></p>", escaped(m_.next_command));
    out_ += "</section>";
    if (!m_.notes.empty()) {
      out_ += "<section class=\"card\"><h3>Notes</h3><ul>";
      for (const std::string& note : m_.notes) out_ += fmt::format("<li>{}</li>", escaped(note));
      out_ += "</ul></section>";
    }
    out_ += "</footer>";
  }

  const Measurement& m_;
  std::vector<const KernelMeasurement*> kernels_;
  std::string out_;
};

}  // namespace

std::string to_html(const Measurement& measurement) {
  return page(
      fmt::format("namesake measure: {} against {}", measurement.b.label, measurement.a.label),
      MeasurementPage(measurement).body());
}

}  // namespace namesake::report
