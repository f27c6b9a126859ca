// The grammar is small and closed: a misspelt "architecure" would otherwise treat every architecture in
// silence.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "policy/policy.h"
#include "policy/pattern.h"
#include "util/toml.h"

namespace namesake::policy {
namespace {

constexpr size_t kSizeLimit = 16 << 20;
constexpr int64_t kFormat = 1;

bool is_architecture(std::string_view text) {
  if (!text.starts_with("sm_")) return false;
  text.remove_prefix(3);
  size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::string_view suffix = text.substr(digits);
  return digits >= 2 && digits <= 3 && (suffix.empty() || suffix == "a" || suffix == "f");
}

class Reader : TomlReader {
 public:
  explicit Reader(std::string origin) : TomlReader(std::move(origin)) {
    policy_.origin = this->origin();
  }

  Result<Policy> read(const toml::table& root) {
    TRY(only(root, "a policy", {"format", "measured", "limits", "function"}));
    TRY(format(root));
    TRY(measured(root));
    TRY(limits(root));
    if (const toml::node* node = root.get("function")) {
      const toml::array* functions = node->as_array();
      bool tables = functions && std::all_of(functions->begin(), functions->end(),
                                             [](const toml::node& each) { return each.is_table(); });
      if (!tables) return fail(*node, "write each rule as its own [[function]]");
      for (const toml::node& each : *functions) TRY(function(*each.as_table()));
    }
    return std::move(policy_);
  }

 private:
  // The table of that name, or nullptr where there is none.
  Result<const toml::table*> section(const toml::table& parent, std::string_view name) const {
    const toml::node* node = parent.get(name);
    if (!node) return nullptr;
    if (!node->is_table()) return fail(*node, fmt::format("{} must be a table", name));
    return node->as_table();
  }

  Result<std::optional<int64_t>> count(const toml::table& table, std::string_view key,
                                       int64_t least) const {
    const toml::node* node = table.get(key);
    if (!node) return std::nullopt;
    std::optional<int64_t> value = node->value_exact<int64_t>();
    if (!value || *value < least) {
      return fail(*node, fmt::format("{} must be a whole number from {} on", key, least));
    }
    return value;
  }

  static std::optional<double> positive(const toml::node& node) {
    std::optional<double> value = node.is_number() ? node.value<double>() : std::nullopt;
    return value && std::isfinite(*value) && *value > 0 ? value : std::nullopt;
  }

  Status format(const toml::table& root) const {
    const toml::node* node = root.get("format");
    if (!node) return fail(1, fmt::format("a policy begins with: format = {}", kFormat));
    if (node->value_exact<int64_t>() == kFormat) return {};
    return fail(*node, fmt::format("this policy's format is not {}, the only one this namesake reads",
                                   kFormat));
  }

  Status measured(const toml::table& root) {
    TRY_ASSIGN(const toml::table* table, section(root, "measured"));
    constexpr std::string_view kMissing =
        "a policy must say what it was measured with: add assembler = \"13.0.88\" under [measured], or "
        "assembler = \"any\" if it was not measured";
    if (!table) return fail(1, kMissing);
    TRY(only(*table, "[measured]", {"assembler", "build", "gpu"}));
    TRY_ASSIGN(policy_.measured, assembler(*table));
    if (policy_.measured.version.empty()) return fail(*table, kMissing);
    TRY_ASSIGN(policy_.gpu, text(*table, "gpu"));
    return {};
  }

  Result<Assembler> assembler(const toml::table& table) const {
    Assembler assembler;
    TRY_ASSIGN(assembler.version, text(table, "assembler"));
    TRY_ASSIGN(assembler.build, text(table, "build"));
    bool number = assembler.version.find_first_not_of("0123456789.") == std::string::npos;
    if (!number && assembler.version != "any") {
      return fail(*table.get("assembler"),
                  fmt::format("assembler must be a version like 13.0.88 or \"any\", not '{}'",
                              assembler.version));
    }
    if (assembler.version == "any" && !assembler.build.empty()) {
      return fail(*table.get("build"), "a build belongs to one assembler, not to \"any\"");
    }
    return assembler;
  }

  Status limits(const toml::table& root) {
    TRY_ASSIGN(const toml::table* table, section(root, "limits"));
    if (!table) return {};
    TRY(only(*table, "[limits]", {"spill_bytes", "timeout_seconds"}));
    TRY_ASSIGN(policy_.spill_bytes, count(*table, "spill_bytes", 0));
    TRY_ASSIGN(policy_.timeout_seconds, count(*table, "timeout_seconds", 1));
    return {};
  }

  Status function(const toml::table& table) {
    TRY(only(table, "[[function]]", {"symbol", "name", "architecture", "assembler", "build",
                                     "treatment", "evidence"}));
    Rule rule;
    rule.line = line_of(table);
    TRY_ASSIGN(rule.symbol, text(table, "symbol"));
    TRY_ASSIGN(rule.name, text(table, "name"));
    if (rule.symbol.empty() == rule.name.empty()) {
      return fail(rule.line, rule.name.empty()
                                 ? "a [[function]] needs symbol = or name =, a glob"
                                 : "a [[function]] has symbol = or name =, not both");
    }
    if (Status valid = check_pattern(rule.pattern()); !valid) {
      return fail(*table.get(rule.symbol.empty() ? "name" : "symbol"), valid.error().message);
    }
    TRY_ASSIGN(rule.architecture, text(table, "architecture"));
    if (!rule.architecture.empty() && !is_architecture(rule.architecture)) {
      return fail(*table.get("architecture"),
                  fmt::format("architecture must be like sm_90 or sm_100a, not '{}'",
                              rule.architecture));
    }
    TRY(treatment(table, rule));
    TRY_ASSIGN(rule.assembler, assembler(table));
    if (rule.assembler.version.empty() && !rule.assembler.build.empty()) {
      return fail(*table.get("build"), "a build needs its assembler = beside it");
    }
    if (rule.assembler.version.empty()) rule.assembler = policy_.measured;
    if (rule.assembler.version == "any") rule.assembler.version.clear();
    TRY(evidence(table, rule));
    TRY(contradiction(rule));
    policy_.rules.push_back(std::move(rule));
    return {};
  }

  Status treatment(const toml::table& table, Rule& rule) const {
    constexpr std::string_view kForms = "treatment must be \"treated\", \"untreated\" or \"natural\"";
    const toml::node* node = table.get("treatment");
    if (!node) return fail(rule.line, "this [[function]] has no treatment = \"treated\" or \"untreated\"");
    TRY_ASSIGN(std::string word, text(table, "treatment"));
    for (Treatment each : {Treatment::natural, Treatment::treated, Treatment::untreated}) {
      if (word == treatment_name(each)) {
        rule.treatment = each;
        return {};
      }
    }
    return fail(*node, fmt::format("{}, not '{}'", kForms, word.substr(0, 64)));
  }

  Status evidence(const toml::table& table, Rule& rule) const {
    TRY_ASSIGN(const toml::table* given, section(table, "evidence"));
    if (!given) return {};
    TRY(only(*given, "evidence", {"file", "ratio", "interval", "gpu", "build"}));
    Evidence evidence;
    TRY_ASSIGN(evidence.file, text(*given, "file"));
    TRY_ASSIGN(evidence.gpu, text(*given, "gpu"));
    TRY_ASSIGN(evidence.build, text(*given, "build"));
    if (const toml::node* node = given->get("ratio")) {
      evidence.ratio = positive(*node);
      if (!evidence.ratio) return fail(*node, "ratio must be a number above zero");
    }
    if (const toml::node* node = given->get("interval")) {
      const toml::array* bounds = node->as_array();
      std::optional<double> low, high;
      if (bounds && bounds->size() == 2) {
        low = positive((*bounds)[0]);
        high = positive((*bounds)[1]);
      }
      if (!low || !high || *low > *high) {
        return fail(*node, "interval must be two numbers, the lower first: [0.75, 0.76]");
      }
      if (evidence.ratio && (*evidence.ratio < *low || *evidence.ratio > *high)) {
        return fail(*node, fmt::format("the ratio {} lies outside its own interval", *evidence.ratio));
      }
      evidence.interval = {*low, *high};
    }
    if (!evidence.build.empty() && !rule.assembler.build.empty() &&
        evidence.build != rule.assembler.build) {
      return fail(*given, fmt::format("the evidence is of assembler build {}, the rule for {}",
                                      evidence.build, rule.assembler.build));
    }
    rule.evidence = std::move(evidence);
    return {};
  }

  // Two rules for the very same functions: the second would never be followed.
  Status contradiction(const Rule& rule) {
    std::string key = fmt::format("{}\n{}\n{}\n{}\n{}", rule.symbol, rule.name, rule.architecture,
                                  rule.assembler.version, rule.assembler.build);
    auto [known, is_new] = seen_.try_emplace(key, rule.line);
    if (is_new) return {};
    return fail(rule.line, fmt::format("'{}' has a rule already, in line {}; remove one of them",
                                       rule.pattern(), known->second));
  }

  Policy policy_;
  std::map<std::string, int> seen_;
};

}  // namespace

Result<Policy> parse(std::string_view text, std::string origin) {
  TRY_ASSIGN(const toml::table root, parse_toml(text, origin, "a policy", kSizeLimit));
  return Reader(std::move(origin)).read(root);
}

}  // namespace namesake::policy
