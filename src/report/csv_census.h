// A census as a table for other programs: one line a point, its header in the first.
#pragma once

#include <string>

#include "report/census.h"

namespace namesake::report {

std::string to_csv(const Census&);

}  // namespace namesake::report
