#include "measure/assemblers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "util/text.h"

namespace namesake::measure {

std::vector<toolchain::Tool> assemblers_of(const policy::Policy& policy,
                                           const std::vector<toolchain::Tool>& tools,
                                           std::vector<std::string>& notes) {
  std::vector<toolchain::Tool> chosen;
  std::set<std::string> absent;
  for (const policy::Rule& rule : policy.rules) {
    auto tool = std::find_if(tools.begin(), tools.end(), [&](const toolchain::Tool& each) {
      return each.kind == toolchain::Kind::ptxas &&
             policy::holds_for(rule.assembler, {each.version, each.build});
    });
    if (tool == tools.end()) {
      absent.insert(rule.assembler.version);
    } else if (std::none_of(chosen.begin(), chosen.end(), [&](const toolchain::Tool& each) {
                 return each.version == tool->version && each.build == tool->build;
               })) {
      chosen.push_back(*tool);
    }
  }
  for (const std::string& version : absent) {
    notes.push_back(fmt::format(
        "no ptxas {} as the policy was measured with is at hand; type: namesake toolchain add {}",
        version, version));
  }
  return chosen;
}

Result<toolchain::Tool> triton_assembler(const std::vector<toolchain::Tool>& tools,
                                         std::string_view architecture) {
  std::string_view digits =
      architecture.substr(std::min(architecture.find('_') + 1, architecture.size()));
  digits = digits.substr(0, digits.find_first_not_of("0123456789"));
  const std::string_view file =
      parse_integer(digits).value_or(0) >= 100 ? "ptxas-blackwell" : "ptxas";
  for (const toolchain::Tool& tool : tools) {
    bool tritons = tool.kind == toolchain::Kind::ptxas && tool.source == "triton";
    if (tritons && tool.path.filename() == file) return tool;
  }
  return toolchain::choose(tools, toolchain::Kind::ptxas, "triton");
}

}  // namespace namesake::measure
