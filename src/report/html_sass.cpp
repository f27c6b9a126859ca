// The instruction-level difference as an HTML table: scheduling and instruction of A, then of B.
// Runs that hold no change are tbodies of their own, which the script folds; without the script
// everything is open.

#include <fmt/format.h>

#include <algorithm>

#include "report/html.h"
#include "report/sass_rows.h"
#include "report/words.h"
#include "util/text.h"

namespace namesake::report {
namespace {

// "B0-----:R-:W-:-:S04", the fields marked that the other side has otherwise.
void add_scheduling(std::string& out, std::string_view own, std::string_view other) {
  std::vector<std::string_view> mine = split(own, ':'), theirs = split(other, ':');
  bool compare = !other.empty() && mine.size() == theirs.size();
  for (size_t i = 0; i < mine.size(); ++i) {
    bool differs = compare && mine[i] != theirs[i];
    out += i > 0 ? ":" : "";
    out += differs ? "<b>" + escaped(mine[i]) + "</b>" : escaped(mine[i]);
  }
}

// One side's two cells.
void add_cells(std::string& out, std::string_view own_text, std::string_view other_text,
               char change) {
  SassText own = split_scheduling(own_text), other = split_scheduling(other_text);
  out += "<td class=\"s\">";
  add_scheduling(out, own.scheduling, change == '~' ? other.scheduling : std::string_view());
  out += "</td><td>";
  if (!tokens_compare(change, own.instruction, other.instruction)) {
    out += escaped(own.instruction);
  } else {
    std::vector<SassToken> mine, others;
    mark_tokens(own.instruction, other.instruction, mine, others);
    for (size_t i = 0; i < mine.size();) {
      size_t end = i;
      std::string run;
      for (; end < mine.size() && mine[end].changed == mine[i].changed; ++end)
        run += mine[end].text;
      out += mine[i].changed ? "<b>" + escaped(run) + "</b>" : escaped(run);
      i = end;
    }
  }
  out += "</td>";
}

std::string_view row_class(char change) {
  switch (change) {
    case '~':
      return "t";
    case '|':
      return "x";
    case '-':
      return "m";
    case '+':
      return "p";
  }
  return "e";
}

}  // namespace

std::string sass_table(const FunctionDifference& function, const BuildDescription& a,
                       const BuildDescription& b, size_t byte_budget) {
  if (function.sass.empty()) return "";
  std::string out = fmt::format(
      "<div class=\"scroll code\"><table class=\"sass\"><thead><tr><th colspan=\"2\" class=\"a\">A "
      "· "
      "{}</th>"
      "<th colspan=\"2\" class=\"b\">B · {}</th></tr></thead>",
      escaped(a.label), escaped(b.label));
  size_t lines_left_out = 0;
  for (const SassBlock& block :
       sass_blocks(function.sass, function.verdict == Verdict::same_but_registers)) {
    if (out.size() > byte_budget) {
      lines_left_out +=
          block.lines.size() + static_cast<size_t>(std::max<int64_t>(0, block.left_out));
      continue;
    }
    if (block.left_out > 0) {
      out += fmt::format("<tbody><tr class=\"f\"><td colspan=\"4\">⋯ {}</td></tr></tbody>",
                         fold_label(block));
      continue;
    }
    if (block.folds) {
      out += fmt::format(
          "<tbody><tr class=\"f\"><td colspan=\"4\"><button type=\"button\">⋯ "
          "{}</button></td></tr></tbody>"
          "<tbody class=\"fold\">",
          fold_label(block));
    } else {
      out += "<tbody>";
    }
    for (const SassLine& line : block.lines) {
      if (out.size() > byte_budget) {
        ++lines_left_out;
        continue;
      }
      out += fmt::format("<tr class=\"{}{}\">", row_class(line.change), line.hot ? " h" : "");
      add_cells(out, line.a, line.b, line.change);
      add_cells(out, line.b, line.a, line.change);
      out += "</tr>";
    }
    out += "</tbody>";
  }
  if (lines_left_out > 0) {
    out += fmt::format(
        "<tbody><tr class=\"f\"><td colspan=\"4\">{} left out to keep this page small: the JSON "
        "report has them"
        "</td></tr></tbody>",
        counted(static_cast<int64_t>(lines_left_out), "further line"));
  }
  return out + "</table></div>";
}

}  // namespace namesake::report
