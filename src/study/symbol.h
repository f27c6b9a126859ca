// What of a symbol is whose: the library it belongs to, and where in it a text stands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/scan.h"

namespace namesake::study {

// The outermost namespace ("cutlass"), or the first word of a name without one ("sm80_*").
std::string library_of(std::string_view symbol);

// Every kind of place in which the symbol holds the text, in Place's order; empty: it does not.
std::vector<report::Place> places_of(std::string_view symbol, std::string_view text);
// The first of these alone, or none: it costs next to nothing for CUTLASS's own kernels, whose
// names are the longest and the most.
std::vector<report::Place> first_place_of(std::string_view symbol, std::string_view text);

}  // namespace namesake::study
