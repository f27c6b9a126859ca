// A live comparison as text, JSON and HTML.
#pragma once

#include <string>
#include <string_view>

#include "report/live.h"
#include "report/text.h"
#include "util/error.h"

namespace namesake::report {

std::string to_text(const Live&, const TextStyle&);
std::string to_html(const Live&);
std::string to_json(const Live&);  // namesake.ab/1.0
Result<Live> live_from_json(std::string_view json);

// "128×1×1 × 256, 16 kB shared"
std::string shown_shape(const LiveShape&);

}  // namespace namesake::report
