// page.css and page.js as the build embeds them.
#pragma once

namespace namesake::report {

extern const char* const kPageCss;
extern const char* const kPageJs;

}  // namespace namesake::report
