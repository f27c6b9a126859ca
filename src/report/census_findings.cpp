#include "report/census_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "report/words.h"
#include "util/text.h"

namespace namesake::report {
namespace {

using Place = std::pair<int64_t, int64_t>;  // kernel, architecture

// The points of one level by kernel and architecture, each list oldest assembler first.
std::map<Place, std::vector<const CensusPoint*>> by_place(const Census& census, int64_t opt_level) {
  std::map<Place, std::vector<const CensusPoint*>> places;
  for (const CensusPoint& point : census.points) {
    if (point.opt_level == opt_level) places[{point.kernel, point.architecture}].push_back(&point);
  }
  return places;
}

class RatioOf {
 public:
  void add(int64_t from, int64_t to) {
    if (from <= 0 || to <= 0) return;
    double value = static_cast<double>(to) / static_cast<double>(from);
    if (result_.count == 0) result_.least = result_.most = value;
    result_.least = std::min(result_.least, value);
    result_.most = std::max(result_.most, value);
    logs_ += std::log(value);
    ++result_.count;
  }
  CensusRatio ratio() const {
    CensusRatio ratio = result_;
    if (ratio.count > 0) ratio.mean = std::exp(logs_ / static_cast<double>(ratio.count));
    return ratio;
  }

 private:
  CensusRatio result_;
  double logs_ = 0;
};

bool share_a_code(const CensusBuild& a, const CensusBuild& b) {
  return std::any_of(a.codes.begin(), a.codes.end(), [&](const std::string& code) {
    return std::find(b.codes.begin(), b.codes.end(), code) != b.codes.end();
  });
}

bool reacts(const CensusPoint& point) {
  return point.reaction == Reaction::different;
}

std::string percent(double ratio) {
  double change = 100 * (ratio - 1);
  return fmt::format("{}{:.1f}%", change < 0 ? "−" : "+", change < 0 ? -change : change);
}

}  // namespace

int64_t ReactionCount::asked() const {
  int64_t sum = 0;
  for (int64_t count : by_reaction) sum += count;
  return sum - by_reaction[static_cast<size_t>(Reaction::impossible)];
}

std::vector<std::vector<ReactionCount>> count_reactions(const Census& census, int64_t opt_level) {
  std::vector<std::vector<ReactionCount>> counts(
      census.assemblers.size(), std::vector<ReactionCount>(census.architectures.size()));
  for (const CensusPoint& point : census.points) {
    if (point.opt_level != opt_level) continue;
    ++counts[static_cast<size_t>(point.assembler)][static_cast<size_t>(point.architecture)]
          .by_reaction[static_cast<size_t>(point.reaction)];
  }
  return counts;
}

std::vector<History> histories(const Census& census, int64_t opt_level) {
  std::vector<History> result;
  for (const auto& [place, points] : by_place(census, opt_level)) {
    History history{place.first, place.second, {}};
    for (const CensusPoint* point : points) {
      if (point->reaction == Reaction::impossible) continue;
      if (history.stretches.empty() || history.stretches.back().reaction != point->reaction) {
        history.stretches.push_back({point->reaction, point->assembler, point->assembler});
      }
      history.stretches.back().last = point->assembler;
    }
    result.push_back(std::move(history));
  }
  return result;
}

std::string shown_history(const Census& census, const History& history) {
  if (history.stretches.empty()) return "·";
  static constexpr const char* kMarks[] = {"=", "≠", "?", "✗", "·"};
  auto mark = [](const Stretch& stretch) { return kMarks[static_cast<size_t>(stretch.reaction)]; };
  if (history.stretches.size() == 1) return mark(history.stretches.front());
  std::vector<std::string> parts;
  for (const Stretch& stretch : history.stretches) {
    bool at_first = &stretch == &history.stretches.front();
    if (at_first && stretch.reaction == Reaction::same)
      continue;  // what came before is said by "+"
    std::string when = short_version(census, stretch.first);
    if (&stretch == &history.stretches.back()) {
      when += "+";
    } else if (stretch.first != stretch.last) {
      when += "–" + short_version(census, stretch.last);
    }
    parts.push_back(fmt::format("{} {}", mark(stretch), when));
  }
  return join(parts, ", ");
}

std::vector<SpillChange> spill_changes(const Census& census, int64_t opt_level) {
  std::vector<SpillChange> result;
  for (const auto& [place, points] : by_place(census, opt_level)) {
    bool open = false;
    int direction = 0;
    for (const CensusPoint* point : points) {
      if (!point->untreated.built() || !point->treated.built()) continue;
      int64_t before = point->untreated.spills(), after = point->treated.spills();
      int now = after > before ? 1 : after < before ? -1 : 0;
      if (now != 0 && open && now == direction) {
        result.back().last = point->assembler;
        result.back().untreated = before;
        result.back().treated = after;
      } else if (now != 0) {
        result.push_back(
            {place.first, place.second, point->assembler, point->assembler, before, after});
      }
      open = now != 0;
      direction = now;
    }
  }
  std::stable_sort(result.begin(), result.end(), [](const SpillChange& a, const SpillChange& b) {
    return a.treated - a.untreated > b.treated - b.untreated;
  });
  return result;
}

CensusRatios ratios(const Census& census, int64_t opt_level, std::optional<int64_t> architecture,
                    std::optional<int64_t> assembler) {
  RatioOf registers, code;
  for (const CensusPoint& point : census.points) {
    if (point.opt_level != opt_level || !reacts(point)) continue;
    if (architecture && point.architecture != *architecture) continue;
    if (assembler && point.assembler != *assembler) continue;
    registers.add(point.untreated.registers, point.treated.registers);
    code.add(point.untreated.code_bytes, point.treated.code_bytes);
  }
  return {registers.ratio(), code.ratio()};
}

std::vector<Lottery> lotteries(const Census& census, int64_t opt_level) {
  std::vector<Lottery> result;
  for (const auto& [place, points] : by_place(census, opt_level)) {
    Lottery lottery{place.first, place.second, {}, 0, 0};
    for (const CensusPoint* point : points) {
      int64_t most = static_cast<int64_t>(
          std::max(point->untreated.codes.size(), point->treated.codes.size()));
      if (most < 2) continue;
      lottery.assemblers.push_back(point->assembler);
      lottery.most_codes = std::max(lottery.most_codes, most);
      lottery.draws = std::max({lottery.draws, point->untreated.draws, point->treated.draws});
    }
    if (!lottery.assemblers.empty()) result.push_back(std::move(lottery));
  }
  return result;
}

std::vector<Casualty> casualties(const Census& census, int64_t opt_level) {
  std::vector<Casualty> result;
  for (const auto& [place, points] : by_place(census, opt_level)) {
    for (const CensusPoint* point : points) {
      if (point->reaction != Reaction::failed) continue;
      const std::string &untreated = point->untreated.failure, &treated = point->treated.failure;
      bool more = !result.empty() &&
                  Place{result.back().kernel, result.back().architecture} == place &&
                  result.back().untreated == untreated && result.back().treated == treated;
      if (!more) result.push_back({place.first, place.second, {}, untreated, treated});
      result.back().assemblers.push_back(point->assembler);
    }
  }
  return result;
}

std::string shown_ratio(const CensusRatio& ratio) {
  if (ratio.count == 0) return "";
  if (percent(ratio.least) == percent(ratio.most)) return percent(ratio.mean);
  return fmt::format("{} ({} … {})", percent(ratio.mean), percent(ratio.least),
                     percent(ratio.most));
}

Upgrade upgrade(const Census& census, int64_t opt_level, int64_t from, int64_t to) {
  Upgrade result;
  result.from = from;
  result.to = to;
  RatioOf registers, code;
  std::map<Place, const CensusPoint*> before;
  for (const CensusPoint& point : census.points) {
    if (point.opt_level == opt_level && point.assembler == from) {
      before[{point.kernel, point.architecture}] = &point;
    }
  }
  for (const CensusPoint& point : census.points) {
    if (point.opt_level != opt_level || point.assembler != to) continue;
    auto found = before.find({point.kernel, point.architecture});
    if (found == before.end() || point.reaction == Reaction::impossible ||
        found->second->reaction == Reaction::impossible) {
      continue;
    }
    const CensusBuild &a = found->second->untreated, &b = point.untreated;
    result.newly_failed += a.built() && !b.built();
    result.newly_built += !a.built() && b.built();
    if (!a.built() || !b.built()) continue;
    ++result.compared;
    bool reacted = reacts(*found->second);
    result.reaction_began += reacts(point) && !reacted;
    result.reaction_ended += !reacts(point) && reacted;
    if (reacts(point) != reacted) (reacted ? result.ending : result.beginning).insert(point.kernel);
    result.spills_gained += b.spills() > a.spills();
    result.spills_lost += b.spills() < a.spills();
    if (b.spills() != a.spills())
      (b.spills() > a.spills() ? result.spilling_more : result.spilling_less).insert(point.kernel);
    if (share_a_code(a, b)) continue;
    ++result.other_code;
    result.with_other_code.insert(point.kernel);
    registers.add(a.registers, b.registers);
    code.add(a.code_bytes, b.code_bytes);
  }
  result.registers = registers.ratio();
  result.code = code.ratio();
  return result;
}

std::vector<Upgrade> upgrades(const Census& census, int64_t opt_level) {
  std::vector<Upgrade> result;
  for (size_t i = 1; i < census.assemblers.size(); ++i) {
    result.push_back(
        upgrade(census, opt_level, static_cast<int64_t>(i) - 1, static_cast<int64_t>(i)));
  }
  return result;
}

const CensusPoint* find_point(const Census& census, int64_t kernel, int64_t architecture,
                              int64_t assembler, int64_t opt_level) {
  auto key = [](const CensusPoint& point) {
    return std::tuple(point.kernel, point.architecture, point.assembler, point.opt_level);
  };
  auto wanted = std::tuple(kernel, architecture, assembler, opt_level);
  auto found = std::lower_bound(
      census.points.begin(), census.points.end(), wanted,
      [&](const CensusPoint& point, const auto& value) { return key(point) < value; });
  return found != census.points.end() && key(*found) == wanted ? &*found : nullptr;
}

std::string summary_sentence(const Census& census) {
  int64_t level = main_opt_level(census), asked = 0;
  std::array<int64_t, kReactionCount> all{};
  for (const CensusPoint& point : census.points) {
    if (point.opt_level != level) continue;
    ++all[static_cast<size_t>(point.reaction)];
    asked += point.reaction != Reaction::impossible;
  }
  auto count = [&](Reaction reaction) { return all[static_cast<size_t>(reaction)]; };
  if (asked == 0) return "Nothing in this ledger has an untreated and a treated build yet.";
  std::string text = fmt::format(
      "{} by {} on {}, -O{}: of {} pairs of builds the name changes the code of {} ({:.0f}%).",
      counted(static_cast<int64_t>(census.kernels.size()), "kernel"),
      counted(static_cast<int64_t>(census.assemblers.size()), "assembler"),
      counted(static_cast<int64_t>(census.architectures.size()), "architecture"), level,
      grouped(asked), grouped(count(Reaction::different)),
      100.0 * static_cast<double>(count(Reaction::different)) / static_cast<double>(asked));
  if (count(Reaction::lottery) > 0) {
    text += fmt::format(" {} vary from run to run.", grouped(count(Reaction::lottery)));
  }
  if (count(Reaction::failed) > 0) {
    text += fmt::format(" {} could not be built.", grouped(count(Reaction::failed)));
  }
  return text;
}

int64_t main_opt_level(const Census& census) {
  int64_t highest = 0;
  for (int64_t level : census.opt_levels) highest = std::max(highest, level);
  return census.opt_levels.empty() ? 3 : highest;
}

std::string short_version(const Census& census, int64_t assembler) {
  const std::string& version = census.assemblers[static_cast<size_t>(assembler)].version;
  size_t dot = version.find('.');
  dot = dot == version.npos ? dot : version.find('.', dot + 1);
  if (dot == version.npos) return version;
  std::string release = version.substr(0, dot);
  auto begins_so = std::count_if(
      census.assemblers.begin(), census.assemblers.end(),
      [&](const CensusAssembler& other) { return other.version.starts_with(release + "."); });
  return begins_so == 1 ? release : version;
}

std::string shown_assemblers(const Census& census, const std::vector<int64_t>& assemblers) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < assemblers.size();) {
    size_t end = i;
    while (end + 1 < assemblers.size() && assemblers[end + 1] == assemblers[end] + 1) ++end;
    std::string text = short_version(census, assemblers[i]);
    if (end > i) text += "–" + short_version(census, assemblers[end]);
    parts.push_back(std::move(text));
    i = end + 1;
  }
  return join(parts, ", ");
}

}  // namespace namesake::report
