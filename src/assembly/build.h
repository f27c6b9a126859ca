// One way to make a function's code, as a user writes it: "12.9", "O2", "treated", "13.5,untreated,O1".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/difference.h"
#include "toolchain/toolchain.h"
#include "util/error.h"

namespace namesake::assembly {

enum class Treatment {
  natural,    // what the name itself says
  treated,    // the name test answered yes
  untreated,  // answered no
  renamed,    // natural, under a name of the same length that holds the trigger
  pragma,     // natural, with the official spelling in the body (13.3 and newer)
};
std::string_view treatment_name(Treatment);
std::optional<Treatment> treatment_of(std::string_view word);

struct Build {
  toolchain::Tool assembler;
  Treatment treatment = Treatment::natural;
  int opt_level = 3;
  std::vector<std::string> options;
  bool operator==(const Build& other) const {
    return assembler.path == other.assembler.path && treatment == other.treatment &&
           opt_level == other.opt_level && options == other.options;
  }
};

// Words separated by commas over a base: an assembler (version, path, "newest"), a treatment, O0 … O3,
// or an option of the assembler (starting with '-').
Result<Build> parse_build(std::string_view words, const Build& base,
                          const std::vector<toolchain::Tool>& tools);

// What the two builds do not share, as short labels: "treated" and "untreated", "12.9.86" and "13.5.37".
std::pair<std::string, std::string> labels(const Build& a, const Build& b);

report::BuildDescription describe(const Build& build, std::string label);

}  // namespace namesake::assembly
