// The page's data stands in it as JSON, and a script draws the map: ten thousand cells as markup
// would be ten times as large. Instructions repeat from difference to difference, so each line
// stands once, in a list of its own, and differences name lines by number.
#include "report/html_census.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "report/census_findings.h"
#include "report/html.h"
#include "report/json_fields.h"
#include "report/page_assets.h"
#include "report/sass_rows.h"
#include "util/text.h"

namespace namesake::report {
namespace {

// What the two codes are, whatever point shows them.
std::string codes_key(const Census& census, const CensusPoint& point) {
  if (!point.untreated.built() || !point.treated.built()) return "";
  return census.architectures[static_cast<size_t>(point.architecture)] +
         point.untreated.codes.front() + point.treated.codes.front();
}

// As the text of a script element: nothing in it may look like its end.
std::string inside_script(std::string text) {
  for (size_t at = 0; (at = text.find("</", at)) != text.npos; at += 3) text.replace(at, 2, "<\\/");
  return text;
}

class Lines {
 public:
  int64_t number_of(std::string_view row) {
    if (row.empty()) return -1;
    std::string text = plain(split_scheduling(row).instruction);
    auto [place, is_new] = index_.emplace(text, static_cast<int64_t>(index_.size()));
    if (is_new) text_ += (text_.empty() ? "" : "\n") + text;
    return place->second;
  }
  size_t size() const { return text_.size(); }
  const std::string& text() const { return text_; }

 private:
  std::unordered_map<std::string, int64_t> index_;
  std::string text_;
};

std::string signed_percent(const CensusRatio& ratio) {
  return ratio.count == 0 ? "" : fmt::format("{:+.1f}%", 100 * (ratio.mean - 1));
}

class CensusHtml {
 public:
  CensusHtml(const Census& census, const CensusStyle& style)
      : c_(census), style_(style), level_(main_opt_level(census)) {}

  std::string html() {
    out_ = fmt::format("<style>{}</style>\n", kCensusCss);
    std::string sentence = summary_sentence(c_);
    size_t colon = sentence.find(": ");
    std::string head = colon == sentence.npos ? sentence : sentence.substr(0, colon);
    std::string rest = colon == sentence.npos ? "" : sentence.substr(colon + 2);
    out_ += fmt::format(
        "<header><p class=\"eyebrow\">namesake census</p><h1>{}</h1><p "
        "class=\"lead\">{}</p></header>",
        escaped(head), escaped(rest));
    heat_map();
    by_release();
    upgrade_section();
    spill_section();
    lottery_section();
    casualty_section();
    belief();
    return page("namesake census", out_);
  }

 private:
  std::string kernel(int64_t k) const { return escaped(c_.kernels[static_cast<size_t>(k)].name); }
  std::string architecture(int64_t a) const {
    return escaped(c_.architectures[static_cast<size_t>(a)]);
  }

  Json written_build(const CensusBuild& build) const {
    if (!build.built()) return Json::array({plain(build.failure)});
    return Json::array({build.registers, build.spills(), build.code_bytes,
                        static_cast<int64_t>(build.codes.size()), build.draws});
  }

  // The differences that fit, and by which codes points find them.
  Json differences(Lines& lines, std::map<std::string, int64_t>& found) const {
    Json list = Json::array();
    size_t size = 0;
    for (const CensusSass& sass : c_.sass) {
      if (size + lines.size() > style_.sass_budget) break;
      Json rows = Json::array();
      for (const SassRow& row : sass.rows) {
        if (row.change == '.' || row.left_out > 0) {
          rows.push_back(
              Json::array({plain(row.a.empty() ? counted(row.left_out, "equal line") : row.a)}));
        } else {
          rows.push_back(Json::array(
              {std::string(1, row.change), lines.number_of(row.a), lines.number_of(row.b)}));
        }
      }
      size += 14 * rows.size();
      found.emplace(codes_key(c_, c_.points[static_cast<size_t>(sass.point)]),
                    static_cast<int64_t>(list.size()));
      list.push_back({{"rows", std::move(rows)}, {"more", sass.cut}});
    }
    return list;
  }

  void heat_map() {
    Lines lines;
    std::map<std::string, int64_t> found;
    Json data = Json::object();
    data["ledger"] = plain(c_.ledger);
    data["kernels"] = Json::array();
    for (const CensusKernel& one : c_.kernels) data["kernels"].push_back(plain(one.name));
    data["architectures"] = c_.architectures;
    data["assemblers"] = Json::array();
    for (const CensusAssembler& one : c_.assemblers)
      data["assemblers"].push_back(plain(one.version));
    data["span"] = c_.assemblers.empty()
                       ? ""
                       : c_.assemblers.front().version + " → " + c_.assemblers.back().version;
    data["differences"] = differences(lines, found);
    data["points"] = Json::array();
    for (const CensusPoint& point : c_.points) {
      if (point.opt_level != level_) continue;
      auto difference = found.find(codes_key(c_, point));
      data["points"].push_back(Json::array(
          {point.kernel, point.architecture, point.assembler, static_cast<int64_t>(point.reaction),
           written_build(point.untreated), written_build(point.treated),
           difference == found.end() ? -1 : difference->second}));
    }
    out_ += fmt::format(
        "<section><h2>Kernels × architectures × assemblers</h2>"
        "<p class=\"dim\">Each row is a kernel, each block an architecture, each bar in it an "
        "assembler, "
        "oldest at the left; -O{}. Hover for the numbers, click for the instructions.</p>"
        "<div class=\"modes\">",
        level_);
    for (const char* mode : {"registers", "code size", "spills", "reaction"}) {
      out_ += fmt::format("<button type=\"button\" data-mode=\"{0}\">{0}</button>", mode);
    }
    auto key = [&](std::string_view color, std::string_view text) {
      out_ +=
          fmt::format("<span class=\"key\"><i style=\"background:{}\"></i>{}</span>", color, text);
    };
    key("rgb(47,106,181)", "treated has less");
    key("rgb(206,98,16)", "treated has more");
    key("rgba(var(--different),.3)", "other code, as much of it");
    key("var(--line)", "same code");
    key("repeating-linear-gradient(135deg, rgb(var(--lottery)) 0 2px, transparent 2px 4px)",
        "lottery");
    key("linear-gradient(transparent 60%, #c92424 60%)", "spills more");
    key("rgb(var(--failed))", "not built");
    out_ +=
        "</div><div class=\"heat\" id=\"heat\"></div><div id=\"picked\" class=\"card\"></div>"
        "<div id=\"tip\"></div><noscript>The map is drawn by a script; the tables below need none."
        "</noscript></section>\n";
    out_ += "<script type=\"application/json\" id=\"census-data\">" + inside_script(dumped(data)) +
            "</script>\n<script type=\"text/plain\" id=\"census-lines\">" +
            inside_script(lines.text()) + "</script>\n<script>\n" + kCensusJs + "</script>\n";
  }

  void by_release() {
    out_ +=
        "<section><h2>How many kernels react</h2><table "
        "class=\"plainly\"><thead><tr><th>ptxas</th>";
    for (const std::string& name : c_.architectures)
      out_ += fmt::format("<th>{}</th>", escaped(name));
    out_ += "</tr></thead><tbody>";
    auto counts = count_reactions(c_, level_);
    for (size_t v = 0; v < counts.size(); ++v) {
      out_ += fmt::format("<tr><td>{}</td>", escaped(c_.assemblers[v].version));
      for (const ReactionCount& count : counts[v]) {
        int64_t different = count.by_reaction[static_cast<size_t>(Reaction::different)];
        if (count.asked() == 0) {
          out_ += "<td class=\"dim\">·</td>";
        } else {
          out_ += fmt::format(
              "<td class=\"share\">{} of {}<i style=\"width:{:.0f}%\"></i></td>", different,
              count.asked(),
              92.0 * static_cast<double>(different) / static_cast<double>(count.asked()));
        }
      }
      out_ += "</tr>";
    }
    out_ += "</tbody></table></section>\n";
  }

  void upgrade_section() {
    if (c_.assemblers.size() < 2) return;
    table("What each release changed with no name involved",
          "Untreated builds, each release against the one before; means over the builds with other "
          "code.",
          {"from", "to", "other code", "registers", "code size", "spills gained", "lost",
           "reactions begun", "ended"},
          upgrades(c_, level_), [&](const Upgrade& u) -> std::vector<std::string> {
            return {escaped(c_.assemblers[static_cast<size_t>(u.from)].version),
                    escaped(c_.assemblers[static_cast<size_t>(u.to)].version),
                    fmt::format("{} of {}", grouped(u.other_code), grouped(u.compared)),
                    signed_percent(u.registers),
                    signed_percent(u.code),
                    grouped(u.spills_gained),
                    grouped(u.spills_lost),
                    grouped(u.reaction_began),
                    grouped(u.reaction_ended)};
          });
  }

  void spill_section() {
    table("Spills gained and lost", "Bytes stored and loaded, untreated → treated.",
          {"kernel", "architecture", "ptxas", "bytes"}, spill_changes(c_, level_),
          [&](const SpillChange& s) -> std::vector<std::string> {
            std::string releases = short_version(c_, s.first);
            if (s.last != s.first) releases += "–" + short_version(c_, s.last);
            return {kernel(s.kernel), architecture(s.architecture), releases,
                    change(s.untreated, s.treated)};
          });
  }

  void lottery_section() {
    table("Lotteries", "The code varies from run to run on the same input.",
          {"kernel", "architecture", "ptxas", "codes"}, lotteries(c_, level_),
          [&](const Lottery& l) -> std::vector<std::string> {
            return {kernel(l.kernel), architecture(l.architecture),
                    shown_assemblers(c_, l.assemblers),
                    fmt::format("{} in {} runs", l.most_codes, l.draws)};
          });
  }

  void casualty_section() {
    table("Not built", "Builds that the assembler refused, died of or did not end.",
          {"kernel", "architecture", "ptxas", "untreated", "treated"}, casualties(c_, level_),
          [&](const Casualty& c) -> std::vector<std::string> {
            auto cell = [](const std::string& text) {
              return text.empty() ? "built" : escaped(text);
            };
            return {kernel(c.kernel), architecture(c.architecture),
                    shown_assemblers(c_, c.assemblers), cell(c.untreated), cell(c.treated)};
          });
  }

  template <class List, class Row>
  void table(std::string_view title, std::string_view note, const std::vector<std::string>& heads,
             const List& list, Row row) {
    if (list.empty()) return;
    out_ += fmt::format(
        "<section><h2>{}</h2><p class=\"dim\">{}</p><div class=\"scroll\"><table "
        "class=\"plainly\"><thead><tr>",
        title, note);
    for (const std::string& head : heads) out_ += fmt::format("<th>{}</th>", head);
    out_ += "</tr></thead><tbody>";
    for (const auto& element : list) {
      out_ += "<tr>";
      for (const std::string& text : row(element)) out_ += fmt::format("<td>{}</td>", text);
      out_ += "</tr>";
    }
    out_ += "</tbody></table></div></section>\n";
  }

  void belief() {
    out_ += "<footer><div class=\"card\"><h3>Why to believe it</h3><ul class=\"controls\">";
    for (const Control& control : c_.controls) {
      bool held = control.outcome == ControlOutcome::held;
      bool absent = control.outcome == ControlOutcome::not_applicable;
      out_ +=
          fmt::format("<li class=\"{}\"><i>{}</i>{}: {}</li>",
                      absent ? "dim"
                      : held ? "good"
                             : "bad",
                      absent ? "–"
                      : held ? "✓"
                             : "✗",
                      escaped(control.name),
                      absent ? escaped(control.note)
                             : fmt::format("{} of {}", grouped(control.checked - control.failed),
                                           grouped(control.checked)));
    }
    double all = c_.assembler_seconds + c_.own_seconds;
    out_ += fmt::format(
        "</ul></div><div class=\"card\"><h3>Origin</h3><dl><dt>ledger</dt><dd>{}</dd><dt>cells</dt>"
        "<dd>{}</dd><dt>processor time</dt><dd>{}, {:.1f}% the assemblers' own</dd><dt>told</dt>"
        "<dd>{}</dd><dt>command</dt><dd><code>{}</code></dd></dl></div></footer>",
        escaped(c_.ledger), grouped(c_.cells), seconds(all),
        all > 0 ? 100 * c_.assembler_seconds / all : 0, escaped(c_.date), escaped(c_.command));
  }

  const Census& c_;
  const CensusStyle& style_;
  int64_t level_;
  std::string out_;
};

}  // namespace

std::vector<int64_t> points_to_show(const Census& census, size_t limit) {
  std::vector<int64_t> chosen;
  std::set<std::string> seen;
  int64_t level = main_opt_level(census);
  for (auto v = static_cast<int64_t>(census.assemblers.size()) - 1; v >= 0; --v) {
    for (size_t i = 0; i < census.points.size() && chosen.size() < limit; ++i) {
      const CensusPoint& point = census.points[i];
      bool wanted =
          point.assembler == v && point.opt_level == level && point.reaction == Reaction::different;
      if (wanted && seen.insert(codes_key(census, point)).second) {
        chosen.push_back(static_cast<int64_t>(i));
      }
    }
  }
  return chosen;
}

std::string to_html(const Census& census, const CensusStyle& style) {
  return CensusHtml(census, style).html();
}

}  // namespace namesake::report
