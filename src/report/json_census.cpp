#include "report/json_census.h"

#include <algorithm>

#include "report/census_findings.h"
#include "report/json_fields.h"

namespace namesake::report {

template <class V, Described<CensusBuild> S>
static void fields(V&& visit, S& s) {
  visit("failure", s.failure);
  visit("crashed", s.crashed);
  visit("timed_out", s.timed_out);
  visit("registers", s.registers);
  visit("stack_bytes", s.stack_bytes);
  visit("spill_store_bytes", s.spill_store_bytes);
  visit("spill_load_bytes", s.spill_load_bytes);
  visit("code_bytes", s.code_bytes);
  visit("codes", s.codes);
  visit("draws", s.draws);
}

template <class V, Described<CensusPoint> S>
static void fields(V&& visit, S& s) {
  visit("kernel", s.kernel);
  visit("architecture", s.architecture);
  visit("assembler", s.assembler);
  visit("opt_level", s.opt_level);
  visit("reaction", s.reaction);
  visit("untreated", s.untreated);
  visit("treated", s.treated);
}

template <class V, Described<CensusKernel> S>
static void fields(V&& visit, S& s) {
  visit("input", s.input);
  visit("symbol", s.symbol);
  visit("name", s.name);
  visit("text", s.text);
}

template <class V, Described<CensusAssembler> S>
static void fields(V&& visit, S& s) {
  visit("version", s.version);
  visit("build", s.build);
}

template <class V, Described<Control> S>
static void fields(V&& visit, S& s) {
  visit("name", s.name);
  visit("outcome", s.outcome);
  visit("checked", s.checked);
  visit("failed", s.failed);
  visit("failing", s.failing);
  visit("note", s.note);
}

template <class V, Described<CensusRatio> S>
static void fields(V&& visit, S& s) {
  visit("mean", s.mean);
  visit("least", s.least);
  visit("most", s.most);
  visit("count", s.count);
}

template <class V, Described<Census> S>
static void fields(V&& visit, S& s) {
  visit("command", s.command);
  visit("date", s.date);
  visit("ledger", s.ledger);
  visit("kernels", s.kernels);
  visit("architectures", s.architectures);
  visit("assemblers", s.assemblers);
  visit("opt_levels", s.opt_levels);
  visit("points", s.points);
  visit("controls", s.controls);
  visit("notes", s.notes);
  visit("cells", s.cells);
  visit("assembler_seconds", s.assembler_seconds);
  visit("own_seconds", s.own_seconds);
  visit("next_command", s.next_command);
}

static constexpr const char* kControlOutcomes[] = {"held", "failed", "not_applicable"};

static Json written(Reaction reaction) {
  return kReactionNames[static_cast<size_t>(reaction)];
}

static Json written(ControlOutcome outcome) {
  return kControlOutcomes[static_cast<size_t>(outcome)];
}

template <class Enumeration, size_t N>
static void read_word(const Json& json, const char* const (&names)[N], Enumeration& out) {
  std::string word;
  read(json, word);
  auto found = std::find(std::begin(names), std::end(names), word);
  if (found == std::end(names)) throw Unfit{"\"" + plain(word) + "\" is not known"};
  out = static_cast<Enumeration>(found - std::begin(names));
}

static void read(const Json& json, Reaction& out) {
  read_word(json, kReactionNames, out);
}

static void read(const Json& json, ControlOutcome& out) {
  read_word(json, kControlOutcomes, out);
}

static Json written_reactions(const Census& census) {
  Json releases = Json::object();
  auto counts = count_reactions(census, main_opt_level(census));
  for (size_t v = 0; v < counts.size(); ++v) {
    Json release = Json::object();
    for (size_t a = 0; a < counts[v].size(); ++a) {
      if (counts[v][a].asked() == 0) continue;
      Json count = Json::object();
      for (size_t r = 0; r < kReactionCount; ++r)
        count[kReactionNames[r]] = counts[v][a].by_reaction[r];
      release[census.architectures[a]] = std::move(count);
    }
    releases[census.assemblers[v].version] = std::move(release);
  }
  return releases;
}

static Json written_upgrades(const Census& census) {
  Json list = Json::array();
  for (const Upgrade& upgrade : upgrades(census, main_opt_level(census))) {
    list.push_back({{"from", census.assemblers[static_cast<size_t>(upgrade.from)].version},
                    {"to", census.assemblers[static_cast<size_t>(upgrade.to)].version},
                    {"compared", upgrade.compared},
                    {"other_code", upgrade.other_code},
                    {"registers", written(upgrade.registers)},
                    {"code", written(upgrade.code)},
                    {"spills_gained", upgrade.spills_gained},
                    {"spills_lost", upgrade.spills_lost},
                    {"newly_failed", upgrade.newly_failed},
                    {"newly_built", upgrade.newly_built},
                    {"reaction_began", upgrade.reaction_began},
                    {"reaction_ended", upgrade.reaction_ended}});
  }
  return list;
}

std::string to_json(const Census& census) {
  Document document;
  document.add("schema", "namesake.census/1.0");
  document.add("version", NAMESAKE_VERSION);
  document.add("summary", {{"sentence", summary_sentence(census)},
                           {"reactions", written_reactions(census)},
                           {"upgrades", written_upgrades(census)}});
  document.add_fields(census);
  return document.finish();
}

// Points name others by number: one that names nothing would be followed.
static Status check_places(const Census& census) {
  auto inside = [](int64_t place, size_t size) {
    return place >= 0 && static_cast<uint64_t>(place) < size;
  };
  for (const CensusPoint& point : census.points) {
    if (!inside(point.kernel, census.kernels.size()) ||
        !inside(point.architecture, census.architectures.size()) ||
        !inside(point.assembler, census.assemblers.size())) {
      return error("not a report of namesake census: a point names what is in no list");
    }
  }
  return {};
}

Result<Census> census_from_json(std::string_view json) {
  TRY_ASSIGN(Census census, parsed<Census>(json, "census"));
  TRY(check_places(census));
  return census;
}

}  // namespace namesake::report
