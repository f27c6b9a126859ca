// The inside of one function's card on the page.
#pragma once

#include <string>
#include <string_view>

#include "report/difference.h"

namespace namesake::report {

// The style of a change: "more", "fewer" or "even".
std::string_view tone_of_change(int64_t a, int64_t b);

// Registers, spills, sizes, scheduling: the whole function, and the hottest loop beside it.
std::string numbers(const FunctionDifference&);
// How many warps the registers leave room for; "" where the architecture is unknown.
std::string room_for_warps(const FunctionDifference&);
// The mix by class and by opcode, the whole function and the hottest loop beside it.
std::string mix_charts(const FunctionDifference&);

}  // namespace namesake::report
