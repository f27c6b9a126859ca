// The difference for a terminal. Three sizes of it: one architecture gives one table; several give
// a matrix of function × architecture and the largest changes under it; many functions give counts
// by verdict and the largest changes. Every size ends in what it means, the controls, and the next
// command.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/explain.h"
#include "report/text.h"
#include "report/text_page.h"
#include "util/terminal.h"
#include "util/text.h"

namespace namesake::report {
namespace {

constexpr size_t kMostRows =
    40;                          // more functions than this are counted, not listed, unless verbose
constexpr size_t kLargest = 12;  // rows of the largest changes
constexpr size_t kMeanings = 5;  // functions explained in a sentence
constexpr size_t kMoversInMix = 8;    // opcodes named per function when verbose
constexpr size_t kFailuresShown = 3;  // of a control, unless verbose

using Functions = std::vector<const FunctionDifference*>;

Tone tone_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::same:
      return Tone::dim;
    case Verdict::same_but_registers:
      return Tone::odd;
    case Verdict::different:
      return Tone::strong;
    case Verdict::lottery:
      return Tone::more;
    case Verdict::failed:
      return Tone::bad;
  }
  return Tone::plain;
}

Tone tone_of_change(int64_t a, int64_t b) {
  return a == b ? Tone::dim : b > a ? Tone::more : Tone::fewer;
}

int64_t spilled(const Side& side) {
  return side.spill_store_bytes + side.spill_load_bytes;
}

bool changes(const FunctionDifference& function) {
  return function.verdict != Verdict::same;
}

std::string short_movers(const std::map<std::string, int64_t>& a,
                         const std::map<std::string, int64_t>& b, size_t most) {
  std::vector<std::string> parts;
  for (const Mover& mover : movers(a, b)) {
    parts.push_back(fmt::format("{} {}", plain(mover.name), with_sign(mover.delta())));
    if (parts.size() == most) break;
  }
  return join(parts, ", ");
}

class DifferenceText {
 public:
  DifferenceText(const Difference& difference, const TextStyle& style)
      : d_(difference), page_(style) {}

  std::string text() {
    page_.line(shown_builds(d_.a, d_.b), Tone::bold);
    page_.line(summary_sentence(d_));
    loud_controls();
    functions();
    meanings();
    if (page_.style.sass) {
      for (const FunctionDifference* function : by_importance(d_))
        add_sass(page_, *function, d_.a, d_.b);
    }
    front_end();
    times();
    controls();
    notes();
    page_.next(d_.next_command);
    return std::move(page_.out);
  }

 private:
  // A difference whose control failed is no difference: say so before any number.
  void loud_controls() {
    for (const Control& control : d_.controls) {
      if (control.outcome != ControlOutcome::failed) continue;
      page_.line(
          fmt::format(
              "CONTROL FAILED: {} ({} of {}). Do not read the name's effect from what follows.",
              plain(control.name), grouped(control.failed), grouped(control.checked)),
          Tone::bad);
    }
  }

  void functions() {
    Functions all = by_importance(d_);
    if (all.empty()) return;
    std::vector<std::string> architectures = architectures_of(d_);
    std::map<std::string, Functions> by_architecture;
    size_t rows = 0;
    for (const FunctionDifference* function : all) {
      Functions& list = by_architecture[function->architecture];
      list.push_back(function);
      rows = std::max(rows, list.size());
    }
    if (rows > kMostRows && !page_.style.verbose) {
      page_.heading("verdicts");
      page_.table(verdict_table());
      largest(all);
      page_.line(
          "Every function is in the JSON report, the largest changes in the HTML report (--format "
          "json, "
          "--format html); --verbose lists all here.",
          Tone::dim, 2, 2);
      return;
    }
    if (architectures.size() > 1) {
      matrix(all, architectures);
      if (!page_.style.verbose) return largest(all);
    }
    for (const std::string& architecture : architectures) {
      if (by_architecture[architecture].empty()) continue;
      page_.heading(plain(architecture));
      page_.table(function_table(by_architecture[architecture], false));
    }
  }

  void largest(const Functions& all) {
    Functions changed;
    for (const FunctionDifference* function : all) {
      if (changes(*function) && changed.size() < kLargest) changed.push_back(function);
    }
    if (changed.empty()) return;
    page_.heading("largest changes");
    page_.table(function_table(changed, architectures_of(d_).size() > 1));
  }

  Table verdict_table() const {
    std::vector<Column> columns = {{"architecture"}};
    for (size_t v = 0; v < kVerdictCount; ++v) {
      columns.push_back({std::string(verdict_word(static_cast<Verdict>(v))), true, v == 0 ? 0 : 1});
    }
    Table table(columns);
    for (const std::string& architecture : architectures_of(d_)) {
      auto counts = count_verdicts(d_, architecture);
      std::vector<Cell> row = {{plain(architecture)}};
      for (size_t v = 0; v < kVerdictCount; ++v) {
        row.push_back(
            {grouped(counts[v]), counts[v] == 0 ? Tone::dim : tone_of(static_cast<Verdict>(v))});
      }
      table.add(row);
    }
    return table;
  }

  // What changed of one function, over a row of numbers; failures say why in a line below.
  Table function_table(const Functions& list, bool with_architecture) const {
    Table table({{"function", false, 0, 16},
                 {with_architecture ? "arch" : ""},
                 {"verdict"},
                 {"registers", true, 1},
                 {"spill bytes", true, 2},
                 {"instructions", true, 4},
                 {"hot loop", true, 3},
                 {"code bytes", true, 6},
                 {"stack", true, 7},
                 {"shared", true, 8},
                 {"what moves", false, 5, 18, true}});
    for (const FunctionDifference* function : list) {
      const Side &a = function->a, &b = function->b;
      std::vector<Cell> row = {
          {shown_name(*function), changes(*function) ? Tone::plain : Tone::dim},
          {with_architecture ? plain(function->architecture) : ""},
          {std::string(verdict_word(function->verdict)), tone_of(function->verdict)}};
      auto number = [&](int64_t from, int64_t to) {
        bool silent = from == 0 && to == 0;
        row.push_back({silent ? "" : change(from, to), tone_of_change(from, to)});
      };
      if (function->verdict == Verdict::failed) {
        table.add(row);
        for (const Side* side : {&a, &b}) {
          if (!side->failure.empty()) {
            table.note(plain(side == &a ? d_.a.label : d_.b.label) + ": " + plain(side->failure),
                       Tone::bad);
          }
        }
        continue;
      }
      number(a.registers, b.registers);
      number(spilled(a), spilled(b));
      if (spilled(b) > spilled(a)) row.back().tone = Tone::bad;
      number(a.mix.instructions, b.mix.instructions);
      if (a.hottest_loop || b.hottest_loop) {
        number(a.hottest_loop ? a.hottest_loop->instructions : 0,
               b.hottest_loop ? b.hottest_loop->instructions : 0);
      } else {
        row.push_back({});
      }
      number(a.code_bytes, b.code_bytes);
      number(a.stack_bytes, b.stack_bytes);
      if (a.shared_bytes != b.shared_bytes) {
        number(a.shared_bytes, b.shared_bytes);
      } else {
        row.push_back({});
      }
      row.push_back({short_movers(a.mix.by_class, b.mix.by_class, 3), Tone::dim});
      table.add(row);
      if (page_.style.verbose && changes(*function)) {
        std::string opcodes = short_movers(a.mix.by_opcode, b.mix.by_opcode, kMoversInMix);
        if (!opcodes.empty()) table.note("opcodes: " + opcodes);
        if (a.hottest_loop && b.hottest_loop) {
          opcodes =
              short_movers(a.hottest_loop->by_opcode, b.hottest_loop->by_opcode, kMoversInMix);
          table.note("in the hottest loop: " + (opcodes.empty() ? "the same mix" : opcodes));
        }
      }
    }
    return table;
  }

  // ---- function × architecture
  // --------------------------------------------------------------------------

  static std::string cell_text(const FunctionDifference& function, int detail) {
    std::string text(verdict_mark(function.verdict));
    if (function.verdict == Verdict::failed) return text + " failed";
    const Side &a = function.a, &b = function.b;
    if (function.verdict == Verdict::same) return text;
    text += " " + change(a.registers, b.registers);
    if (detail >= 1 && spilled(a) != spilled(b)) text += " spill " + change(spilled(a), spilled(b));
    if (detail >= 2) {
      std::string size = percent_change(a.code_bytes, b.code_bytes);
      if (!size.empty()) text += " " + size + " code";
    }
    return text;
  }

  Table matrix_table(const std::vector<Functions>& rows,
                     const std::vector<std::string>& architectures,
                     const std::vector<size_t>& columns, int detail) const {
    std::vector<Column> heads = {{"function", false, 0, 14}};
    for (size_t column : columns) heads.push_back({plain(architectures[column]), false, 0, 5});
    Table table(heads);
    for (const auto& row : rows) {
      const FunctionDifference* any = nullptr;
      bool changed = false;
      std::vector<Cell> cells(1);
      for (const FunctionDifference* function : row) {
        if (function && !any) any = function;
        changed = changed || (function && changes(*function));
      }
      for (size_t column : columns) {
        const FunctionDifference* function = row[column];
        cells.push_back(function ? Cell{cell_text(*function, detail), tone_of(function->verdict)}
                                 : Cell{"·", Tone::dim});
      }
      cells[0] = {any ? shown_name(*any) : "", changed ? Tone::plain : Tone::dim};
      table.add(cells);
    }
    return table;
  }

  void matrix(const Functions& all, const std::vector<std::string>& architectures) {
    // A function is the same row on every architecture; `all` is sorted, so rows come by
    // importance.
    std::map<std::pair<std::string_view, std::string_view>, size_t> index;
    std::vector<Functions> rows;
    for (const FunctionDifference* function : all) {
      auto column = std::find(architectures.begin(), architectures.end(), function->architecture);
      if (column == architectures.end()) continue;
      auto [entry, is_new] = index.try_emplace({function->file, function->symbol}, rows.size());
      if (is_new) rows.emplace_back(architectures.size(), nullptr);
      rows[entry->second][static_cast<size_t>(column - architectures.begin())] = function;
    }
    page_.heading("function × architecture");
    page_.line(
        "registers A → B;  = same   ≈ registers and order   ≠ different   ? lottery   ✗ failed",
        Tone::dim, 2, 2);

    // As much detail as fits; when even the least does not, the architectures go below each other.
    std::vector<size_t> columns;
    for (size_t i = 0; i < architectures.size(); ++i) columns.push_back(i);
    constexpr size_t kNames = 24;  // columns that names should keep
    auto fits = [&](const std::vector<size_t>& some, int detail) {
      Table table = matrix_table(rows, architectures, some, detail);
      size_t names = 0;
      for (const FunctionDifference* function : all)
        names = std::max(names, display_width(shown_name(*function)));
      size_t saved = names > kNames ? names - kNames : 0;
      return table.natural_width(2) <= page_.width + saved;
    };
    for (int detail = 2; detail >= 0; --detail) {
      if (!fits(columns, detail) && detail > 0) continue;
      std::vector<size_t> group;
      for (size_t column : columns) {
        std::vector<size_t> larger = group;
        larger.push_back(column);
        if (!group.empty() && !fits(larger, detail)) {
          page_.table(matrix_table(rows, architectures, group, detail));
          page_.blank();
          larger = {column};
        }
        group = larger;
      }
      page_.table(matrix_table(rows, architectures, group, detail));
      return;
    }
  }

  // ---- what it means
  // ------------------------------------------------------------------------------------

  void meanings() {
    Functions changed;
    for (const FunctionDifference* function : by_importance(d_)) {
      if (changes(*function)) changed.push_back(function);
    }
    if (changed.empty()) return;
    page_.heading("what it means");
    size_t shown = page_.style.verbose ? changed.size() : std::min(changed.size(), kMeanings);
    for (size_t i = 0; i < shown; ++i) {
      const FunctionDifference& function = *changed[i];
      std::string meaning = function.meaning.empty() ? explain(function, d_.a.label, d_.b.label)
                                                     : plain(function.meaning);
      std::string name = elide_middle(shown_name(function), page_.width / 2);
      page_.line(fmt::format("{} on {}: {}.", name, plain(function.architecture), meaning),
                 Tone::plain, 2, 4);
    }
    if (shown < changed.size()) {
      page_.line(fmt::format("and {} more (--verbose)",
                             grouped(static_cast<int64_t>(changed.size() - shown))),
                 Tone::dim, 2, 4);
    }
  }

  void front_end() {
    if (d_.front_end.empty()) return;
    page_.heading("front end");
    for (const FrontEndDifference& half : d_.front_end) {
      std::string text = fmt::format("{} on {}: ", plain(half.name), plain(half.architecture));
      text += half.ptx_differs ? fmt::format("the PTX itself differs (−{} +{} lines)",
                                             grouped(half.lines_removed), grouped(half.lines_added))
                               : "the PTX is the same";
      if (!half.note.empty()) text += "; " + plain(half.note);
      page_.marked(half.ptx_differs ? "≠" : "=", half.ptx_differs ? Tone::strong : Tone::dim, text);
    }
  }

  void times() {
    if (d_.times.empty()) return;
    std::vector<std::string> order;
    std::map<std::string, std::pair<double, double>> sums;
    double a = 0, b = 0;
    for (const AssemblyTime& time : d_.times) {
      auto [sum, is_new] = sums.try_emplace(time.architecture);
      if (is_new) order.push_back(time.architecture);
      sum->second.first += time.a_seconds;
      sum->second.second += time.b_seconds;
      a += time.a_seconds, b += time.b_seconds;
    }
    auto pair = [](double from, double to) {
      std::string text = seconds(from) + " → " + seconds(to);
      if (from > 0 && to > 0) text += fmt::format(" (×{:.2f})", to / from);
      return text;
    };
    std::vector<std::string> parts;
    for (const std::string& architecture : order) {
      parts.push_back(plain(architecture) + " " +
                      pair(sums[architecture].first, sums[architecture].second));
    }
    if (parts.size() > 1) parts.push_back("all " + pair(a, b));
    page_.blank();
    page_.line("time to assemble, A → B: " + join(parts, ", "), Tone::plain, 0, 2);
  }

  void controls() {
    if (d_.controls.empty()) return;
    page_.heading("controls");
    for (const Control& control : d_.controls) {
      std::string name = plain(control.name),
                  note = control.note.empty() ? "" : ": " + plain(control.note);
      if (control.outcome == ControlOutcome::held) {
        page_.marked("✓", Tone::good, fmt::format("{} ({})", name, grouped(control.checked)));
      } else if (control.outcome == ControlOutcome::not_applicable) {
        page_.marked("–", Tone::dim, name + " – not applicable" + note);
      } else {
        page_.marked("✗", Tone::bad,
                     fmt::format("{} – FAILED for {} of {}{}", name, grouped(control.failed),
                                 grouped(control.checked), note));
        size_t shown = page_.style.verbose ? control.failing.size()
                                           : std::min(control.failing.size(), kFailuresShown);
        for (size_t i = 0; i < shown; ++i) page_.line(plain(control.failing[i]), Tone::bad, 6, 8);
        if (shown < control.failing.size()) {
          page_.line(fmt::format("and {} more (--verbose)",
                                 grouped(static_cast<int64_t>(control.failing.size() - shown))),
                     Tone::dim, 6, 8);
        }
      }
    }
  }

  void notes() {
    if (!d_.notes.empty()) page_.heading("notes");
    for (const std::string& note : d_.notes) page_.marked("•", Tone::dim, plain(note));
    if (page_.style.verbose && d_.tool_seconds + d_.child_seconds > 0) {
      page_.blank();
      page_.line(fmt::format("processor time: {} namesake, {} compilers", seconds(d_.tool_seconds),
                             seconds(d_.child_seconds)),
                 Tone::dim);
    }
  }

  const Difference& d_;
  TextPage page_;
};

}  // namespace

std::string to_text(const Difference& difference, const TextStyle& style) {
  return DifferenceText(difference, style).text();
}

}  // namespace namesake::report
