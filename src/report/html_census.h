// A census as one self-contained page: a heat map of kernels × assemblers × architectures with the
// numbers on hover and the instructions side by side at a click, and the findings below it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/census.h"

namespace namesake::report {

// The points whose instructions the page should have, most wanted first: those of the newest
// assembler, then older ones where the codes are others. At most `limit`.
std::vector<int64_t> points_to_show(const Census&, size_t limit);

struct CensusStyle {
  // Bytes of instructions on the page; what does not fit is left to a command that the page names.
  size_t sass_budget = size_t{5} << 20;
};
std::string to_html(const Census&, const CensusStyle& = {});

}  // namespace namesake::report
