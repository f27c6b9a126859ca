// A tuning as text and JSON.
#pragma once

#include <string>

#include "report/text.h"
#include "report/tuning.h"

namespace namesake::report {

std::string to_text(const Tuning&, const TextStyle&);
std::string to_json(const Tuning&);  // namesake.tune/1.0

}  // namespace namesake::report
