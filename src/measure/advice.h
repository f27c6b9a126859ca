// Decisions written into the source instead of a policy.
#pragma once

#include <string>
#include <string_view>

#include "report/tuning.h"

namespace namesake::measure {

// "sgemm.cu:41": where a CUDA source defines the kernel of that readable name; "" if it is not
// seen. A search of the text, no parser: a kernel made by a macro is not found.
std::string place_of(std::string_view source, std::string_view file, std::string_view name);

// What to write there, in one line for CUDA C++ or PTX.
std::string advice_for(const report::Decision& decision);

// Sets both for each decision, and `file` to what its launch file names, reading those that are
// there.
void add_advice(report::Tuning& tuning);

}  // namespace namesake::measure
