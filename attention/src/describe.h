// A problem as one line of text, pointers by name: the part of a launch plan that every kernel
// shares.
#pragma once

#include <string>

#include "problem.h"

namespace namesake::attention {

std::string describe(const Problem& problem);

}  // namespace namesake::attention
