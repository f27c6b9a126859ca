// What launches and times come to. Pure: records in, report out.
#pragma once

#include "ab/records.h"
#include "report/live.h"

namespace namesake::ab {

// Fills kernels, counts and notes; a and b are as asked for.
report::Live judge(const Launched& launched, const std::string& a, const std::string& b);

// The last sentence: what to do, or that there is nothing to do; and the command for it, where
// treatments are what was compared. `command` is the application's.
void advise(report::Live& live, const std::vector<std::string>& command);

}  // namespace namesake::ab
