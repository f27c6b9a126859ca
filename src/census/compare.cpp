#include "census/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "assembly/inputs.h"
#include "report/explain.h"
#include "sass/sass.h"
#include "study/describe.h"
#include "toolchain/disassemble.h"
#include "util/text.h"

namespace namesake::census {
namespace {

constexpr size_t kContext = 6;  // equal instructions kept around a change

// Codes taken out of a ledger and disassembled, each once. Architecture and hash name one.
class Disassembled {
 public:
  Disassembled(const Ledger& ledger, const toolchain::Tool& disassembler, int workers)
      : ledger_(ledger), disassembler_(disassembler), workers_(workers) {}

  Status want(const std::string& symbol, const std::string& architecture, const std::string& hash) {
    if (hash.empty() || index_.count(architecture + hash)) return {};
    TRY_ASSIGN(std::optional<assembly::FunctionCode> code, ledger_.code(hash));
    if (!code) return {};
    index_[architecture + hash] = wanted_.size();
    wanted_.push_back({symbol, architecture, std::move(*code)});
    return {};
  }

  Result<double> run() {
    std::vector<toolchain::CodeToDisassemble> codes;
    for (const Wanted& wanted : wanted_) {
      codes.push_back({wanted.symbol, wanted.architecture, wanted.code.code,
                       wanted.code.indirect_branches, wanted.code.relocations});
    }
    functions_.resize(codes.size());
    auto receive = [&](size_t i, sass::Function function) -> Status {
      functions_[i] = std::move(function);
      return {};
    };
    TRY_ASSIGN(toolchain::DisassemblyCost cost,
               toolchain::disassemble(disassembler_, codes, receive, workers_));
    return cost.cpu_seconds;
  }

  const sass::Function* find(const std::string& architecture, const std::string& hash) const {
    auto found = index_.find(architecture + hash);
    return found == index_.end() ? nullptr : &functions_[found->second];
  }

 private:
  struct Wanted {
    std::string symbol, architecture;
    assembly::FunctionCode code;
  };
  const Ledger& ledger_;
  const toolchain::Tool& disassembler_;
  int workers_;
  std::vector<Wanted> wanted_;
  std::vector<sass::Function> functions_;
  std::map<std::string, size_t> index_;
};

report::Side side_of(const report::CensusBuild& build, const std::string& version) {
  report::Side side;
  if (!build.failure.empty()) side.failure = fmt::format("ptxas {}: {}", version, build.failure);
  side.registers = build.registers;
  side.stack_bytes = build.stack_bytes;
  side.spill_store_bytes = build.spill_store_bytes;
  side.spill_load_bytes = build.spill_load_bytes;
  side.code_bytes = build.code_bytes;
  if (!build.codes.empty()) side.identity = build.codes.front();
  side.draws = build.codes;
  side.draws_made = build.draws;
  return side;
}

report::Verdict verdict_of(const report::Side& a, const report::Side& b) {
  if (!a.failure.empty() || !b.failure.empty()) return report::Verdict::failed;
  bool common = std::any_of(a.draws.begin(), a.draws.end(), [&](const std::string& code) {
    return std::find(b.draws.begin(), b.draws.end(), code) != b.draws.end();
  });
  if (!common) return report::Verdict::different;
  return a.draws.size() == 1 && b.draws.size() == 1 ? report::Verdict::same
                                                    : report::Verdict::lottery;
}

std::string label_of(const Side& side, const Side& other) {
  std::vector<std::string> parts;
  if (!(side.assembler == other.assembler)) parts.push_back("ptxas " + side.assembler.version);
  if (side.treatment != other.treatment) {
    parts.emplace_back(assembly::treatment_name(side.treatment));
  }
  if (side.opt_level != other.opt_level) parts.push_back(fmt::format("-O{}", side.opt_level));
  return join(parts, " ");
}

report::BuildDescription describe(const Side& side, const Side& other) {
  report::BuildDescription description;
  description.label = label_of(side, other);
  description.assembler = side.assembler.version;
  description.assembler_build = side.assembler.build;
  description.treatment = assembly::treatment_name(side.treatment);
  description.opt_level = side.opt_level;
  return description;
}

BuildKey key_of(const Input& input, const std::string& architecture, const Side& side) {
  return {input.hash, architecture, side.assembler, side.opt_level, side.treatment};
}

Status describe_functions(const Ledger& ledger, const Comparison& comparison,
                          report::Difference& result) {
  Disassembled codes(ledger, *comparison.disassembler, comparison.workers);
  for (const report::FunctionDifference& function : result.functions) {
    TRY(codes.want(function.symbol, function.architecture, function.a.identity));
    TRY(codes.want(function.symbol, function.architecture, function.b.identity));
  }
  TRY_ASSIGN(result.child_seconds, codes.run());
  for (report::FunctionDifference& function : result.functions) {
    const sass::Function* a = codes.find(function.architecture, function.a.identity);
    const sass::Function* b = codes.find(function.architecture, function.b.identity);
    if (a) study::describe_code(*a, function.a);
    if (b) study::describe_code(*b, function.b);
    if (!a || !b || a == b) continue;
    if (function.verdict == report::Verdict::different &&
        sass::relation(*a, *b) != sass::Relation::different) {
      function.verdict = report::Verdict::same_but_registers;
    }
    if (comparison.sass) function.sass = study::side_by_side(*a, *b, kContext);
  }
  return {};
}

}  // namespace

Result<Side> parse_side(std::string_view words, const Side& base,
                        const std::vector<AssemblerName>& assemblers) {
  Side side = base;
  for (std::string_view word : split(words, ',')) {
    word = trimmed(word);
    if (auto treatment = assembly::treatment_of(word)) {
      side.treatment = *treatment;
    } else if (word.size() == 2 && word[0] == 'O' && word[1] >= '0' && word[1] <= '3') {
      side.opt_level = word[1] - '0';
    } else if (word == "newest" && !assemblers.empty()) {
      side.assembler = assemblers.back();
    } else {
      std::string wish = std::string(word) + ".";
      auto found = std::find_if(assemblers.rbegin(), assemblers.rend(), [&](const auto& name) {
        return (name.version + ".").starts_with(wish);
      });
      if (found == assemblers.rend()) {
        std::vector<std::string> known;
        for (const AssemblerName& name : assemblers) known.push_back(name.version);
        return error(
            fmt::format("\"{}\" is no part of a build in this ledger: write a release ({}), "
                        "a treatment, or O0 to O3",
                        word, join(known, ", ")));
      }
      side.assembler = *found;
    }
  }
  return side;
}

Result<report::Difference> compare(const Ledger& ledger, const Comparison& comparison) {
  const Selection& selection = comparison.selection;
  TRY_ASSIGN(std::vector<Input> inputs, ledger.inputs());
  TRY_ASSIGN(std::vector<CellRecord> cells, ledger.cells());
  std::map<BuildKey, ToldBuild> builds = told_builds(std::move(cells));
  std::set<std::pair<int, std::string>> architectures;
  for (const auto& [key, build] : builds) {
    const auto& wanted = selection.architectures;
    if (wanted.empty() ||
        std::find(wanted.begin(), wanted.end(), key.architecture) != wanted.end()) {
      architectures.emplace(assembly::architecture_number(key.architecture), key.architecture);
    }
  }

  report::Difference result;
  result.date = utc_now();
  result.a = describe(comparison.a, comparison.b);
  result.b = describe(comparison.b, comparison.a);
  int64_t inexpressible = 0;
  for (const auto& [number, architecture] : architectures) {
    for (const Input& input : inputs) {
      auto a = builds.find(key_of(input, architecture, comparison.a));
      auto b = builds.find(key_of(input, architecture, comparison.b));
      if (a == builds.end() || b == builds.end()) continue;
      bool impossible = a->second.state == CellState::inexpressible ||
                        b->second.state == CellState::inexpressible;
      for (const std::string& symbol : input.kernels) {
        if (!selected(selection, input, symbol)) continue;
        if (impossible) {
          ++inexpressible;
          continue;
        }
        report::FunctionDifference function;
        function.symbol = symbol;
        function.name = demangled_name(symbol);
        function.file = input.name;
        function.architecture = architecture;
        function.a = side_of(a->second.of(symbol), comparison.a.assembler.version);
        function.b = side_of(b->second.of(symbol), comparison.b.assembler.version);
        function.verdict = verdict_of(function.a, function.b);
        result.functions.push_back(std::move(function));
      }
    }
  }
  if (result.functions.empty()) {
    return error("no kernel of this ledger has both builds; see what it has: namesake census show");
  }
  if (inexpressible > 0) {
    result.notes.push_back(
        fmt::format("{} builds are not expressible for one of the two assemblers", inexpressible));
  }
  result.notes.push_back(
      "the builds come from a ledger; its controls are told by `namesake census show`");
  result.architectures = report::architectures_of(result);
  if (comparison.disassembler) {
    TRY(describe_functions(ledger, comparison, result));
  } else {
    result.notes.push_back(
        "no nvdisasm is at hand, so instructions are not shown; type: namesake toolchain add "
        "nvdisasm");
  }
  for (report::FunctionDifference& function : result.functions) {
    function.meaning = report::explain(function, result.a.label, result.b.label);
  }
  return result;
}

Status side_by_side(const Ledger& ledger, const toolchain::Tool& disassembler,
                    const std::vector<CodePair>& pairs, int workers,
                    const std::function<void(size_t, std::vector<report::SassRow>)>& receive) {
  Disassembled codes(ledger, disassembler, workers);
  for (const CodePair& pair : pairs) {
    TRY(codes.want(pair.symbol, pair.architecture, pair.a));
    TRY(codes.want(pair.symbol, pair.architecture, pair.b));
  }
  TRY(codes.run());
  for (size_t i = 0; i < pairs.size(); ++i) {
    const sass::Function* a = codes.find(pairs[i].architecture, pairs[i].a);
    const sass::Function* b = codes.find(pairs[i].architecture, pairs[i].b);
    if (a && b) receive(i, study::side_by_side(*a, *b, kContext));
  }
  return {};
}

}  // namespace namesake::census
