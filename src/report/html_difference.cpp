// The difference as a page, read from the top: which functions change (a matrix of function ×
// architecture), what changes in each (numbers, mix, hottest loop, instructions), and why to
// believe it (controls, origin).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "report/explain.h"
#include "report/html.h"
#include "report/html_function.h"
#include "report/words.h"
#include "util/terminal.h"
#include "util/text.h"

namespace namesake::report {
namespace {

constexpr size_t kNameInMatrix = 52, kNameInCard = 64;  // columns; the whole name is a hover away

using Functions = std::vector<const FunctionDifference*>;

constexpr const char* kVerdictExplained[] = {
    "byte for byte", "same graph and instructions; registers, order or scheduling differ",
    "other code", "the code varies from run to run", "one build could not be made"};

std::string_view style_of(Verdict verdict) {
  constexpr const char* kStyles[] = {"same", "registers", "different", "lottery", "failed"};
  return kStyles[static_cast<size_t>(verdict)];
}

int64_t spilled(const Side& side) {
  return side.spill_store_bytes + side.spill_load_bytes;
}

std::string pill(Verdict verdict) {
  return fmt::format("<span class=\"pill {}\" title=\"{}\">{} {}</span>", style_of(verdict),
                     kVerdictExplained[static_cast<size_t>(verdict)], verdict_mark(verdict),
                     verdict_word(verdict));
}

class DifferencePage {
 public:
  DifferencePage(const Difference& difference, const HtmlStyle& style)
      : d_(difference),
        style_(style),
        architectures_(architectures_of(difference)),
        sorted_(by_importance(difference)) {
    std::set<std::string_view> files;
    for (const FunctionDifference* function : sorted_) files.insert(function->file);
    several_files_ = files.size() > 1;
  }

  std::string html() {
    // Cards first: the matrix links to those that exist.
    std::string cards = functions();
    header();
    matrix();
    out_ += cards;
    footer();
    return page("namesake diff: " + plain(d_.a.label) + " against " + plain(d_.b.label), out_);
  }

 private:
  // ---- top
  // ----------------------------------------------------------------------------------------------

  void header() {
    std::string sentence = summary_sentence(d_);
    size_t end = std::min(sentence.find(". ") + 1, sentence.size());
    if (end == 0) end = sentence.size();
    out_ += fmt::format(
        "<header><p class=\"eyebrow\">namesake diff</p><h1>{}</h1><p class=\"lead\">{}</p>",
        escaped(sentence.substr(0, end)), escaped(trimmed(sentence.substr(end))));
    out_ += fmt::format(
        "<p class=\"builds\"><span class=\"build a\"><b>A</b> {}</span><span class=\"build "
        "b\"><b>B</b> {}</span></p>",
        escaped(shown_build(d_.a)), escaped(shown_build(d_.b)));
    for (const Control& control : d_.controls) {
      if (control.outcome != ControlOutcome::failed) continue;
      out_ += fmt::format(
          "<p class=\"alarm\"><b>A control failed:</b> {} ({} of {}). Do not read the name's "
          "effect from "
          "this page before you know why. <a href=\"#controls\">Controls</a></p>",
          escaped(control.name), grouped(control.failed), grouped(control.checked));
    }
    auto counts = count_verdicts(d_);
    int64_t total = static_cast<int64_t>(d_.functions.size());
    if (total > 0) {
      out_ += "<div class=\"strip\">";
      for (size_t v : kOrder) {
        if (counts[v] == 0) continue;
        out_ += fmt::format("<span class=\"{}\" style=\"flex:{}\" title=\"{} {}\"></span>",
                            style_of(static_cast<Verdict>(v)), counts[v], grouped(counts[v]),
                            verdict_word(static_cast<Verdict>(v)));
      }
      out_ += "</div>";
    }
    out_ += "</header>\n";
  }

  void toolbar() {
    auto counts = count_verdicts(d_);
    out_ += "<div class=\"tools\">";
    for (size_t v : kOrder) {
      if (counts[v] == 0) continue;
      Verdict verdict = static_cast<Verdict>(v);
      out_ += fmt::format(
          "<button type=\"button\" class=\"chip {0}\" data-verdict=\"{0}\" aria-pressed=\"true\" "
          "title=\"{1}\">"
          "<i>{2}</i> {3} <b>{4}</b></button>",
          style_of(verdict), kVerdictExplained[v], verdict_mark(verdict), verdict_word(verdict),
          grouped(counts[v]));
    }
    out_ +=
        "<input id=\"filter\" type=\"search\" placeholder=\"filter functions  ( / )\" "
        "aria-label=\"filter functions\"/></div>";
  }

  // Both names whole: what the eye hovers over and what the filter searches.
  static std::string title(const FunctionDifference& function) {
    std::string name = escaped(shown_name(function)), symbol = escaped(function.symbol);
    return name == symbol ? name : name + "&#10;" + symbol;
  }

  // How strongly a cell is coloured: the share of the code that changes, on a scale that shows
  // small shares.
  static double heat(const FunctionDifference& function) {
    double whole = static_cast<double>(
        std::max<int64_t>(1, std::max(function.a.mix.instructions, function.b.mix.instructions)));
    double share = std::min(1.0, static_cast<double>(size_of_change(function)) / whole);
    return 0.10 + 0.45 * std::sqrt(share);
  }

  std::string cell(const FunctionDifference& function) const {
    const Side &a = function.a, &b = function.b;
    std::string inside = fmt::format("<i>{}</i>", verdict_mark(function.verdict));
    std::vector<std::string> small;
    if (function.verdict == Verdict::failed) {
      inside += "<span>not built</span>";
    } else if (function.verdict == Verdict::same) {
      inside += fmt::format("<span>{}</span>", grouped(a.registers));
    } else {
      inside += fmt::format("<span>{}</span>", change(a.registers, b.registers));
      if (spilled(a) != spilled(b)) {
        small.push_back(fmt::format("<em class=\"{}\">spill {}</em>",
                                    spilled(b) > spilled(a) ? "bad" : "",
                                    change(spilled(a), spilled(b))));
      }
      std::string size = percent_change(a.code_bytes, b.code_bytes);
      if (!size.empty()) small.push_back(size + " code");
      if (a.hottest_loop && b.hottest_loop &&
          a.hottest_loop->instructions != b.hottest_loop->instructions) {
        small.push_back(fmt::format(
            "loop {}", with_sign(b.hottest_loop->instructions - a.hottest_loop->instructions)));
      }
      if (function.verdict == Verdict::lottery) {
        small.push_back(
            fmt::format("{}/{} codes", function.a.draws.size(), function.b.draws.size()));
      }
    }
    if (small.empty() && function.verdict == Verdict::different)
      small.push_back("same size, same loop");
    if (!small.empty()) inside += "<small>" + join(small, " · ") + "</small>";
    auto card = cards_.find(&function);
    std::string title =
        function.verdict == Verdict::same ? "" : escaped(explain(function, d_.a.label, d_.b.label));
    std::string link =
        card == cards_.end()
            ? fmt::format("<div title=\"{}\">{}</div>", title, inside)
            : fmt::format("<a href=\"#f{}\" title=\"{}\">{}</a>", card->second, title, inside);
    std::string glow = function.verdict == Verdict::same
                           ? ""
                           : fmt::format(" style=\"--heat:{:.2f}\"", heat(function));
    return fmt::format("<td class=\"v {}\" data-sort=\"{}\"{}>{}</td>", style_of(function.verdict),
                       function.verdict == Verdict::same ? 0 : 1 + size_of_change(function), glow,
                       link);
  }

  void matrix() {
    out_ += "<section><h2>Which functions change</h2>";
    toolbar();
    std::map<std::pair<std::string_view, std::string_view>, size_t> index;
    std::vector<Functions> rows;
    for (const FunctionDifference* function : sorted_) {
      auto column = std::find(architectures_.begin(), architectures_.end(), function->architecture);
      auto [entry, is_new] = index.try_emplace({function->file, function->symbol}, rows.size());
      if (is_new) rows.emplace_back(architectures_.size(), nullptr);
      rows[entry->second][static_cast<size_t>(column - architectures_.begin())] = function;
    }
    out_ +=
        "<div class=\"scroll\"><table class=\"matrix\"><thead><tr><th "
        "data-kind=\"text\">function</th>";
    for (const std::string& architecture : architectures_)
      out_ += fmt::format("<th data-kind=\"number\">{}</th>", escaped(architecture));
    out_ += "</tr></thead><tbody>";
    size_t shown = 0, start = out_.size();
    for (const Functions& row : rows) {
      if (out_.size() - start > style_.byte_budget / 4) break;
      ++shown;
      const FunctionDifference* any = nullptr;
      std::string verdicts, cells;
      for (const FunctionDifference* function : row) {
        if (!function) {
          cells += "<td class=\"v none\" data-sort=\"-1\"><div>·</div></td>";
          continue;
        }
        if (!any) any = function;
        verdicts +=
            std::string(verdicts.empty() ? "" : " ") + std::string(style_of(function->verdict));
        cells += cell(*function);
      }
      out_ += fmt::format(
          "<tr data-verdicts=\"{}\"><th title=\"{}\"><span>{}</span>{}</th>{}</tr>", verdicts,
          title(*any), escaped(elide_middle(shown_name(*any), kNameInMatrix)),
          several_files_ ? "<small>" + escaped(any->file) + "</small>" : std::string(), cells);
    }
    out_ += "</tbody></table></div>";
    if (shown < rows.size()) {
      out_ += fmt::format(
          "<p class=\"dim\">{} with smaller changes or none are left to the JSON report, to keep "
          "this page small.</p>",
          counted(static_cast<int64_t>(rows.size() - shown), "further function"));
    }
    out_ +=
        "<p class=\"dim legend\">Registers a thread, A → B; below, what else changes. The stronger "
        "the colour, the larger the "
        "share of the code that changes. Keys: <kbd>/</kbd> filter, <kbd>j</kbd> <kbd>k</kbd> next "
        "and previous function, "
        "<kbd>o</kbd> open or close, <kbd>e</kbd> unfold its instructions.</p></section>\n";
  }

  // ---- one function
  // -------------------------------------------------------------------------------------

  std::string functions() {
    std::string out;
    size_t budget = style_.byte_budget / 4 * 3, shown = 0, changed = 0;
    bool any_open = false;
    for (const FunctionDifference* function : sorted_) {
      if (function->verdict == Verdict::same) continue;
      ++changed;
      if (shown + 1 < changed) continue;  // the budget ended before this one
      bool opened =
          function->verdict != Verdict::failed && !any_open;  // the first with something to see
      std::string card = card_without_sass(*function, shown, opened);
      if (out.size() + card.size() > budget) continue;
      // No single function takes more than a quarter of what is left.
      std::string sass = sass_table(*function, d_.a, d_.b, (budget - out.size() - card.size()) / 4);
      if (!sass.empty()) {
        card +=
            "<h4>Instructions <small>fields in front: <span title=\"scoreboards waited "
            "for\">B</span> waits · R W barriers set · "
            "Y yield · S stall cycles; a stripe marks the hottest loop</small></h4>" +
            sass;
      }
      any_open = any_open || opened;
      cards_[function] = shown++;
      out += card + "</div></details>\n";
    }
    if (changed == 0) return "";
    std::string head = "<section id=\"functions\"><h2>What changes in each</h2>";
    if (shown < changed) {
      head += fmt::format(
          "<p class=\"dim\">The {} largest changes of {}; the others are in the JSON report, to "
          "keep this page small.</p>",
          grouped(static_cast<int64_t>(shown)), grouped(static_cast<int64_t>(changed)));
    }
    return head + out + "</section>\n";
  }

  std::string card_without_sass(const FunctionDifference& function, size_t number,
                                bool open) const {
    const Side &a = function.a, &b = function.b;
    std::string out = fmt::format(
        "<details class=\"fn\" id=\"f{}\" data-verdict=\"{}\"{}><summary>{}<span class=\"name\" "
        "title=\"{}\">{}</span>"
        "<span class=\"arch\">{}</span>",
        number, style_of(function.verdict), open ? " open=\"open\"" : "", pill(function.verdict),
        title(function), escaped(elide_middle(shown_name(function), kNameInCard)),
        escaped(function.architecture));
    auto fact = [&](std::string_view name, int64_t from, int64_t to, std::string_view style = "") {
      if (from == to) return;
      out += fmt::format("<span class=\"fact\">{} <b class=\"{}\">{}</b></span>", name,
                         style.empty() ? tone_of_change(from, to) : style, change(from, to));
    };
    if (function.verdict != Verdict::failed) {
      fact("registers", a.registers, b.registers);
      fact("spills", spilled(a), spilled(b), spilled(b) > spilled(a) ? "bad" : "fewer");
      if (a.hottest_loop && b.hottest_loop)
        fact("hot loop", a.hottest_loop->instructions, b.hottest_loop->instructions);
    }
    std::string meaning =
        function.meaning.empty() ? explain(function, d_.a.label, d_.b.label) : function.meaning;
    out +=
        fmt::format("</summary><div class=\"body\"><p class=\"meaning\">{}.</p>", escaped(meaning));
    if (several_files_) out += fmt::format("<p class=\"dim\">{}</p>", escaped(function.file));
    if (function.verdict == Verdict::failed) return out;
    out += "<div class=\"numbers\">" + numbers(function) + room_for_warps(function) + "</div>";
    out += mix_charts(function);
    return out;
  }

  // ---- why to believe it
  // --------------------------------------------------------------------------------

  void footer() {
    out_ += "<footer>";
    if (!d_.controls.empty()) {
      out_ += "<section class=\"card\" id=\"controls\"><h3>Controls</h3><ul class=\"controls\">";
      for (const Control& control : d_.controls) {
        bool failed = control.outcome == ControlOutcome::failed,
             held = control.outcome == ControlOutcome::held;
        out_ += fmt::format("<li class=\"{}\"><i>{}</i> {}",
                            failed ? "bad"
                            : held ? "good"
                                   : "dim",
                            failed ? "✗"
                            : held ? "✓"
                                   : "–",
                            escaped(control.name));
        if (held) out_ += fmt::format(" <small>{}</small>", grouped(control.checked));
        if (failed)
          out_ += fmt::format(" <b>failed for {} of {}</b>", grouped(control.failed),
                              grouped(control.checked));
        if (!control.note.empty())
          out_ += fmt::format("<br/><small>{}</small>", escaped(control.note));
        for (size_t i = 0; i < std::min(control.failing.size(), size_t{20}); ++i) {
          out_ += fmt::format("<br/><code>{}</code>", escaped(control.failing[i]));
        }
        if (control.failing.size() > 20)
          out_ += fmt::format("<br/><small>and {} more</small>", control.failing.size() - 20);
        out_ += "</li>";
      }
      out_ += "</ul></section>";
    }
    if (!d_.times.empty() || !d_.front_end.empty() || !d_.notes.empty()) notes_card();
    out_ += "<section class=\"card\"><h3>Origin</h3><dl>";
    auto entry = [&](std::string_view name, const std::string& value, bool code = false) {
      if (value.empty()) return;
      std::string shown = code ? "<code>" + escaped(value) + "</code>" : escaped(value);
      out_ += fmt::format("<dt>{}</dt><dd>{}</dd>", name, shown);
    };
    entry("command", d_.command, true);
    entry("made", d_.date + (d_.date.empty() ? "" : ", namesake " NAMESAKE_VERSION));
    for (const BuildDescription* build : {&d_.a, &d_.b}) {
      std::string text = shown_build(*build);
      if (!build->treatment.empty() && build->treatment != build->label)
        text += ", " + build->treatment;
      entry(build == &d_.a ? "A" : "B", text);
      if (build == &d_.a || d_.b.assembler_build != d_.a.assembler_build)
        entry("assembler's build", build->assembler_build, true);
    }
    if (d_.tool_seconds + d_.child_seconds > 0) {
      entry("processor time",
            seconds(d_.tool_seconds) + " namesake, " + seconds(d_.child_seconds) + " compilers");
    }
    out_ += "</dl>";
    if (!d_.next_command.empty())
      out_ += fmt::format("<p class=\"next\">Next: <code>{}</code></p>", escaped(d_.next_command));
    out_ += "</section></footer>";
  }

  void notes_card() {
    out_ += "<section class=\"card\"><h3>Notes</h3><ul>";
    for (const FrontEndDifference& half : d_.front_end) {
      out_ += fmt::format(
          "<li>front end, {} on {}: {}{}</li>", escaped(half.name), escaped(half.architecture),
          half.ptx_differs ? fmt::format("the PTX itself differs (−{} +{} lines)",
                                         grouped(half.lines_removed), grouped(half.lines_added))
                           : "the PTX is the same",
          half.note.empty() ? "" : "; " + escaped(half.note));
    }
    for (const std::string& note : d_.notes) out_ += fmt::format("<li>{}</li>", escaped(note));
    out_ += "</ul>";
    std::vector<std::string> order;
    std::map<std::string, std::pair<double, double>> sums;
    for (const AssemblyTime& time : d_.times) {
      auto [sum, is_new] = sums.try_emplace(time.architecture);
      if (is_new) order.push_back(time.architecture);
      sum->second.first += time.a_seconds;
      sum->second.second += time.b_seconds;
    }
    if (!sums.empty()) {
      out_ +=
          "<table class=\"facts\"><thead><tr><th>time to assemble</th><th class=\"a\">A</th><th "
          "class=\"b\">B</th><th></th></tr></thead><tbody>";
      for (const std::string& architecture : order) {
        auto [a, b] = sums[architecture];
        out_ += fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td></tr>",
                            escaped(architecture), seconds(a), seconds(b),
                            a > 0 && b > 0 ? fmt::format("×{:.2f}", b / a) : "");
      }
      out_ += "</tbody></table>";
    }
    out_ += "</section>";
  }

  static constexpr size_t kOrder[] = {4, 3, 2, 1,
                                      0};  // of verdicts, from what needs eyes to what needs none

  const Difference& d_;
  HtmlStyle style_;
  std::vector<std::string> architectures_;
  Functions sorted_;
  bool several_files_ = false;
  std::map<const FunctionDifference*, size_t> cards_;
  std::string out_;
};

}  // namespace

std::string to_html(const Difference& difference, const HtmlStyle& style) {
  return DifferencePage(difference, style).html();
}

}  // namespace namesake::report
