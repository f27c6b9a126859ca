// page.css and page.js, and those of the census, as the build embeds them.
#pragma once

namespace namesake::report {

extern const char* const kPageCss;
extern const char* const kPageJs;
extern const char* const kCensusCss;
extern const char* const kCensusJs;

}  // namespace namesake::report
