// A live comparison for a terminal: a line a kernel, those first that the other build would save
// most of, then what ran as loaded and why, then what to do.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "report/live_pages.h"
#include "report/text_page.h"
#include "util/terminal.h"

namespace namesake::report {
namespace {

std::string shown_name(const LiveKernel& kernel) {
  return plain(kernel.name.empty() ? kernel.symbol : kernel.name);
}

std::string launches(int64_t n) {
  return grouped(n) + (n == 1 ? " launch" : " launches");
}

std::string shown_milliseconds(double value) {
  if (value <= 0) return "–";
  return value < 1 ? fmt::format("{:.1f} µs", 1000 * value) : fmt::format("{:.3f} ms", value);
}

Tone tone_of(LiveFinding finding) {
  switch (finding) {
    case LiveFinding::faster:
      return Tone::good;
    case LiveFinding::slower:
      return Tone::bad;
    case LiveFinding::undecided:
      return Tone::odd;
    default:
      return Tone::dim;
  }
}

bool alternated(const LiveKernel& kernel) {
  return kernel.launches_of_b > 0;
}

std::vector<Cell> row(const std::string& name, int64_t launches, double total, double share,
                      const LiveShape& shape, const Cell& finding) {
  bool timed = shape.time.pairs > 0;
  std::string interval =
      shape.time.interval
          ? fmt::format("[{:.3f}, {:.3f}]", (*shape.time.interval)[0], (*shape.time.interval)[1])
          : "";
  return {{name},
          {grouped(launches)},
          {total > 0 ? seconds(total / 1000) : "–"},
          {share > 0 ? fmt::format("{:.1f}%", 100 * share) : "–", Tone::dim},
          {shown_milliseconds(shape.milliseconds)},
          {timed ? fmt::format("{:.3f}", shape.time.ratio) : "–"},
          {interval, Tone::dim},
          {timed ? grouped(shape.time.pairs) : "–", Tone::dim},
          finding};
}

double total_of(const Live& live) {
  double total = 0;
  for (const LiveKernel& kernel : live.kernels) total += kernel.total_milliseconds;
  return total;
}

void pairs_text(TextPage& page, const Live& live) {
  Table table({{"kernel", false, 0, 16},
               {"launches", true, 2},
               {"total", true, 3},
               {"share", true, 4},
               {"one", true, 5},
               {"b/a", true},
               {"interval", false, 1},
               {"blocks", true, 6},
               {fmt::format("b is")}});
  double total = total_of(live);
  for (const LiveKernel& kernel : live.kernels) {
    if (!alternated(kernel)) continue;
    LiveShape none;
    const LiveShape& main = kernel.main_shape() ? *kernel.main_shape() : none;
    double share = total > 0 ? kernel.total_milliseconds / total : 0;
    table.add(
        row(shown_name(kernel), kernel.launches, kernel.total_milliseconds, share, main,
            {kLiveFindingNames[static_cast<size_t>(kernel.finding)], tone_of(kernel.finding)}));
    if (kernel.finding == LiveFinding::undecided || page.style.verbose)
      table.note(plain(kernel.meaning));
    if (kernel.captured > 0)
      table.note(fmt::format("{} into captured graphs ran as loaded", launches(kernel.captured)));
    if (kernel.cooperative > 0)
      table.note(fmt::format("{} ran as loaded: cooperative", launches(kernel.cooperative)));
    if (kernel.not_resident > 0)
      table.note(fmt::format("{} ran as loaded: resident at once, and not with the other build",
                             launches(kernel.not_resident)));
    if (kernel.checked > 0)
      table.note(
          kernel.differing > 0
              ? fmt::format("results differ in {} of {} compared", kernel.differing,
                            launches(kernel.checked))
              : fmt::format(
                    "the same results, bit for bit, in {} compared{}", launches(kernel.checked),
                    kernel.unrepeatable > 0
                        ? fmt::format("; {} not repeatable in themselves", kernel.unrepeatable)
                        : ""),
          kernel.differing > 0 ? Tone::bad : Tone::dim);
    if (!kernel.unchecked.empty()) table.note("results not compared: " + plain(kernel.unchecked));
    for (size_t i = 1; i < kernel.shapes.size() && page.style.verbose; ++i) {
      const LiveShape& shape = kernel.shapes[i];
      double of_shape = static_cast<double>(shape.launches) * shape.milliseconds;
      table.add(row("  " + shown_shape(shape), shape.launches, of_shape,
                    total > 0 ? of_shape / total : 0, shape,
                    {shape.time.pairs > 0 ? shape.time.verdict : "", Tone::dim}));
    }
  }
  page.table(table);
}

// One line a reason.
void others_text(TextPage& page, const Live& live) {
  std::map<std::string, std::vector<const LiveKernel*>> by_reason;
  double total = total_of(live);
  for (const LiveKernel& kernel : live.kernels)
    if (!alternated(kernel)) by_reason[kernel.meaning].push_back(&kernel);
  if (by_reason.empty()) return;
  page.heading("Ran as loaded");
  std::vector<std::pair<double, std::string>> lines;
  for (const auto& [reason, kernels] : by_reason) {
    double share = 0;
    int64_t captured = 0;
    for (const LiveKernel* kernel : kernels) {
      share += kernel->total_milliseconds;
      captured += kernel->captured;
    }
    std::string names;
    size_t shown = page.style.verbose ? kernels.size() : std::min<size_t>(kernels.size(), 3);
    for (size_t i = 0; i < shown; ++i)
      names += (i ? ", " : "") + elide_middle(shown_name(*kernels[i]), 40);
    if (shown < kernels.size()) names += fmt::format(" and {} more", kernels.size() - shown);
    lines.emplace_back(
        share,
        fmt::format(
            "{}{}: {} ({}{})", counted(static_cast<int64_t>(kernels.size()), "kernel"),
            total > 0 && share > 0 ? fmt::format(", {:.1f}% of the time", 100 * share / total) : "",
            plain(reason), names,
            captured > 0 ? fmt::format("; {} into captured graphs", launches(captured)) : ""));
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& x, const auto& y) { return x.first > y.first; });
  for (const auto& [share, text] : lines) page.line(text, Tone::plain, 2, 4);
}

}  // namespace

std::string shown_shape(const LiveShape& shape) {
  auto size = [](std::vector<int64_t> s) {
    s.resize(3, 1);
    if (s[2] > 1) return fmt::format("{}×{}×{}", s[0], s[1], s[2]);
    return s[1] > 1 ? fmt::format("{}×{}", s[0], s[1]) : fmt::format("{}", s[0]);
  };
  return fmt::format(
      "{} blocks of {}{}", size(shape.grid), size(shape.block),
      shape.shared_bytes > 0 ? ", " + byte_count(shape.shared_bytes) + " shared" : "");
}

std::string to_text(const Live& live, const TextStyle& style) {
  TextPage page(style);
  if (!live.kernels.empty())
    page.line(fmt::format("{} (a) against {} (b) in the running application, on {}", plain(live.a),
                          plain(live.b), live.gpu.empty() ? "an unknown GPU" : plain(live.gpu)),
              Tone::bold);
  if (std::any_of(live.kernels.begin(), live.kernels.end(), alternated)) pairs_text(page, live);
  others_text(page, live);
  page.blank();
  page.line(fmt::format(
                "{} in {}, {} timed, {:g}% confidence, {:g}% either way counts as no difference{}.",
                launches(live.launches), seconds(live.seconds), grouped(live.timed),
                100 * live.confidence, 100 * live.dead_band,
                live.ended.empty() ? "" : "; the command ended with " + plain(live.ended)),
            Tone::dim);
  page.line(plain(live.advice));
  if (!live.policy.empty()) page.line("policy: " + plain(live.policy));
  for (const std::string& note : live.notes) page.line("note: " + plain(note), Tone::dim, 0, 2);
  page.next(live.next_command);
  return page.out;
}

}  // namespace namesake::report
