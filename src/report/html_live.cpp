// A live comparison as one page: where the application's GPU time goes and what the other build
// would save of it, then each kernel with its launches, then what ran as loaded and why.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "report/html.h"
#include "report/live_pages.h"
#include "report/words.h"
#include "util/terminal.h"

namespace namesake::report {
namespace {

std::string name_of(const LiveKernel& kernel) {
  return plain(kernel.name.empty() ? kernel.symbol : kernel.name);
}

const char* word_of(LiveFinding finding) {
  return kLiveFindingNames[static_cast<size_t>(finding)];
}

const char* colour_of(LiveFinding finding) {
  switch (finding) {
    case LiveFinding::faster:
      return "var(--good)";
    case LiveFinding::slower:
      return "var(--bad)";
    case LiveFinding::undecided:
      return "rgb(var(--lottery))";
    default:
      return "var(--dim)";
  }
}

std::string text(double x, double y, std::string_view anchor, std::string_view content,
                 std::string_view style = "fill:var(--ink)") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" style=\"{}\">{}</text>", x,
                     y, anchor, style, escaped(content));
}
std::string box(double x, double y, double width, double height, std::string_view style) {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"2\" style=\"{}\"/>",
      x, y, std::max(width, 0.0), height, style);
}
std::string svg(double width, double height, const std::string& inside) {
  return fmt::format(
      "<div class=\"scroll\"><svg class=\"bars\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "role=\"img\">{2}</svg></div>",
      width, height, inside);
}

std::string milliseconds(double value) {
  if (value <= 0) return "–";
  return value < 1 ? fmt::format("{:.1f} µs", 1000 * value) : fmt::format("{:.3f} ms", value);
}

class LivePage {
 public:
  explicit LivePage(const Live& live) : live_(live) {
    for (const LiveKernel& kernel : live.kernels) {
      total_ += kernel.total_milliseconds;
      if (kernel.launches_of_b > 0) paired_.push_back(&kernel);
    }
  }

  std::string body() {
    head();
    if (!paired_.empty()) {
      time_chart();
      ratio_chart();
      out_ += "<h2>Each kernel</h2>";
      for (size_t i = 0; i < paired_.size(); ++i) kernel(*paired_[i], i);
    }
    as_loaded();
    foot();
    return std::move(out_);
  }

 private:
  void head() {
    out_ += fmt::format(
        "<header><p class=\"eyebrow\">namesake ab</p><h1>{} against {} in the running "
        "application</h1>"
        "<p class=\"lead\">{}</p><p class=\"builds\"><span class=\"build a\"><b>A</b> "
        "{}</span><span "
        "class=\"build b\"><b>B</b> {}</span></p>",
        escaped(live_.b), escaped(live_.a), escaped(live_.advice), escaped(live_.a),
        escaped(live_.b));
    if (!live_.code_page.empty())
      out_ += fmt::format("<p><a href=\"{}\">What differs in the code</a></p>",
                          escaped(live_.code_page));
    out_ += "</header>";
  }

  double share(const LiveKernel& kernel) const {
    return total_ > 0 ? kernel.total_milliseconds / total_ : 0;
  }

  // The bar is a kernel's share of the GPU time seen; its solid part what the other build would
  // save.
  void time_chart() {
    constexpr double kLabel = 330, kRight = 1000, kRow = 24;
    double most = 0;
    for (const LiveKernel* kernel : paired_) most = std::max(most, share(*kernel));
    if (most == 0) return;
    std::string inside;
    for (size_t i = 0; i < paired_.size(); ++i) {
      const LiveKernel& kernel = *paired_[i];
      const double y = kRow * static_cast<double>(i) + 4,
                   width = (kRight - kLabel) * share(kernel) / most;
      const double saved = total_ > 0 ? kernel.saved_milliseconds / total_ : 0;
      inside += fmt::format("<a href=\"#k{}\">", i);
      inside += text(kLabel - 10, y + 13, "end", elide_middle(name_of(kernel), 36),
                     "fill:var(--ink);font-family:var(--mono)");
      inside += box(kLabel, y, width, 18, "fill:var(--line)");
      inside += box(kLabel, y, (kRight - kLabel) * saved / most, 18, "fill:var(--good)");
      inside += text(kLabel + width + 8, y + 13, "start",
                     saved > 0 ? fmt::format("{:.1f}% of the time, {:.2f}% saved",
                                             100 * share(kernel), 100 * saved)
                               : fmt::format("{:.1f}% of the time", 100 * share(kernel)),
                     "fill:var(--dim)") +
                "</a>";
    }
    out_ += "<h2>What the other build would save</h2>" +
            svg(1240, kRow * static_cast<double>(paired_.size()) + 6, inside);
  }

  // Logarithmic, so that twice as fast and half as fast lie equally far from the middle.
  void ratio_chart() {
    constexpr double kLabel = 330, kLeft = 350, kRight = 1000, kRow = 24, kTop = 24;
    double far = std::log(1.02);
    for (const LiveKernel* kernel : paired_)
      if (kernel->main_shape() && kernel->main_shape()->time.pairs > 0)
        far = std::max(far, 1.15 * std::abs(std::log(kernel->main_shape()->time.ratio)));
    const double middle = (kLeft + kRight) / 2;
    const auto at = [&](double ratio) {
      return middle +
             std::clamp(std::log(std::max(ratio, 1e-6)) / far, -1.0, 1.0) * (kRight - kLeft) / 2;
    };
    const double bottom = kTop + kRow * static_cast<double>(paired_.size());
    std::string inside = box(at(1 / (1 + live_.dead_band)), kTop,
                             at(1 + live_.dead_band) - at(1 / (1 + live_.dead_band)), bottom - kTop,
                             "fill:var(--line)");
    inside += text(middle, kTop - 8, "middle", "equal", "fill:var(--dim)");
    inside += text(kLeft, kTop - 8, "start",
                   fmt::format("b {:.0f}% faster", 100 * (1 - std::exp(-far))), "fill:var(--dim)");
    inside += text(kRight, kTop - 8, "end",
                   fmt::format("b {:.0f}% slower", 100 * (std::exp(far) - 1)), "fill:var(--dim)");
    for (size_t i = 0; i < paired_.size(); ++i) {
      const LiveKernel& kernel = *paired_[i];
      const LiveShape* shape = kernel.main_shape();
      const double y = kTop + kRow * (static_cast<double>(i) + 0.5);
      inside += fmt::format("<a href=\"#k{}\">", i);
      inside += text(kLabel - 10, y + 4, "end", elide_middle(name_of(kernel), 36),
                     "fill:var(--ink);font-family:var(--mono)");
      if (shape && shape->time.pairs > 0) {
        const double from = std::min(at(1), at(shape->time.ratio)),
                     to = std::max(at(1), at(shape->time.ratio));
        inside += box(from, y - 4, to - from, 8,
                      fmt::format("fill:{};opacity:.35", colour_of(kernel.finding)));
        if (shape->time.interval) {
          const double low = at((*shape->time.interval)[0]), high = at((*shape->time.interval)[1]);
          inside += box(low, y - 5, std::max(high - low, 2.5), 10,
                        fmt::format("fill:{}", colour_of(kernel.finding)));
        }
        inside += text(kRight + 12, y + 4, "start",
                       fmt::format("{:.3f}  {}", shape->time.ratio, word_of(kernel.finding)),
                       fmt::format("fill:{}", colour_of(kernel.finding)));
      }
      inside += "</a>";
    }
    out_ += "<h2>Time of b / time of a</h2>" + svg(1240, bottom + 6, inside);
  }

  // Blocks of four launches, and a alone read as if it alternated: a dot each, in the order of
  // their size.
  void blocks(const LiveShape& shape) {
    if (shape.ratios.size() < 2) return;
    constexpr double kLeft = 130, kRight = 1100, kLane = 46, kTop = 22;
    std::vector<double> all = shape.ratios;
    all.insert(all.end(), shape.control_ratios.begin(), shape.control_ratios.end());
    std::sort(all.begin(), all.end());
    // A late launch now and then must not squeeze the others together.
    const auto last = static_cast<double>(all.size() - 1);
    double low = std::min(1.0, all[static_cast<size_t>(0.01 * last)]),
           high = std::max(1.0, all[static_cast<size_t>(0.99 * last)]);
    const double room = 0.05 * (high - low) + 0.001;
    low -= room;
    high += room;
    const auto at = [&](double ratio) {
      return kLeft + std::clamp((ratio - low) / (high - low), 0.0, 1.0) * (kRight - kLeft);
    };
    std::string inside = fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" style=\"stroke:var(--dim)\"/>",
        at(1), kTop, kTop + 2 * kLane);
    inside += text(at(1), kTop - 6, "middle", "1", "fill:var(--dim)") +
              text(kLeft, kTop - 6, "start", fmt::format("{:.3f}", low), "fill:var(--dim)") +
              text(kRight, kTop - 6, "end", fmt::format("{:.3f}", high), "fill:var(--dim)");
    double floor = kTop + kLane - 4;
    for (const auto& [name, ratios, colour] :
         {std::tuple<const char*, const std::vector<double>*, const char*>{"b / a", &shape.ratios,
                                                                           "var(--b)"},
          std::tuple<const char*, const std::vector<double>*, const char*>{
              "control", &shape.control_ratios, "var(--a)"}}) {
      inside += text(kLeft - 14, floor - 12, "end", name, fmt::format("fill:{}", colour));
      std::map<int, int> bins;
      int highest = 1;
      for (double ratio : *ratios)
        highest = std::max(highest, ++bins[static_cast<int>(at(ratio) / 6)]);
      for (const auto& [bin, count] : bins) {
        const double height = (kLane - 12) * count / highest;
        inside +=
            box(6.0 * bin, floor - height, 5, height, fmt::format("fill:{};opacity:.75", colour));
      }
      floor += kLane;
    }
    out_ += svg(1240, kTop + 2 * kLane + 4, inside);
  }

  void kernel(const LiveKernel& kernel, size_t place) {
    out_ += fmt::format(
        "<details class=\"fn\" id=\"k{}\" style=\"border-left-color:{}\"{}><summary><span "
        "class=\"name\">{}</span><span "
        "class=\"arch\">{} · {}</span><span class=\"fact\"><b "
        "style=\"color:{}\">{}</b></span></summary><div "
        "class=\"body\"><p class=\"meaning\">{}.</p>",
        place, colour_of(kernel.finding), place < 3 ? " open" : "",
        escaped(elide_middle(name_of(kernel), 110)), escaped(kernel.architecture),
        escaped(kernel.assembler), colour_of(kernel.finding), word_of(kernel.finding),
        escaped(kernel.meaning));
    if (kernel.main_shape()) blocks(*kernel.main_shape());
    out_ +=
        "<div class=\"numbers\"><table class=\"facts\"><thead><tr><th></th><th "
        "class=\"a\">a</th><th "
        "class=\"b\">b</th></tr></thead><tbody>";
    const auto line = [&](const char* what, int64_t a, int64_t b) {
      out_ +=
          fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td></tr>", what, grouped(a), grouped(b));
    };
    line("registers", kernel.a.registers, kernel.b.registers);
    line("spilled bytes", kernel.a.spill_bytes, kernel.b.spill_bytes);
    line("bytes of code", kernel.a.code_bytes, kernel.b.code_bytes);
    line("launches", kernel.launches - kernel.launches_of_b, kernel.launches_of_b);
    out_ += fmt::format(
        "</tbody></table><table class=\"facts\"><thead><tr><th>launch</th><th>launches</th><th "
        "class=\"a\">a</th><th "
        "class=\"b\">b</th><th>b/a</th><th>interval</th><th>control</th><th>blocks</th></tr></"
        "thead><tbody>");
    for (const LiveShape& shape : kernel.shapes) {
      const bool timed = shape.time.pairs > 0;
      out_ += fmt::format(
          "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</"
          "td><td>{}</td></tr>",
          escaped(shown_shape(shape)), grouped(shape.launches), milliseconds(shape.milliseconds_a),
          milliseconds(shape.milliseconds_b), timed ? fmt::format("{:.4f}", shape.time.ratio) : "–",
          shape.time.interval
              ? fmt::format("{:.4f} … {:.4f}", (*shape.time.interval)[0], (*shape.time.interval)[1])
              : "–",
          shape.control.pairs > 0 ? fmt::format("{:.4f}", shape.control.ratio) : "–",
          grouped(shape.time.pairs));
    }
    out_ += "</tbody></table></div>";
    checks(kernel);
    out_ +=
        fmt::format("<p class=\"dim\"><code>{}</code></p></div></details>", escaped(kernel.symbol));
  }

  void checks(const LiveKernel& kernel) {
    std::string list;
    const auto item = [&](bool good, const std::string& what) {
      list += fmt::format("<li class=\"{}\"><i>{}</i> {}</li>", good ? "good" : "bad",
                          good ? "✓" : "✗", escaped(what));
    };
    const auto plain_item = [&](int64_t n, const char* what) {
      if (n > 0) list += fmt::format("<li>{} launches ran as loaded: {}</li>", grouped(n), what);
    };
    if (kernel.checked > 0)
      item(kernel.differing == 0,
           fmt::format("results compared bit for bit in {}, {} differ",
                       kernel.checked == 1 ? "1 launch" : grouped(kernel.checked) + " launches",
                       kernel.differing));
    if (!kernel.unchecked.empty())
      list += fmt::format("<li>results not compared: {}</li>", escaped(kernel.unchecked));
    plain_item(kernel.captured, "into captured graphs");
    plain_item(kernel.cooperative, "cooperative");
    plain_item(kernel.not_resident, "resident at once, and not with the other build");
    if (!list.empty()) out_ += "<ul class=\"controls\">" + list + "</ul>";
  }

  void as_loaded() {
    std::map<std::string, std::vector<const LiveKernel*>> by_reason;
    for (const LiveKernel& kernel : live_.kernels)
      if (kernel.launches_of_b == 0) by_reason[kernel.meaning].push_back(&kernel);
    if (by_reason.empty()) return;
    out_ += "<h2>Ran as loaded</h2>";
    for (const auto& [reason, kernels] : by_reason) {
      out_ += fmt::format(
          "<details class=\"fn\"><summary><span class=\"name\">{}</span><span "
          "class=\"fact\">{}</span></summary><div "
          "class=\"body\"><div "
          "class=\"numbers\"><table "
          "class=\"facts\"><thead><tr><th>kernel</th><th>launches</th><th>share of the "
          "time</th></tr></thead><tbody>",
          escaped(counted(static_cast<int64_t>(kernels.size()), "kernel")), escaped(reason));
      for (const LiveKernel* kernel : kernels)
        out_ += fmt::format("<tr><th><code>{}</code></th><td>{}</td><td>{:.2f}%</td></tr>",
                            escaped(elide_middle(name_of(*kernel), 100)), grouped(kernel->launches),
                            100 * share(*kernel));
      out_ += "</tbody></table></div></div></details>";
    }
  }

  void foot() {
    out_ += "<footer><section class=\"card\"><h3>Run</h3><dl>";
    const auto entry = [&](std::string_view name, const std::string& value) {
      if (!value.empty()) out_ += fmt::format("<dt>{}</dt><dd>{}</dd>", name, escaped(value));
    };
    entry("GPU", live_.gpu + (live_.architecture.empty() ? "" : ", " + live_.architecture));
    entry("CUDA", live_.cuda);
    entry("launches",
          fmt::format("{}, {} of them timed", grouped(live_.launches), grouped(live_.timed)));
    entry("time", seconds(live_.seconds));
    entry("ended with", live_.ended);
    entry("command", live_.command);
    entry("date", live_.date);
    entry("policy", live_.policy);
    out_ += "</dl>";
    if (!live_.next_command.empty())
      out_ +=
          fmt::format("<p class=\"next\">Next: <code>{}</code></p>", escaped(live_.next_command));
    out_ += "</section>";
    if (!live_.notes.empty()) {
      out_ += "<section class=\"card\"><h3>Notes</h3><ul>";
      for (const std::string& note : live_.notes) out_ += fmt::format("<li>{}</li>", escaped(note));
      out_ += "</ul></section>";
    }
    out_ += "</footer>";
  }

  const Live& live_;
  double total_ = 0;
  std::vector<const LiveKernel*> paired_;
  std::string out_;
};

}  // namespace

std::string to_html(const Live& live) {
  return page(fmt::format("namesake ab: {} against {}", live.b, live.a), LivePage(live).body());
}

}  // namespace namesake::report
