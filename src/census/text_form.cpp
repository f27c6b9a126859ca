#include "census/text_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "assembly/inputs.h"
#include "census/tell.h"
#include "util/cursor.h"
#include "util/text.h"

namespace namesake::census {
namespace {

constexpr std::string_view kHead = "# namesake census 1";
constexpr size_t kDigits = 12;  // of a hash: 2^48 codes, far more than any ledger

// Tabs and line ends are the format's own.
std::string field(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return out;
}

// What a line is about: the module, and the kernel where it has several.
std::string subject_of(const Input& input, const std::string& symbol) {
  return field(input.kernels.size() == 1 ? input.name : input.name + ":" + symbol);
}

std::string codes_of(const report::CensusBuild& build) {
  std::set<std::string> codes;
  for (const std::string& code : build.codes) codes.insert(code.substr(0, kDigits));
  return join({codes.begin(), codes.end()}, "+");
}

struct Line {
  std::string place;  // what it is about: name to treatment
  std::string said;   // what came out, without codes and runs where it was built
  std::string codes;
  std::string runs;
};

std::vector<Line> lines_of(const Input& input, const BuildKey& key, const ToldBuild& build) {
  std::vector<Line> lines;
  for (const std::string& symbol : input.kernels) {
    report::CensusBuild told = build.of(symbol);
    Line line;
    line.place =
        fmt::format("{}\t{}\t{}\tO{}\t{}", subject_of(input, symbol), key.architecture,
                    key.assembler.version, key.opt_level, assembly::treatment_name(key.treatment));
    if (told.built()) {
      line.said = fmt::format("{}\t{}\t{}\t{}\t{}", told.registers, told.stack_bytes,
                              told.spill_store_bytes, told.spill_load_bytes, told.code_bytes);
      line.codes = codes_of(told);
      line.runs = std::to_string(told.draws);
    } else {
      line.said = fmt::format("{}: {}", state_name(build.state), field(told.failure));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

// Numbers inside names compare as numbers: sm_90 before sm_100a, 12.9 before 12.10.
auto order_of(const Input& input, const BuildKey& key) {
  return std::tuple(input.name, assembly::architecture_number(key.architecture), key.architecture);
}

struct Told {
  std::vector<Input> inputs;
  std::vector<std::pair<const Input*, BuildKey>> order;
  std::map<BuildKey, ToldBuild> builds;
};

Result<Told> told(const Ledger& ledger) {
  Told result;
  TRY_ASSIGN(result.inputs, ledger.inputs());
  TRY_ASSIGN(std::vector<CellRecord> cells, ledger.cells());
  result.builds = told_builds(std::move(cells));
  std::map<std::string, std::vector<const Input*>> by_text;
  for (const Input& input : result.inputs) by_text[input.hash].push_back(&input);
  for (const auto& [key, build] : result.builds) {
    for (const Input* input : by_text[key.text]) result.order.emplace_back(input, key);
  }
  std::sort(result.order.begin(), result.order.end(), [](const auto& a, const auto& b) {
    auto left = order_of(*a.first, a.second), right = order_of(*b.first, b.second);
    if (left != right) return left < right;
    int version = compare_versions(a.second.assembler.version, b.second.assembler.version);
    if (version != 0) return version < 0;
    return std::tie(a.second.opt_level, a.second.treatment, a.second.assembler) <
           std::tie(b.second.opt_level, b.second.treatment, b.second.assembler);
  });
  return result;
}

bool share_a_code(std::string_view a, std::string_view b) {
  std::vector<std::string_view> left = split(a, '+'), right = split(b, '+');
  return std::any_of(left.begin(), left.end(), [&](std::string_view code) {
    return std::find(right.begin(), right.end(), code) != right.end();
  });
}

}  // namespace

Result<std::string> to_lines(const Ledger& ledger) {
  TRY_ASSIGN(Told all, told(ledger));
  TRY_ASSIGN(std::vector<AssemblerName> assemblers, ledger.assemblers());
  std::string out = std::string(kHead) + "\n";
  for (const AssemblerName& name : assemblers) {
    out += fmt::format("assembler\t{}\t{}\n", field(name.version), field(name.build));
  }
  for (const Input& input : all.inputs) {
    for (const std::string& symbol : input.kernels) {
      out +=
          fmt::format("kernel\t{}\t{}\t{}\n", subject_of(input, symbol), field(symbol), input.hash);
    }
  }
  for (const auto& [input, key] : all.order) {
    for (const Line& line : lines_of(*input, key, all.builds.at(key))) {
      if (line.codes.empty()) {
        out += fmt::format("failed\t{}\t{}\n", line.place, line.said);
      } else {
        out += fmt::format("build\t{}\t{}\t{}\t{}\n", line.place, line.said, line.codes, line.runs);
      }
    }
  }
  return out;
}

Result<Check> check_lines(std::string_view lines, std::string_view origin, const Ledger& ledger) {
  Cursor cursor(lines);
  if (cursor.take_line() != kHead) {
    return error(fmt::format("{} does not begin with \"{}\": make it with `namesake census export`",
                             origin, kHead));
  }
  struct Said {
    std::string_view said, codes;
  };
  std::map<std::string_view, Said> known;
  std::map<std::string_view, std::string_view> texts;
  for (int number = 2; !cursor.at_end(); ++number) {
    std::string_view line = cursor.take_line();
    if (line.starts_with("#")) continue;
    std::vector<std::string_view> fields = split(line, '\t');
    auto from = [&](size_t i) { return static_cast<size_t>(fields[i].data() - line.data()); };
    auto until = [&](size_t i) { return from(i) + fields[i].size(); };
    if (fields[0] == "build" && fields.size() == 13) {
      known[line.substr(from(1), until(5) - from(1))] = {line.substr(from(6), until(10) - from(6)),
                                                         fields[11]};
    } else if (fields[0] == "failed" && fields.size() == 7) {
      known[line.substr(from(1), until(5) - from(1))] = {fields[6], ""};
    } else if (fields[0] == "kernel" && fields.size() == 4) {
      texts[fields[1]] = fields[3];
    } else if (fields[0] != "assembler") {
      return error(fmt::format("{}, line {}: no line of a census", origin, number));
    }
  }

  Check check;
  TRY_ASSIGN(Told all, told(ledger));
  for (const auto& [input, key] : all.order) {
    for (const Line& line : lines_of(*input, key, all.builds.at(key))) {
      auto place = known.find(line.place);
      std::vector<std::string_view> names = split(line.place, '\t');
      auto text = texts.find(names[0]);
      if (place == known.end() || text == texts.end() || text->second != input->hash) {
        ++check.unknown;
        continue;
      }
      ++check.compared;
      bool failed = line.codes.empty();
      bool lottery = place->second.codes.find('+') != std::string_view::npos ||
                     line.codes.find('+') != std::string::npos;
      // Of a lottery the numbers are one draw's; of a failure the words may hold an address.
      bool equal = failed || place->second.codes.empty()
                       ? failed == place->second.codes.empty()
                       : share_a_code(place->second.codes, line.codes) &&
                             (lottery || place->second.said == line.said);
      if (equal) continue;
      std::string shown = line.place;
      std::replace(shown.begin(), shown.end(), '\t', ' ');
      check.discrepancies.push_back({shown,
                                     fmt::format("{} {}", place->second.said, place->second.codes),
                                     fmt::format("{} {}", line.said, line.codes)});
    }
  }
  return check;
}

}  // namespace namesake::census
