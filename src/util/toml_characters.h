// What toml++ must not see.
#pragma once

#include <string_view>

#include "util/error.h"

namespace namesake {

// toml++ (3.3) runs into undefined behaviour on most characters beyond ASCII that it looks at outside
// of texts and comments; and what it takes for a text is its own matter where marks are unbalanced. So
// it gets ASCII alone but for comments. Texts over several lines have no use in our files, and without
// them a line can be read alone. The error names `origin` and the line.
Status check_toml_characters(std::string_view text, std::string_view origin);

}  // namespace namesake
