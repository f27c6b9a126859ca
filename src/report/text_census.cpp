// The census for a terminal: which kernels react where, how that grew with the releases, what it
// does to registers, spills and size, what cannot be trusted (lotteries, casualties, controls), and
// what each release changed with no name involved.

#include <fmt/format.h>

#include "report/census_findings.h"
#include "report/text.h"
#include "report/text_page.h"
#include "util/text.h"

namespace namesake::report {
namespace {

constexpr size_t kMostRows = 24;  // of one table, unless verbose

class CensusPage {
 public:
  CensusPage(const Census& census, const TextStyle& style)
      : c_(census), level_(main_opt_level(census)), page_(style) {}

  std::string text() {
    page_.line(summary_sentence(c_), Tone::bold);
    by_release();
    by_kernel();
    spills();
    sizes();
    lottery();
    casualty();
    upgrade_table();
    belief();
    page_.next(c_.next_command);
    return std::move(page_.out);
  }

 private:
  const std::string& kernel(int64_t k) const { return c_.kernels[static_cast<size_t>(k)].name; }
  const std::string& architecture(int64_t a) const {
    return c_.architectures[static_cast<size_t>(a)];
  }

  // Adds rows until there are too many, and says how many are left.
  template <class List, class Row>
  void limited(Table& table, const List& list, Row row) {
    size_t shown = 0;
    for (const auto& element : list) {
      if (++shown > kMostRows && !page_.style.verbose) break;
      table.add(row(element));
    }
    page_.table(table);
    if (list.size() > kMostRows && !page_.style.verbose) {
      page_.line(fmt::format("and {} more (--verbose, --csv or --html)",
                             grouped(static_cast<int64_t>(list.size() - kMostRows))),
                 Tone::dim, 2, 4);
    }
  }

  void by_release() {
    page_.heading("kernels whose code the name changes, of those that can be built");
    std::vector<Column> columns = {{"ptxas"}};
    for (const std::string& name : c_.architectures) columns.push_back({name, true});
    Table table(columns);
    auto counts = count_reactions(c_, level_);
    for (size_t v = 0; v < counts.size(); ++v) {
      std::vector<Cell> row = {{c_.assemblers[v].version}};
      for (const ReactionCount& count : counts[v]) {
        int64_t different = count.by_reaction[static_cast<size_t>(Reaction::different)];
        if (count.asked() == 0) {
          row.push_back({"·", Tone::dim});
        } else {
          row.push_back({fmt::format("{} of {}", different, count.asked()),
                         different > 0 ? Tone::strong : Tone::plain});
        }
      }
      table.add(std::move(row));
    }
    page_.table(table);
  }

  void by_kernel() {
    page_.heading("kernel × architecture, over the releases");
    page_.line(
        "= same  ≠ different  ≠ 12.4+ since 12.4, the same before  ? lottery  ✗ not built  · not "
        "expressible here",
        Tone::dim, 2, 2);
    std::vector<Column> columns = {{"kernel", false, 0, 24}};
    for (const std::string& name : c_.architectures) columns.push_back({name, false, 0, 7, true});
    Table table(columns);
    std::vector<std::vector<Cell>> rows(c_.kernels.size());
    for (size_t k = 0; k < rows.size(); ++k) {
      rows[k].assign(c_.architectures.size() + 1, {"·", Tone::dim});
      rows[k][0] = {plain(c_.kernels[k].name)};
    }
    for (const History& history : histories(c_, level_)) {
      constexpr Tone kTones[] = {Tone::plain, Tone::strong, Tone::odd, Tone::bad, Tone::dim};
      Tone tone = history.stretches.empty()
                      ? Tone::dim
                      : kTones[static_cast<size_t>(history.stretches.back().reaction)];
      rows[static_cast<size_t>(history.kernel)][static_cast<size_t>(history.architecture) + 1] = {
          shown_history(c_, history), tone};
    }
    limited(table, rows, [](const std::vector<Cell>& row) { return row; });
  }

  void spills() {
    std::vector<SpillChange> changes = spill_changes(c_, level_);
    if (changes.empty()) return;
    page_.heading("spills gained and lost (bytes stored and loaded, untreated → treated)");
    Table table({{"kernel", false, 0, 14}, {"architecture"}, {"ptxas"}, {"bytes", true}});
    limited(table, changes, [&](const SpillChange& change) -> std::vector<Cell> {
      std::string releases = short_version(c_, change.first);
      if (change.last != change.first) releases += "–" + short_version(c_, change.last);
      return {{plain(kernel(change.kernel))},
              {architecture(change.architecture)},
              {releases},
              {report::change(change.untreated, change.treated),
               change.treated > change.untreated ? Tone::bad : Tone::good}};
    });
  }

  void sizes() {
    page_.heading("where the code changes: treated against untreated, mean (least … most)");
    Table table({{"architecture"}, {"pairs", true}, {"registers"}, {"code size", false, 1}});
    for (size_t a = 0; a < c_.architectures.size(); ++a) {
      CensusRatios all = ratios(c_, level_, static_cast<int64_t>(a), std::nullopt);
      if (all.code.count == 0) continue;
      table.add({{c_.architectures[a]},
                 {grouped(all.code.count)},
                 {shown_ratio(all.registers)},
                 {shown_ratio(all.code)}});
    }
    page_.table(table);
  }

  void lottery() {
    std::vector<Lottery> found = lotteries(c_, level_);
    if (found.empty()) return;
    page_.heading("lotteries: the code varies from run to run");
    Table table({{"kernel", false, 0, 14},
                 {"architecture"},
                 {"ptxas", false, 0, 12, true},
                 {"codes", true}});
    limited(table, found, [&](const Lottery& lottery) -> std::vector<Cell> {
      return {{plain(kernel(lottery.kernel))},
              {architecture(lottery.architecture)},
              {shown_assemblers(c_, lottery.assemblers)},
              {fmt::format("{} in {} runs", lottery.most_codes, lottery.draws)}};
    });
  }

  void casualty() {
    std::vector<Casualty> found = casualties(c_, level_);
    if (found.empty()) return;
    page_.heading("not built");
    Table table({{"kernel", false, 0, 14},
                 {"architecture"},
                 {"ptxas", false, 0, 12, true},
                 {"untreated", false, 0, 10},
                 {"treated", false, 0, 10}});
    limited(table, found, [&](const Casualty& casualty) -> std::vector<Cell> {
      auto cell = [](const std::string& failure) {
        return failure.empty() ? Cell{"built"} : Cell{plain(failure), Tone::bad};
      };
      return {{plain(kernel(casualty.kernel))},
              {architecture(casualty.architecture)},
              {shown_assemblers(c_, casualty.assemblers)},
              cell(casualty.untreated),
              cell(casualty.treated)};
    });
  }

  void upgrade_table() {
    if (c_.assemblers.size() < 2) return;
    page_.heading("what each release changed with no name involved (untreated builds)");
    Table table({{"to"},
                 {"other code", true},
                 {"registers", false, 0},
                 {"code size", false, 2},
                 {"spills"},
                 {"reaction", false, 1}});
    for (const Upgrade& upgrade : upgrades(c_, level_)) {
      auto both = [](int64_t plus, int64_t minus) {
        return plus == 0 && minus == 0 ? std::string("–") : fmt::format("+{} −{}", plus, minus);
      };
      table.add({{c_.assemblers[static_cast<size_t>(upgrade.to)].version},
                 {fmt::format("{} of {}", grouped(upgrade.other_code), grouped(upgrade.compared))},
                 {shown_ratio(upgrade.registers)},
                 {shown_ratio(upgrade.code)},
                 {both(upgrade.spills_gained, upgrade.spills_lost)},
                 {both(upgrade.reaction_began, upgrade.reaction_ended)}});
    }
    page_.table(table);
    page_.line(
        "Registers and code size: of the builds with other code, mean (least … most). Spills and "
        "reaction: how many builds began (+) or ended (−).",
        Tone::dim, 2, 2);
  }

  void belief() {
    page_.heading("why to believe it");
    for (const Control& control : c_.controls) {
      bool failed = control.outcome == ControlOutcome::failed;
      if (control.outcome == ControlOutcome::not_applicable) {
        page_.marked("–", Tone::dim, fmt::format("{}: {}", control.name, control.note));
        continue;
      }
      page_.marked(
          failed ? "✗" : "✓", failed ? Tone::bad : Tone::good,
          fmt::format("{}: {} of {}", control.name, grouped(control.checked - control.failed),
                      grouped(control.checked)));
      size_t shown = 0;
      for (const std::string& where : control.failing) {
        if (++shown > 5 && !page_.style.verbose) break;
        page_.line(plain(where), Tone::bad, 6, 8);
      }
    }
    double all = c_.assembler_seconds + c_.own_seconds;
    if (all > 0) {
      page_.marked(
          "•", Tone::dim,
          fmt::format("{} cells in {}, {} of processor time, {:.1f}% of it the assemblers' own",
                      grouped(c_.cells), plain(c_.ledger), seconds(all),
                      100 * c_.assembler_seconds / all));
    }
    for (const std::string& note : c_.notes) page_.marked("•", Tone::dim, plain(note));
  }

  const Census& c_;
  int64_t level_;
  TextPage page_;
};

}  // namespace

std::string to_text(const Census& census, const TextStyle& style) {
  return CensusPage(census, style).text();
}

}  // namespace namesake::report
