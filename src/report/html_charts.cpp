// Bars as inline SVG. Two panes of one row stand at the same height, so that the eye compares the
// hottest loop with the whole function without looking for the label again.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html.h"
#include "report/words.h"
#include "util/terminal.h"

namespace namesake::report {
namespace {

constexpr int kLabel = 118, kPane = 400, kGap = 16, kRow = 20, kHead = 24, kNumber = 52;

int64_t magnitude(int64_t value) {
  return value < 0 ? -value : value;
}

int scaled(int64_t value, int64_t most, int length) {
  if (value <= 0 || most <= 0) return 0;
  double share = static_cast<double>(value) / static_cast<double>(most);
  return std::max(1, static_cast<int>(std::lround(share * length)));
}

std::string rect(int x, int y, int width, std::string_view style) {
  if (width <= 0) return "";
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"12\" class=\"{}\"/>", x, y + 4,
                     width, style);
}

std::string text(int x, int y, std::string_view anchor, std::string_view style,
                 std::string_view content) {
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" class=\"{}\">{}</text>", x, y + 14,
                     anchor, style, escaped(content));
}

std::string_view tone(int64_t delta) {
  return delta > 0 ? "more" : delta < 0 ? "fewer" : "even";
}

int pane_x(size_t pane) {
  return kLabel + kGap + static_cast<int>(pane) * (kPane + kGap);
}

std::string frame(const std::vector<std::string>& titles, const std::vector<BarRow>& rows,
                  const std::string& inside) {
  int width = pane_x(titles.size()) - kGap,
      height = kHead + static_cast<int>(rows.size()) * kRow + 4;
  std::string out = fmt::format(
      "<svg class=\"bars\" viewBox=\"0 0 {} {}\" width=\"{}\" role=\"img\">", width, height, width);
  for (size_t i = 0; i < titles.size(); ++i) out += text(pane_x(i), 0, "start", "head", titles[i]);
  for (size_t r = 0; r < rows.size(); ++r) {
    int y = kHead + static_cast<int>(r) * kRow;
    out += fmt::format("<g><rect class=\"band\" x=\"0\" y=\"{}\" width=\"{}\" height=\"{}\"/>", y,
                       width, kRow);
    out += text(kLabel, y, "end", "label", elide_middle(plain(rows[r].label), 17)) + "</g>";
  }
  return out + inside + "</svg>";
}

int64_t most_in_pane(const std::vector<BarRow>& rows, size_t pane,
                     int64_t (*value)(int64_t, int64_t)) {
  int64_t most = 0;
  for (const BarRow& row : rows) {
    if (pane < row.panes.size())
      most = std::max(most, value(row.panes[pane].first, row.panes[pane].second));
  }
  return most;
}

}  // namespace

std::string two_sided_bars(const std::vector<std::string>& titles,
                           const std::vector<BarRow>& rows) {
  constexpr int kHalf = (kPane - 3 * kNumber) / 2;
  std::string inside;
  for (size_t pane = 0; pane < titles.size(); ++pane) {
    int64_t most = most_in_pane(rows, pane, [](int64_t a, int64_t b) { return std::max(a, b); });
    int axis = pane_x(pane) + kNumber + kHalf;
    for (size_t r = 0; r < rows.size(); ++r) {
      if (pane >= rows[r].panes.size()) continue;
      auto [a, b] = rows[r].panes[pane];
      int y = kHead + static_cast<int>(r) * kRow;
      int length_a = scaled(a, most, kHalf), length_b = scaled(b, most, kHalf);
      // A difference of one pixel and more is a difference that is there: show it even when
      // rounding hides it.
      if (a > b && length_a == length_b) length_b = std::max(0, length_b - 1);
      if (b > a && length_a == length_b) length_a = std::max(0, length_a - 1);
      int common = std::min(length_a, length_b);
      inside += rect(axis - common, y, common, "bar a soft") +
                rect(axis - length_a, y, length_a - common, "bar a");
      inside += rect(axis + 1, y, common, "bar b soft") +
                rect(axis + 1 + common, y, length_b - common, "bar b");
      inside += text(axis - length_a - 5, y, "end", "number", grouped(a));
      inside += text(axis + length_b + 6, y, "start", "number", grouped(b));
      inside += text(pane_x(pane) + kPane, y, "end", tone(b - a), a == b ? "=" : with_sign(b - a));
    }
    inside += fmt::format("<line class=\"axis\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>",
                          axis, kHead, kHead + static_cast<int>(rows.size()) * kRow);
  }
  return frame(titles, rows, inside);
}

std::string change_bars(const std::vector<std::string>& titles, const std::vector<BarRow>& rows) {
  constexpr int kHalf = (kPane - 3 * kNumber) / 2;
  std::string inside;
  for (size_t pane = 0; pane < titles.size(); ++pane) {
    int64_t most = most_in_pane(rows, pane, [](int64_t a, int64_t b) { return magnitude(b - a); });
    int axis = pane_x(pane) + kNumber / 2 + kHalf;
    for (size_t r = 0; r < rows.size(); ++r) {
      if (pane >= rows[r].panes.size()) continue;
      auto [a, b] = rows[r].panes[pane];
      int y = kHead + static_cast<int>(r) * kRow;
      int64_t delta = b - a;
      int length = scaled(magnitude(delta), most, kHalf);
      if (delta < 0)
        inside += rect(axis - length, y, length, "bar a") +
                  text(axis - length - 5, y, "end", "fewer", with_sign(delta));
      if (delta > 0)
        inside += rect(axis + 1, y, length, "bar b") +
                  text(axis + length + 6, y, "start", "more", with_sign(delta));
      inside += text(pane_x(pane) + kPane, y, "end", "number", change(a, b));
    }
    inside += fmt::format("<line class=\"axis\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>",
                          axis, kHead, kHead + static_cast<int>(rows.size()) * kRow);
  }
  return frame(titles, rows, inside);
}

}  // namespace namesake::report
