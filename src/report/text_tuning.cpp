// A tuning for a terminal: one line a function, the ones that something is decided for first, then
// what it means and what to type.

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/text_page.h"
#include "report/tuning_pages.h"

namespace namesake::report {
namespace {

std::string shown_interval(const std::optional<std::array<double, 2>>& interval) {
  return interval ? fmt::format("[{:.3f}, {:.3f}]", (*interval)[0], (*interval)[1]) : "";
}

std::string shown_name(const Decision& decision) {
  return plain(decision.name.empty() ? decision.symbol : decision.name);
}

// What matters to the reader comes first: lapsed rules, treatments given, what is open, the rest.
int rank(const Decision& decision) {
  if (decision.earlier && !decision.earlier->holds) return 0;
  if (decision.treatment != "natural") return 1;
  return decision.settled ? 3 : 2;
}

std::vector<const Decision*> in_order(const Tuning& tuning) {
  std::vector<const Decision*> order;
  for (const Decision& decision : tuning.decisions) order.push_back(&decision);
  std::stable_sort(order.begin(), order.end(),
                   [](const Decision* a, const Decision* b) { return rank(*a) < rank(*b); });
  return order;
}

Tone tone_of(const Decision& decision) {
  if (decision.treatment == "treated") return Tone::good;
  if (decision.treatment == "untreated") return Tone::more;
  return decision.settled ? Tone::dim : Tone::odd;
}

void decisions_text(TextPage& page, const Tuning& tuning) {
  Table table({{"kernel", false, 0, 16},
               {"arch", false, 2},
               {"ptxas", false, 1},
               {"treated/untreated", true},
               {"interval", false, 3},
               {"decision"}});
  for (const Decision* decision : in_order(tuning)) {
    bool timed = decision->interval.has_value();
    table.add({{shown_name(*decision)},
               {plain(decision->architecture)},
               {plain(decision->assembler)},
               {timed ? fmt::format("{:.3f}", decision->ratio) : "–"},
               {shown_interval(decision->interval), Tone::dim},
               {decision->treatment + (decision->settled ? "" : " (open)"), tone_of(*decision)}});
    bool timed_and_plain = decision->treatment == "natural" && decision->settled && timed;
    if (page.style.verbose || (decision->treatment == "natural" && !timed_and_plain)) {
      table.note(plain(decision->why));
    }
  }
  page.table(table);
}

void check_text(TextPage& page, const Tuning& tuning) {
  Table table({{"kernel", false, 0, 16},
               {"arch", false, 2},
               {"ptxas", false, 1},
               {"rule"},
               {"then", true},
               {"now", true},
               {"", false}});
  int64_t held = 0, rules = 0;
  for (const Decision* decision : in_order(tuning)) {
    if (!decision->earlier) continue;
    const EarlierDecision& earlier = *decision->earlier;
    ++rules;
    held += earlier.holds;
    table.add(
        {{shown_name(*decision)},
         {plain(decision->architecture)},
         {plain(decision->assembler)},
         {plain(earlier.treatment)},
         {earlier.ratio ? fmt::format("{:.3f}", *earlier.ratio) : "–"},
         {decision->interval ? fmt::format("{:.3f}", decision->ratio) : "–"},
         {earlier.holds ? "holds" : "does not hold", earlier.holds ? Tone::good : Tone::bad}});
    if (!earlier.holds) table.note(plain(earlier.why));
  }
  page.table(table);
  page.blank();
  page.line(fmt::format("{}: {} of {} still hold{}.", plain(tuning.checked), held,
                        counted(rules, "rule"), held == 1 ? "s" : ""));
}

void source_text(TextPage& page, const Tuning& tuning) {
  page.heading("In the source");
  bool any = false;
  for (const Decision* decision : in_order(tuning)) {
    if (decision->advice.empty()) continue;
    any = true;
    std::string where = decision->place.empty() ? decision->file : decision->place;
    page.line(fmt::format("{}: {} ({}, ptxas {})", plain(where), shown_name(*decision),
                          plain(decision->architecture), plain(decision->assembler)),
              Tone::plain, 2, 4);
    page.line(plain(decision->advice), Tone::bold, 4, 6);
  }
  if (!any) page.line("Nothing to write: every kernel is best left as it is.", Tone::plain, 2);
}

void summary_text(TextPage& page, const Tuning& tuning) {
  int64_t treated = 0, untreated = 0, natural = 0, open = 0;
  for (const Decision& decision : tuning.decisions) {
    treated += decision.treatment == "treated";
    untreated += decision.treatment == "untreated";
    natural += decision.treatment == "natural";
    open += !decision.settled;
  }
  page.blank();
  page.line(fmt::format(
      "{} treated, {} untreated, {} natural{}: what gains more than {:g}% at {:g}% confidence on "
      "{}, with equal results.",
      treated, untreated, natural,
      open ? fmt::format(" ({} of them not settled by this measurement)", open) : "",
      100 * tuning.threshold, 100 * tuning.confidence,
      tuning.gpu.empty() ? "an unknown GPU" : plain(tuning.gpu)));
  if (!tuning.policy.empty()) {
    page.line(fmt::format(
        "policy: {}{}", plain(tuning.policy),
        tuning.measurement.empty() ? "" : ", its evidence: " + plain(tuning.measurement)));
  }
}

}  // namespace

std::string to_text(const Tuning& tuning, const TextStyle& style) {
  TextPage page(style);
  if (tuning.checked.empty()) {
    decisions_text(page, tuning);
    if (tuning.as_source) source_text(page, tuning);
    summary_text(page, tuning);
  } else {
    check_text(page, tuning);
  }
  for (const std::string& note : tuning.notes) page.line("note: " + plain(note), Tone::dim, 0, 2);
  page.next(tuning.next_command);
  return page.out;
}

}  // namespace namesake::report
