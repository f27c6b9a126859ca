// Machine code turned into what a report shows: mixes, the hottest loop, rows side by side.
#pragma once

#include <vector>

#include "report/difference.h"
#include "sass/sass.h"

namespace namesake::study {

// Fills what needs instructions: the mix of the whole and of the hottest loop.
void describe_code(const sass::Function& function, report::Side& side);

// The aligned difference. Where it is long, runs of equal instructions are cut to `context` lines on
// each side of a change and one row '.' saying how many were left out.
std::vector<report::SassRow> side_by_side(const sass::Function& a, const sass::Function& b, size_t context);

}  // namespace namesake::study
