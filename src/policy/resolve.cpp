// From a policy and one assembler to the rules that hold. The direction of doubt is always the same:
// what was not measured with this assembler is left natural.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "policy/pattern.h"
#include "policy/policy.h"
#include "util/text.h"

namespace namesake::policy {
namespace {

std::string described(const Assembler& assembler) {
  if (assembler.version.empty() || assembler.version == "any") return "any assembler";
  return assembler.build.empty() ? assembler.version
                                 : fmt::format("{} ({})", assembler.version, assembler.build);
}

bool fits(const Rule& rule, std::string_view symbol) {
  if (!rule.symbol.empty() && glob_match(rule.symbol, symbol)) return true;
  return !rule.name.empty() && (glob_match(rule.name, demangled_name(symbol)) ||
                                glob_match(rule.name, demangled(symbol)));
}

}  // namespace

std::string_view treatment_name(Treatment treatment) {
  switch (treatment) {
    case Treatment::treated:
      return "treated";
    case Treatment::untreated:
      return "untreated";
    default:
      return "natural";
  }
}

bool holds_for(const Assembler& measured, const Assembler& used) {
  if (measured.version.empty() || measured.version == "any") return true;
  if (!measured.build.empty() && !used.build.empty()) return measured.build == used.build;
  // "13.0" in a policy speaks of every 13.0.x.
  return (used.version + ".").starts_with(measured.version + ".");
}

Resolution resolve(const Policy& policy, const Assembler& used, std::string_view architecture) {
  Resolution resolution;
  std::set<std::string> others;
  bool speaks = policy.rules.empty();
  for (const Rule& rule : policy.rules) {
    if (!holds_for(rule.assembler, used)) {
      others.insert(described(rule.assembler));
      continue;
    }
    speaks = true;
    if (rule.architecture.empty() || rule.architecture == architecture) {
      resolution.rules.push_back(rule);
    }
  }
  if (!speaks) {
    resolution.void_because = fmt::format(
        "{} was measured with {}, not with {}: everything is left natural; measure again with "
        "namesake tune",
        policy.origin, join({others.begin(), others.end()}, " and "), described(used));
  }
  return resolution;
}

const Rule* rule_for(const Resolution& resolution, std::string_view symbol) {
  auto found = std::find_if(resolution.rules.begin(), resolution.rules.end(),
                            [&](const Rule& rule) { return fits(rule, symbol); });
  return found == resolution.rules.end() ? nullptr : &*found;
}

Status check_pattern(std::string_view pattern) {
  if (trimmed(pattern) != pattern || pattern.empty()) {
    return error(fmt::format("the glob '{}' is empty or has a space at an end", pattern));
  }
  for (size_t open = 0; (open = pattern.find('[', open)) != pattern.npos; ++open) {
    if (pattern.find(']', open + 1) == pattern.npos) {
      return error(fmt::format("the glob '{}' has a '[' without its ']'", pattern));
    }
  }
  return {};
}

Result<std::vector<Rule>> rules_of(const std::vector<Choice>& typed) {
  std::vector<Rule> rules;
  for (auto choice = typed.rbegin(); choice != typed.rend(); ++choice) {
    TRY(check_pattern(choice->pattern));
    Rule rule;
    rule.treatment = choice->treatment;
    rule.symbol = rule.name = choice->pattern;
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace namesake::policy
