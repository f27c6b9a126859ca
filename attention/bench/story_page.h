// The story as a page: tables in the layout of the original report, and a figure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace namesake::bench {

// A block for each kernel, head_dim and mask, a row for each length.
std::string story_text(const nlohmann::ordered_json& document);
// The same as one SVG file that needs nothing else.
std::string story_figure(const nlohmann::ordered_json& document);

}  // namespace namesake::bench
